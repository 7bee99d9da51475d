"""What a model is made of, from its config.json."""

from __future__ import annotations

import pytest
from ansible.module_utils.apollo.model_shape import read_shape
from ansible.module_utils.apollo.model_size import active_parameters, packed_bytes, parameters, weight_bytes

from tests.support import models


def test_the_dense_model_has_its_published_size() -> None:
    shape = models.shape(models.DENSE)
    assert (shape.attention.layers, shape.recurrent.layers) == (16, 48)
    assert parameters(shape).text == pytest.approx(26.89e9, rel=0.001)
    size = weight_bytes(shape)
    assert size.text + size.draft + size.vision == pytest.approx(55.56e9, rel=0.003)


def test_the_sparse_model_has_its_published_size() -> None:
    shape = models.shape(models.SPARSE)
    assert (shape.attention.layers, shape.recurrent.layers) == (15, 45)
    assert parameters(shape).text == pytest.approx(396.3e9, rel=0.001)
    assert active_parameters(shape) + parameters(shape).head == pytest.approx(16.3e9, rel=0.005)
    assert weight_bytes(shape).experts == pytest.approx(200.8e9, rel=0.001)
    assert weight_bytes(shape).text == pytest.approx(220.4e9, rel=0.001)


def test_only_what_the_checkpoint_quantizes_is_small() -> None:
    sparse, dense = models.shape(models.SPARSE).quantization, models.shape(models.INT4).quantization
    assert (sparse.scheme, sparse.group, sparse.only_experts) == ("int4", 128, True)
    assert (dense.scheme, dense.group, dense.only_experts) == ("int4", 128, False)
    assert weight_bytes(models.shape(models.INT4)).draft == weight_bytes(models.shape(models.DENSE)).draft


def test_a_packed_parameter_carries_its_share_of_scale_and_zero_point() -> None:
    assert packed_bytes(4, 128) == pytest.approx(0.5195, abs=0.0001)
    assert packed_bytes(8, 0) == 1.0


@pytest.mark.parametrize(
    ("name", "scheme", "sparse", "recurrent"),
    [
        ("deepseek-v4", "fp8", True, 0),
        ("glm-5.3-flash", "", True, 0),
        ("kimi-k3", "int4", False, 48),
        ("minimax-m3", "", True, 0),
    ],
)
def test_other_families_are_read_too(name: str, scheme: str, sparse: bool, recurrent: int) -> None:
    shape = models.shape(name)
    assert (shape.quantization.scheme, shape.attention.sparse, shape.recurrent.layers) == (scheme, sparse, recurrent)


@pytest.mark.parametrize(
    ("stated", "scheme"),
    [
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}, "nvfp4"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, "int4"),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "int8"),
    ],
)
def test_a_quantization_is_known_by_its_scheme(stated: dict[str, object], scheme: str) -> None:
    config = {**models.config(models.DENSE), "quantization_config": stated}
    assert read_shape(config).quantization.scheme == scheme


def test_the_layers_of_a_stand_in_follow_from_its_interval() -> None:
    config = models.config(models.DENSE)["text_config"]
    shape = read_shape({**config, "num_hidden_layers": 4})
    assert (shape.attention.layers, shape.recurrent.layers) == (1, 3)


def test_a_config_without_a_needed_key_names_it() -> None:
    config = models.config(models.DENSE)
    del config["text_config"]["hidden_size"]
    with pytest.raises(ValueError, match=r"^config.json has no hidden_size"):
        read_shape(config)
