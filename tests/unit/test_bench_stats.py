"""What a few repeats say, and what they do not."""

from __future__ import annotations

from statistics import mean, stdev

import pytest
from ansible.module_utils.apollo import stats
from hypothesis import given
from hypothesis import strategies as st

values = st.lists(st.floats(min_value=0.1, max_value=1e6), min_size=2, max_size=40)


def test_nothing_measured_has_no_mean() -> None:
    assert stats.summarize([]) is None


def test_one_repeat_has_no_interval() -> None:
    assert stats.summarize([5.0]) == stats.Summary(1, 5.0, None, None, None, None)


@given(values)
def test_mean_and_deviation_agree_with_the_standard_library(sample: list[float]) -> None:
    summary = stats.summarize(sample)
    assert summary is not None
    assert summary.sd is not None
    assert summary.mean == pytest.approx(mean(sample))
    assert summary.sd == pytest.approx(stdev(sample), rel=1e-6, abs=1e-6)


@given(values)
def test_the_interval_holds_the_mean(sample: list[float]) -> None:
    summary = stats.summarize(sample)
    assert summary is not None
    assert summary.low is not None
    assert summary.high is not None
    assert summary.low <= summary.mean <= summary.high


def test_three_equal_repeats_have_an_interval_of_no_width() -> None:
    summary = stats.summarize([2.0, 2.0, 2.0])
    assert summary == stats.Summary(3, 2.0, 0.0, 0.0, 2.0, 2.0)


def test_half_width_for_three_repeats_is_two_and_a_half_deviations() -> None:
    summary = stats.summarize([99.0, 100.0, 101.0])
    assert summary is not None
    assert summary.high == pytest.approx(100 + 2.484 * 1.0, abs=0.01)


@pytest.mark.parametrize(("degrees", "true"), [(1, 12.706), (30, 2.042), (31, 2.040), (60, 2.000), (1000, 1.962)])
def test_an_interval_is_never_narrower_than_students(degrees: int, true: float) -> None:
    assert true <= stats.t_95(degrees) <= true + 0.1


@pytest.mark.parametrize(("percentile", "count"), [(50, 2), (90, 10), (95, 20), (99, 100)])
def test_a_percentile_is_carried_from_one_sample_beyond_it(percentile: int, count: int) -> None:
    assert stats.is_carried(percentile, count)
    assert not stats.is_carried(percentile, count - 1)


@given(st.sampled_from((50, 90, 95, 99)), st.integers(0, 5000))
def test_a_strong_percentile_is_a_carried_one(percentile: int, count: int) -> None:
    assert stats.is_carried(percentile, count) or not stats.is_strong(percentile, count)


def test_spread_is_the_range_over_the_mean() -> None:
    assert stats.spread([69.0, 70.0]) == pytest.approx(1 / 69.5)


def test_one_endpoint_has_no_spread() -> None:
    assert stats.spread([69.0]) is None


def test_scaling_is_the_total_over_as_many_single_ones() -> None:
    assert stats.scaling(139, 69, 2) == pytest.approx(0.0072, abs=1e-4)


def test_scaling_needs_a_single_one() -> None:
    assert stats.scaling(139, None, 2) is None
