"""What fits an A100 of 40 GB, against the published plans, incidents and exclusions."""

from __future__ import annotations

import math
from typing import Any

import pytest
from ansible.module_utils.apollo.engine_memory import graph_count, pooled_layers
from hypothesis import given
from hypothesis import strategies as st

from tests.support import models

TP8: dict[str, Any] = {"tensor_parallel_size": 8}
WITH_MTP: dict[str, Any] = {"speculative_config": models.MTP, "max_cudagraph_capture_size": 192}


def test_the_published_27b_fits_with_the_published_room() -> None:
    found = models.judge(models.DENSE, tensor_parallel_size=4, max_num_seqs=128)
    assert found.fits
    assert found.cache_gib == pytest.approx(21.8e9 / 2**30, rel=0.03)
    assert found.sequences_at_typical == pytest.approx(245, rel=0.03)
    assert found.sequences_at_context == pytest.approx(20, abs=1)
    assert found.cache_kib_per_token == 16


def test_the_published_397b_fits_with_the_published_room() -> None:
    found = models.judge(models.SPARSE, **TP8)
    assert found.fits
    assert found.cache_gib == pytest.approx(8.1e9 / 2**30, rel=0.03)
    assert found.sequences_at_typical == pytest.approx(115, rel=0.03)
    assert found.cache_kib_per_token == 15
    assert models.judge(models.SPARSE, max_model_len=262144, **TP8).sequences_at_context == 2


def test_mtp_triples_the_state_and_adds_a_draft() -> None:
    plain, fast = models.judge(models.SPARSE, **TP8), models.judge(models.SPARSE, **TP8, **WITH_MTP)
    assert fast.fits
    assert fast.state_mib_per_sequence == pytest.approx(71e6 * 48 / 45 / 2**20, rel=0.03)
    assert plain.state_mib_per_sequence == pytest.approx(24e6 / 2**20, rel=0.03)
    assert plain.draft_gib == 0
    assert fast.draft_gib == pytest.approx(1.54, abs=0.05)


def test_the_batch_that_overflowed_the_cache_is_refused_with_the_numbers() -> None:
    found = models.judge(models.SPARSE, **TP8, max_num_seqs=128, speculative_config=models.MTP)
    (reason,) = found.reasons
    assert reason.startswith("batch: max-num-seqs 128 with 2 speculative tokens needs 10.")
    assert f"{found.cache_gib} GiB are left" in reason
    assert f"set max-num-seqs to at most {found.max_num_seqs}" in reason
    cured: dict[str, Any] = {
        "max_num_seqs": found.max_num_seqs,
        "max_cudagraph_capture_size": found.max_cudagraph_capture_size,
    }
    assert models.judge(models.SPARSE, **TP8, **cured, speculative_config=models.MTP).fits


def test_graphs_beyond_the_states_are_refused() -> None:
    (reason,) = models.judge(
        models.SPARSE, **TP8, speculative_config=models.MTP, max_cudagraph_capture_size=512
    ).reasons
    assert reason.startswith("graphs: CUDA graphs are captured for 512 tokens")


@pytest.mark.parametrize(
    ("name", "settings", "reason"),
    [
        (models.SPARSE, {"tensor_parallel_size": 4}, "memory: weights take 51.3"),
        (models.DENSE, {"tensor_parallel_size": 1}, "memory: weights take 50"),
        (models.DENSE, {"tensor_parallel_size": 3}, "shape: "),
        (models.SPARSE, {"tensor_parallel_size": 16}, "shape: a rank would hold 64 of the expert width"),
        (models.DENSE, {"tensor_parallel_size": 4, "max_model_len": 300000}, "context: max-model-len is 300000"),
        (models.DENSE, {"tensor_parallel_size": 2, "max_model_len": 262144, "max_num_seqs": 8}, ""),
        (models.INT4, {"tensor_parallel_size": 1, "max_model_len": 262144, "max_num_seqs": 8}, ""),
        (
            models.SPARSE,
            {**TP8, "gpu_memory_utilization": 0.75, "max_num_seqs": 8, "max_model_len": 262144},
            "cache: one sequence of 262144 tokens needs",
        ),
    ],
)
def test_what_does_not_fit_says_why(name: str, settings: dict[str, Any], reason: str) -> None:
    reasons = models.judge(name, **settings).reasons
    assert [found for found in reasons if not found.startswith(reason)] == []
    assert bool(reasons) == bool(reason)


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        ("deepseek-v4", ["sparse-attention", "fp8-weights", "memory"]),
        ("glm-5.3-flash", ["sparse-attention"]),
        ("kimi-k3", ["memory"]),
        ("minimax-m3", ["sparse-attention", "memory"]),
    ],
)
def test_the_published_excluded_models_are_refused(name: str, reasons: list[str]) -> None:
    found = models.judge(name, **TP8)
    assert [reason.split(":")[0] for reason in found.reasons] == reasons
    assert all("\n" not in reason for reason in found.reasons)


def test_what_lies_on_the_disk_counts_when_it_is_more() -> None:
    more = models.judge(models.DENSE, stored=int(80e9), tensor_parallel_size=4)
    usual = models.judge(models.DENSE, stored=int(55.5e9), tensor_parallel_size=4)
    assert (more.weights_gib or 0) > (usual.weights_gib or 0)
    assert usual.weights_gib == pytest.approx(models.judge(models.DENSE, tensor_parallel_size=4).weights_gib, abs=0.02)


def test_what_cannot_be_split_is_named_and_gets_no_figures() -> None:
    found = models.judge(models.DENSE, tensor_parallel_size=3)
    assert found.reasons[0].startswith("shape: recurrent key heads (16), feed-forward width (17408) cannot be split")
    assert (found.weights_gib, found.max_num_seqs) == (None, None)


def test_a_setting_that_is_no_number_is_named() -> None:
    with pytest.raises(ValueError, match=r"max-num-seqs is 'many'"):
        models.judge(models.DENSE, max_num_seqs="many")


@pytest.mark.parametrize(
    ("layers", "booked"),
    [((16, 48), (16, 48)), ((17, 48), (17, 51)), ((16, 45), (16, 48)), ((64, 0), (64, 0)), ((12, 13), (13, 13))],
)
def test_layers_are_booked_in_groups_of_one_size(layers: tuple[int, int], booked: tuple[int, int]) -> None:
    assert pooled_layers(*layers) == booked


def test_graph_sizes_are_counted_as_the_engine_lists_them() -> None:
    assert [graph_count(size) for size in (0, 4, 8, 64, 256, 512)] == [0, 3, 4, 11, 35, 51]


@given(
    seqs=st.integers(1, 512),
    tokens=st.integers(0, 2),
    length=st.integers(1024, 262144),
    ranks=st.sampled_from([4, 8]),
)
def test_more_is_never_easier(seqs: int, tokens: int, length: int, ranks: int) -> None:
    config = {"method": "mtp", "num_speculative_tokens": tokens} if tokens else None
    settings: dict[str, Any] = {"max_model_len": length, "speculative_config": config, "enforce_eager": True}
    smaller = models.judge(models.SPARSE, **{**settings, "tensor_parallel_size": ranks, "max_num_seqs": seqs})
    larger = models.judge(models.SPARSE, **{**settings, "tensor_parallel_size": ranks, "max_num_seqs": seqs + 1})
    assert smaller.fits or not larger.fits
    assert math.isfinite(larger.cache_gib or 0)
