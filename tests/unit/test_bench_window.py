"""Tokens over time, and the window that several endpoints have in common."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.module_utils.apollo.bench_result import read_result
from ansible.module_utils.apollo.bench_window import Timeline, read_timeline, timeline, together
from hypothesis import given
from hypothesis import strategies as st

from tests.support import bench_samples as samples

steps = st.lists(st.floats(0, 1000), min_size=1, max_size=50)
moments = st.floats(-100, 200)


def measured(offset_s: float = 0.0, **changed: Any) -> Timeline:
    line = timeline(read_result(json.dumps(samples.result(**changed))).requests, offset_s)
    assert line is not None
    return line


def test_no_token_is_lost_on_the_way_to_the_timeline() -> None:
    assert sum(measured().tokens) == pytest.approx(80 * 32)


def test_the_timeline_is_on_the_clock_that_nodes_share() -> None:
    line = measured(offset_s=5000.0)
    assert line.start_s == pytest.approx(5100.0)
    assert line.end_s == pytest.approx(5100.0 + samples.result()["duration"])


def test_a_chunk_of_several_tokens_counts_as_several() -> None:
    """With speculation 32 tokens come in 16 chunks."""
    raw = samples.result()
    raw["itls"] = [[0.02] * 15] * 80
    line = timeline(read_result(json.dumps(raw)).requests, 0.0)
    assert line is not None
    assert sum(line.tokens) == pytest.approx(80 * 32)


@given(steps, moments, moments)
def test_a_window_holds_between_nothing_and_everything(tokens: list[float], one: float, other: float) -> None:
    line = Timeline(0.0, 2.0, tuple(tokens))
    inside = line.between(min(one, other), max(one, other))
    assert 0 <= inside <= sum(tokens) * (1 + 1e-9) + 1e-9


@given(steps, st.floats(0, 100))
def test_two_windows_side_by_side_hold_what_the_whole_holds(tokens: list[float], cut: float) -> None:
    line = Timeline(0.0, 2.0, tuple(tokens))
    assert line.between(-1, cut) + line.between(cut, 200) == pytest.approx(sum(tokens))


def test_one_endpoint_alone_has_its_own_window() -> None:
    both = together([Timeline(10.0, 1.0, (5.0, 5.0))])
    assert both is not None
    assert (both.start_s, both.end_s, both.tok_s) == (10.0, 12.0, 5.0)


def test_the_common_window_leaves_out_what_only_one_endpoint_did() -> None:
    both = together([Timeline(0.0, 1.0, (10.0,) * 10), Timeline(1.0, 1.0, (20.0,) * 5)])
    assert both is not None
    assert (both.start_s, both.end_s) == (1.0, 6.0)
    assert both.tok_s == pytest.approx(30.0)
    assert both.start_spread_s == 1.0


def test_endpoints_that_never_ran_at_once_have_no_throughput_together() -> None:
    both = together([Timeline(0.0, 1.0, (10.0,)), Timeline(5.0, 1.0, (10.0,))])
    assert both is not None
    assert both.tok_s is None


def test_nothing_answered_has_no_timeline() -> None:
    assert timeline([], 0.0) is None
    assert together([]) is None


def test_a_timeline_survives_the_journal() -> None:
    line = measured()
    again = read_timeline(json.loads(json.dumps(line.as_dict())))
    assert again is not None
    assert sum(again.tokens) == pytest.approx(sum(line.tokens), abs=0.2)
