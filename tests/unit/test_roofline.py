"""Floors and shares, against the published 27B rows and the arithmetic of the 397B."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.apollo.hardware import gpu_kind
from ansible.module_utils.apollo.roofline import (
    Link,
    Run,
    collective_floor_ms,
    experts_read,
    memory_floor_ms,
    roofline_rows,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.support import models

PUBLISHED = yaml.safe_load((Path(__file__).resolve().parents[2] / "reference" / "published.yml").read_text())
LENGTHS = {"gpu": models.A100.name, "input_tokens": 2048, "output_tokens": 1024}
ONE_NODE = {**LENGTHS, "ranks": 4}
INFINIBAND = {"latency_us": 30, "bus_gb_s": 15.3}


def published() -> list[dict[str, Any]]:
    rows = PUBLISHED["results_27b"]
    return [{"concurrency": r["n"], "output_tok_s": r["node_tok_s"], "ttft_ms": r["ttft_s"] * 1e3} for r in rows]


def judged(rows: list[dict[str, Any]], **run: Any) -> list[dict[str, Any]]:
    return roofline_rows(models.config(models.DENSE), {**ONE_NODE, **run}, rows)


def test_the_published_27b_rows_lie_on_a_smooth_curve_without_a_flag() -> None:
    rows = judged(published())
    assert [row["memory_floor_ms"] for row in rows] == pytest.approx([8.3, 8.8, 10.7, 13.1, 17.9], abs=0.15)
    assert [row["compute_floor_ms"] for row in rows] == pytest.approx([0.1, 1.0, 3.8, 7.6, 15.2], abs=0.1)
    assert [row["step_ms"] for row in rows] == pytest.approx([14.2, 16.8, 23.1, 28.1, 44.2], abs=0.1)
    assert [row["share"] for row in rows] == pytest.approx([0.59, 0.58, 0.63, 0.74, 0.75], abs=0.01)
    assert [row["mfu"] for row in rows] == pytest.approx([0.008, 0.055, 0.156, 0.249, 0.308], abs=0.001)
    assert rows[0]["mbu"] == pytest.approx(0.58, abs=0.01)
    assert [flag for row in rows for flag in row["flags"]] == []


def test_rows_are_plain_data() -> None:
    assert json.loads(json.dumps(judged(published()))) == judged(published())


@pytest.mark.parametrize("index", range(5))
@pytest.mark.parametrize("factor", [0.6, 1.6])
def test_a_row_that_leaves_the_curve_is_flagged_and_no_other(index: int, factor: float) -> None:
    rows = published()
    rows[index]["output_tok_s"] *= factor
    flagged = [row["concurrency"] for row in judged(rows) if row["flags"]]
    assert flagged == [rows[index]["concurrency"]]


def test_a_row_beyond_the_hardware_is_flagged_alone_too() -> None:
    (row,) = judged([{"concurrency": 1, "output_tok_s": 150, "ttft_ms": 81}])
    assert [flag.split(",")[0] for flag in row["flags"]] == ["mbu is 126%", "share is 128%"]


@pytest.mark.parametrize("tokens", [0, 2])
def test_what_is_not_known_is_null_and_never_zero(tokens: int) -> None:
    (row,) = judged([{"concurrency": 8, "output_tok_s": None}], speculative_tokens=tokens)
    assert [row[key] for key in ("step_ms", "mbu", "mfu", "share", "collective_floor_ms")] == [None] * 5
    assert row["flags"] == []


def test_speculation_needs_the_acceptance_length() -> None:
    told = {"concurrency": 1, "output_tok_s": 109, "ttft_ms": 1000}
    without, with_it = judged([told, {**told, "acceptance_length": 2.2}], speculative_tokens=2)
    assert without["share"] is None
    assert with_it["step_ms"] == pytest.approx((1024 / 109 * 1e3 - 1000) / 1023 * 2.2, rel=1e-4)


def test_the_measured_time_between_tokens_goes_before_the_derived_one() -> None:
    (row,) = judged([{"concurrency": 8, "output_tok_s": 459, "ttft_ms": 700, "tpot_ms": 20.0}])
    assert row["step_ms"] == 20.0


@pytest.mark.parametrize(
    ("concurrency", "tokens", "memory", "collective"),
    [
        (1, 0, 1.8, 3.7),
        (8, 0, 4.2, 4.5),
        (32, 0, 10.8, 7.2),
        (64, 0, 16.6, 10.8),
        (32, 2, 16.9, 14.4),
        (64, 2, 20.8, 25.2),
    ],
)
def test_floors_of_the_sparse_model_over_two_nodes(
    concurrency: int, tokens: int, memory: float, collective: float
) -> None:
    run = Run(gpu_kind(models.A100.name), 8, 2048, 1024, tokens, Link(**INFINIBAND))
    shape = models.shape(models.SPARSE)
    assert memory_floor_ms(shape, run, concurrency) == pytest.approx(memory, rel=0.05)
    assert collective_floor_ms(shape, run, concurrency) == pytest.approx(collective, rel=0.05)


def test_a_larger_batch_touches_more_experts() -> None:
    shape = models.shape(models.SPARSE)
    assert [experts_read(shape, n) for n in (1, 8, 32, 96)] == pytest.approx([0.02, 0.15, 0.47, 0.85], abs=0.01)
    assert experts_read(models.shape(models.DENSE), 8) == 0.0


def test_one_gpu_has_no_collective() -> None:
    rows = roofline_rows(models.config(models.INT4), {**LENGTHS, "ranks": 1}, [{"concurrency": 1}])
    assert rows[0]["collective_floor_ms"] == 0.0


def test_an_unknown_gpu_is_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'NVIDIA A100-SXM4-40GB'"):
        judged(published(), gpu="A100-SXM4-40GB")


@given(st.integers(1, 512), st.integers(0, 4))
def test_more_requests_never_lower_a_floor(concurrency: int, tokens: int) -> None:
    run = Run(models.A100, 8, 2048, 1024, tokens, Link(**INFINIBAND))
    for name in (models.DENSE, models.SPARSE):
        shape = models.shape(name)
        assert memory_floor_ms(shape, run, concurrency + 1) >= memory_floor_ms(shape, run, concurrency)
