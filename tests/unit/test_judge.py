"""Every limit can pass and can fail; what was not measured fails; noise is told from a breach."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.apollo import stats
from ansible.module_utils.apollo.bench_rows import Sweep, read_rows
from ansible.module_utils.apollo.judge import judge, judge_summary, wanted
from ansible.module_utils.apollo.judge_limits import Limit, read_limits
from hypothesis import given
from hypothesis import strategies as st

from tests.support import bench_samples as samples

SHIPPED = ("limits-lab.yml", "limits-published.yml")
LIMIT = Limit("One user", "output_tok_s", "27b", 1, 70.0, "tok/s", "at_least", "a table", relative=0.1)
numbers = st.floats(-1e6, 1e6)


def shipped() -> list[Limit]:
    folder = Path(__file__).resolve().parents[2] / "reference"
    return [limit for name in SHIPPED for limit in read_limits(yaml.safe_load((folder / name).read_text()), name)]


def once(value: float) -> stats.Summary:
    return stats.Summary(1, value, None, None, None, None)


def sweeps(**changed: float) -> list[Sweep]:
    swept = samples.sweep()
    return read_rows(samples.manifest(swept), samples.runs(swept, **changed))


@pytest.mark.parametrize("limit", shipped(), ids=lambda limit: limit.name)
def test_every_shipped_limit_can_pass_and_can_fail(limit: Limit) -> None:
    beyond = 1.0 + abs(limit.value)
    assert judge_summary(limit, once(limit.value))[0] == "pass"
    if limit.low is not None:
        assert judge_summary(limit, once(limit.low - beyond * 1e-6))[0] == "fail"
    if limit.high is not None:
        assert judge_summary(limit, once(limit.high + beyond * 1e-6))[0] == "fail"
    assert limit.low is not None or limit.high is not None


@pytest.mark.parametrize("limit", shipped(), ids=lambda limit: limit.name)
def test_every_shipped_limit_fails_when_nothing_was_measured(limit: Limit) -> None:
    assert judge_summary(limit, None) == ("missing", inf)


@given(numbers, st.sampled_from(("at_least", "at_most", "equal")), numbers, st.floats(0, 1))
def test_a_single_value_is_judged_by_its_bounds_alone(
    value: float, direction: str, bound: float, tolerance: float
) -> None:
    limit = replace(LIMIT, direction=direction, value=bound, relative=tolerance)
    inside = (limit.low is None or value >= limit.low) and (limit.high is None or value <= limit.high)
    verdict, excess = judge_summary(limit, once(value))
    assert (verdict == "pass") == inside
    assert (excess <= 0) == inside


@given(st.lists(st.floats(1, 200), min_size=2, max_size=8))
def test_repeats_are_inconclusive_exactly_when_their_interval_straddles_the_limit(values: list[float]) -> None:
    summary = stats.summarize(values)
    assert summary is not None
    assert summary.low is not None
    assert summary.high is not None
    wanted_verdict = "pass" if summary.low >= 63 else "fail" if summary.high < 63 else "inconclusive"
    assert judge_summary(LIMIT, summary)[0] == wanted_verdict


def test_a_figure_of_an_endpoint_is_judged_for_each_endpoint() -> None:
    verdict = judge(sweeps(), [LIMIT])
    assert [finding.endpoint for finding in verdict.findings] == ["vllm-27b-0", "vllm-27b-1"]


def test_a_figure_of_the_plan_is_judged_once() -> None:
    limit = replace(LIMIT, metric="total_output_tok_s")
    assert [finding.endpoint for finding in judge(sweeps(), [limit]).findings] == [None]


def test_a_star_is_about_every_point() -> None:
    limit = replace(LIMIT, n="*", plan="*", metric="node_deviation", direction="at_most", unit="1")
    assert [finding.n for finding in judge(sweeps(), [limit]).findings] == [1, 8]


def test_a_point_that_was_not_measured_is_missing_and_fails() -> None:
    verdict = judge(sweeps(), [replace(LIMIT, n=128)])
    assert verdict.overall == "fail"
    assert verdict.counts["missing"] == 1


def test_a_limit_about_another_plan_is_out_of_scope() -> None:
    verdict = judge(sweeps(), [replace(LIMIT, plan="397b")])
    assert (verdict.out_of_scope, verdict.findings) == (1, [])
    assert verdict.overall == "inconclusive"


def test_a_point_that_does_not_count_fails_although_every_limit_holds() -> None:
    verdict = judge(sweeps(total_input_tokens=1), [])
    assert verdict.overall == "fail"
    assert verdict.worst[0] == "27b N=1 does not count: input_tokens"


def test_the_worst_three_come_first() -> None:
    limits = [replace(LIMIT, name=f"limit {value}", value=value) for value in (1000.0, 4000.0, 2000.0, 3000.0)]
    worst = judge(sweeps(), limits).worst
    assert len(worst) == 3
    assert worst[0].startswith("limit 4000")


def test_a_finding_is_one_line_with_value_and_limit() -> None:
    found = judge(sweeps(), [replace(LIMIT, value=100.0, relative=0.0)]).findings[0]
    assert found.line == "One user: 27b N=1 vllm-27b-0: 78.05 tok/s, wanted ≥ 100 tok/s"


def test_the_whole_table_is_there_when_it_fails() -> None:
    told = judge(sweeps(), [LIMIT, replace(LIMIT, name="too much", value=1e5)]).as_dict()
    assert (told["overall"], len(told["findings"])) == ("fail", 4)
    assert told["counts"] == {"pass": 2, "fail": 2, "inconclusive": 0, "missing": 0}


def test_bounds_are_said_as_people_say_them() -> None:
    assert wanted(replace(LIMIT, relative=0.0)) == "≥ 70"
    assert wanted(replace(LIMIT, direction="equal", value=0.0, relative=0.0)) == "0"
    assert wanted(replace(LIMIT, direction="equal", value=1.0, relative=0.0, absolute=0.15)) == "0.85 to 1.15"
