"""The published figures, fed in as runs, hold their own limits; change one, and a limit breaks."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from ansible.module_utils.apollo.bench_rows import Sweep
from ansible.module_utils.apollo.judge import Verdict, judge

from tests.support.published_run import (
    FACTS,
    PUBLISHED,
    dense,
    judge_events,
    limits,
    plan_of,
    replay,
    sparse,
    whole,
)


def judge_published(sweeps: list[Sweep]) -> Verdict:
    return judge(sweeps, limits("limits-published.yml"))


def test_all_published_figures_together_hold_all_their_limits() -> None:
    verdict = judge_events(*whole())
    assert (verdict.overall, verdict.out_of_scope) == ("pass", 0)
    assert verdict.counts["pass"] == len(verdict.findings) > 25 + 6 * 4 + 6 * 2 + len(FACTS)


def test_the_27b_table_holds_its_own_limits() -> None:
    verdict = judge_published(replay("27b", "27b-base", 2, dense()))
    assert (verdict.overall, verdict.counts["pass"]) == ("pass", 5 * (2 + 2 + 1))


def test_one_node_alone_is_held_against_the_rows_of_one_node() -> None:
    verdict = judge_published(replay("27b-one", "27b-base", 1, dense()))
    assert (verdict.overall, verdict.counts["pass"]) == ("pass", 5 * 2)


@pytest.mark.parametrize("row", PUBLISHED["results_397b"], ids=lambda row: row["variant"])
def test_each_397b_variant_holds_its_own_limits(row: dict[str, Any]) -> None:
    verdict = judge_published(replay(plan_of(row["variant"]), f"397b-{row['variant']}", 1, sparse(row)))
    assert (verdict.overall, verdict.counts["pass"]) == ("pass", 4)


@pytest.mark.parametrize("changed", range(5))
@pytest.mark.parametrize(("tok_s", "ttft"), [(0.85, 1.0), (1.0, 1.5)], ids=["slower", "later"])
def test_one_changed_row_breaks_a_limit(changed: int, tok_s: float, ttft: float) -> None:
    rows = dense()
    n, speed, first = rows[changed]
    rows[changed] = (n, speed * tok_s, first * ttft)
    verdict = judge_published(replay("27b", "27b-base", 2, rows))
    assert verdict.overall == "fail"
    assert {finding.n for finding in verdict.findings if finding.verdict == "fail"} == {n}


@pytest.mark.parametrize(
    ("metric", "factor"), [("power_mean_w", 1.2), ("wh_per_1k_tokens_gross", 1.2), ("tokens_per_kwh_gross", 0.8)]
)
def test_more_energy_breaks_a_limit(metric: str, factor: float) -> None:
    manifest, journal = whole()
    changed = deepcopy(journal)
    for event in changed:
        if metric in event.get("figures", {}):
            event["figures"][metric] *= factor
    verdict = judge_events(manifest, changed)
    assert {finding.limit.metric for finding in verdict.findings if finding.verdict == "fail"} == {metric}


@pytest.mark.parametrize("metric", [fact["metric"] for fact in FACTS])
def test_a_fact_that_was_not_measured_is_missing_and_fails(metric: str) -> None:
    manifest, journal = whole()
    verdict = judge_events(manifest, [event for event in journal if event.get("metric") != metric])
    assert verdict.overall == "fail"
    assert {finding.limit.metric for finding in verdict.findings if finding.verdict == "missing"} == {metric}


def test_a_row_that_is_left_out_is_missing() -> None:
    verdict = judge_published(replay("27b", "27b-base", 2, dense()[:-1]))
    assert verdict.counts["missing"] == 3
    assert verdict.overall == "fail"


def test_another_variant_is_not_held_against_these_limits() -> None:
    verdict = judge_published(replay("397b", "397b-a", 1, sparse(PUBLISHED["results_397b"][4])))
    assert verdict.findings == []
