"""Combinations that are known to break are refused by name, and no shipped variant is one."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.module_utils.apollo.conflicts import NAMES, RULES, Case, conflicts
from ansible.module_utils.apollo.hardware import gpu_kind
from ansible.module_utils.apollo.serving import Serving

from tests.support import models

A100 = (8, 0)
H200 = gpu_kind("NVIDIA H200").capability
DYNAMIC = {**models.MTP, "num_speculative_tokens_per_batch_size": [[1, 16, 2]]}
BROKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "stated-both-ways": (models.DENSE, {"async_scheduling": True, "no_async_scheduling": True}),
    "marlin-moe-with-mtp": (models.SPARSE, {"moe_backend": "marlin", "speculative_config": models.MTP}),
    "marlin-moe-with-moe-wna16": (models.SPARSE, {"moe_backend": "marlin", "quantization": "moe_wna16"}),
    "triton-moe-with-gptq": (models.SPARSE, {"moe_backend": "triton"}),
    "humming-moe": (models.SPARSE, {"moe_backend": "humming"}),
    "prefix-caching-with-mtp": (models.DENSE, {"no_enable_prefix_caching": None, "speculative_config": models.MTP}),
    "prefix-caching-on-hybrid": (models.DENSE, {"no_enable_prefix_caching": None, "enable_prefix_caching": True}),
    "expert-parallel-above-limit": (models.SPARSE, {"enable_expert_parallel": True, "max_num_seqs": 33}),
    "many-speculative-tokens": (models.DENSE, {"speculative_config": {**models.MTP, "num_speculative_tokens": 3}}),
    "dynamic-speculation": (models.DENSE, {"speculative_config": DYNAMIC}),
    "memory-share-above-limit": (models.DENSE, {"gpu_memory_utilization": 0.98}),
    "float16-on-hybrid": (models.DENSE, {"dtype": "float16"}),
    "ray-executor": (models.DENSE, {"distributed_executor_backend": "ray"}),
    "encoder-without-vision": (models.DENSE, {"mm_encoder_tp_mode": "data"}),
    "fp8-kv-cache": (models.DENSE, {"kv_cache_dtype": "fp8_e4m3"}),
    "flash-attention-3": (models.DENSE, {"attention_config": {"flash_attn_version": 3}}),
    "sparse-attention": ("glm-5.3-flash", {}),
    "fp8-weights": (models.DENSE, {}),
    "nvfp4-weights": (models.DENSE, {}),
}
STORED = {"fp8-weights": {"quant_method": "fp8"}, "nvfp4-weights": {"quant_method": "modelopt", "quant_algo": "NVFP4"}}


def case(name: str, capability: tuple[int, int] = A100) -> Case:
    model, settings = BROKEN[name]
    stored = STORED.get(name)
    config = {**models.config(model), **({"quantization_config": stored} if stored else {})}
    return Case(models.serving(**settings), models.read_shape(config), capability)


def names(found: list[str]) -> list[str]:
    return [line.split(":")[0] for line in found]


def test_every_rule_has_a_case_here() -> None:
    assert set(BROKEN) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_known_failure_is_refused_by_name_in_one_line(name: str) -> None:
    (line,) = conflicts(case(name))
    assert line.startswith(f"{name}: ")
    assert line.count("\n") == 0


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_risk_can_be_accepted_and_an_impossibility_cannot(rule: Any) -> None:
    assert names(conflicts(case(rule.name), [rule.name])) == ([] if rule.acceptable else [rule.name])


@pytest.mark.parametrize("name", ["fp8-kv-cache", "flash-attention-3", "sparse-attention", "fp8-weights"])
def test_a_newer_gpu_lifts_what_only_ampere_lacks(name: str) -> None:
    assert conflicts(case(name, H200)) == []


def test_a_missing_capability_is_named_with_the_one_that_is_there() -> None:
    (line,) = conflicts(case("fp8-kv-cache"))
    assert "needs compute capability 8.9, this GPU has 8.0" in line
    assert "this GPU has 9.0" in conflicts(case("nvfp4-weights", H200))[0]


def test_a_draft_with_a_kernel_of_its_own_goes_with_marlin() -> None:
    told = {**models.MTP, "moe_backend": "triton"}
    serving = models.serving(moe_backend="marlin", speculative_config=told)
    assert conflicts(Case(serving, models.shape(models.SPARSE), A100)) == []


def test_what_is_not_known_yet_is_not_judged() -> None:
    unknown = Case(case("prefix-caching-with-mtp").serving)
    assert conflicts(unknown) == []


def test_the_environment_can_break_an_engine_too() -> None:
    told = Serving(models.USUAL, {"VLLM_FLASH_ATTN_VERSION": "3"})
    assert names(conflicts(Case(told, models.shape(models.DENSE), A100))) == ["flash-attention-3"]


def test_prefix_caching_is_fine_without_recurrent_layers() -> None:
    config = {
        **models.config(models.DENSE)["text_config"],
        "model_type": "qwen3",
        "layer_types": ["full_attention"] * 64,
    }
    told = models.serving(no_enable_prefix_caching=None, speculative_config=models.MTP)
    assert conflicts(Case(told, models.read_shape(config), A100)) == []
