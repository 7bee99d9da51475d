"""Figures follow from the client's numbers, and what the run does not carry is None, never zero."""

from __future__ import annotations

import json

import pytest
from ansible.module_utils.apollo import bench_energy
from ansible.module_utils.apollo.bench_counters import ledger
from ansible.module_utils.apollo.bench_figures import Figures, figures, weak_figures
from ansible.module_utils.apollo.bench_result import read_result
from ansible.module_utils.apollo.bench_terms import TERMS
from hypothesis import given
from hypothesis import strategies as st

from tests.support import bench_samples as samples


def measure(n: int = 8, prompts: int = 80, **changed: object) -> Figures:
    raw = {**samples.result(n, prompts), **changed}
    counted = ledger(samples.counters(0, 0), samples.counters(prompts * 32, prompts))
    return figures(read_result(json.dumps(raw)), samples.point(n, prompts), counted)


def test_every_term_of_an_endpoint_has_a_figure_and_no_other() -> None:
    ours = {name for name, term in TERMS.items() if term.scope == "endpoint"}
    assert set(measure()) == ours - set(bench_energy.NAMES)


@given(st.integers(1, 64), st.integers(1, 10), st.floats(0.001, 5), st.floats(0.001, 0.5))
def test_a_closed_loop_keeps_its_identities(n: int, waves: int, ttft: float, gap: float) -> None:
    raw = samples.result(n, n * waves, 32, ttft, gap)
    found = figures(read_result(json.dumps(raw)), samples.point(n, n * waves), ledger(None, None))
    share, decode, tok_s = found["per_user_share_tok_s"], found["per_user_decode_tok_s"], found["output_tok_s"]
    assert share is not None
    assert decode is not None
    assert tok_s is not None
    assert found["in_flight"] == pytest.approx(n)
    assert tok_s * raw["duration"] == pytest.approx(n * waves * 32)
    assert share == pytest.approx(tok_s / n)
    assert decode == pytest.approx(1 / gap)


def test_a_dead_server_has_no_latency_and_no_throughput() -> None:
    found = figures(read_result(samples.text("all-failed.json")), samples.point(), ledger(None, None))
    stated = {name for name, value in found.items() if value is not None}
    assert stated == {
        *("completed_requests", "failed_requests", "incomplete_requests", "missing_output_tokens", "duration_s"),
    }


def test_ten_requests_carry_no_p95() -> None:
    found = figures(read_result(samples.text("valid.json")), samples.point(), ledger(None, None))
    assert found["ttft_p90_ms"] is not None
    assert found["ttft_p95_ms"] is None
    assert found["ttft_p99_ms"] is None


def test_a_percentile_with_few_values_beyond_it_is_weak() -> None:
    result = read_result(json.dumps(samples.result(prompts=80)))
    assert "ttft_p95_ms" in weak_figures(result)
    assert "ttft_p50_ms" not in weak_figures(result)
    assert "ttft_p99_ms" not in weak_figures(result)


def test_the_first_wave_is_told_apart() -> None:
    ttfts = [1.0] * 8 + [0.2] * 72
    found = measure(ttfts=ttfts)
    assert found["ttft_first_wave_ms"] == pytest.approx(1000)
    assert found["ttft_later_ms"] == pytest.approx(200)


def test_a_counter_that_is_gone_is_not_zero() -> None:
    counted = ledger("vllm:other_total 1", "vllm:other_total 2")
    found = figures(read_result(json.dumps(samples.result())), samples.point(8, 80), counted)
    assert found["unaccounted_server_tokens"] is None
    assert "vllm:generation_tokens_total" in counted.missing


def test_a_server_without_prefix_cache_has_no_hit_rate() -> None:
    assert measure()["prefix_cache_hit_rate"] is None


def test_acceptance_is_a_share_and_only_there_with_speculation() -> None:
    assert measure()["spec_acceptance_rate"] is None
    found = measure(spec_decode_acceptance_rate=62.5, spec_decode_acceptance_length=2.25)
    assert (found["spec_acceptance_rate"], found["spec_acceptance_length"]) == (0.625, 2.25)


def test_the_published_two_meanings_of_per_user_differ() -> None:
    """At N = 128 the published text says 23, which is 1 / TPOT; throughput / N is 20.2."""
    raw = {**samples.result(128, 1280, 1024), "duration": 1280 * 1024 / 2589, "mean_tpot_ms": 44.2}
    found = figures(read_result(json.dumps(raw)), samples.point(128, 1280, 1024), ledger(None, None))
    assert found["per_user_share_tok_s"] == pytest.approx(20.2, abs=0.05)
    assert found["per_user_decode_tok_s"] == pytest.approx(22.6, abs=0.05)
