"""A run that holds every shipped limit: move one figure just beyond its limit, and exactly that limit breaks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible.module_utils.apollo import overload
from ansible.module_utils.apollo.bench_rows import Attempt, Row, Sweep, read_rows
from ansible.module_utils.apollo.bench_terms import TERMS
from ansible.module_utils.apollo.judge import Verdict, judge
from ansible.module_utils.apollo.judge_facts import Fact, read_facts
from ansible.module_utils.apollo.judge_limits import EVERY, Limit, read_limits

from tests.support import bench_samples as samples
from tests.support import published_run

Whole = tuple[list[Sweep], list[Fact]]


def published() -> Whole:
    manifest, journal = published_run.whole()
    return read_rows(manifest, journal), read_facts(journal)


def lab() -> Whole:
    dense, sparse = samples.sweep(), samples.sweep(plan="397b", variant="397b-c", endpoints=1)
    journal = [*samples.runs(dense), *samples.runs(sparse, spec_decode_acceptance_length=1.2)]
    return read_rows(samples.manifest(dense, sparse), journal), []


def overloaded() -> Whole:
    """Facts only, of a gateway that keeps the level of LEVEL, for two models."""
    kept = {
        **{"overload_refused": 40.0, "overload_errors": 0.0, "overload_refused_p95_ms": 10.0},
        **{"overload_ttft_p95_ms": 1500.0, "overload_user_p05_tok_s": 15.0},
    }
    events = [
        fact
        for model in ("large", "small")
        for fact in overload.facts({"plan": "27b", "model": model, "figures": kept}, 1.0)
    ]
    return [], read_facts(events)


def stated() -> list[Limit]:
    level = {"ttft_p95_ms": 2000, "floor_tok_s": 10, "refused_p95_ms": 500}
    return read_limits({"limits": overload.overload_limits(level, EVERY)}, "stated limits")


LAB = "limits-lab.yml"
RUNS = {
    "published": (published(), published_run.limits()),
    "lab": (lab(), published_run.limits(LAB)),
    "overload": (overloaded(), stated()),
}
CASES = [pytest.param(name, limit, id=f"{name}: {limit.name}") for name, (_, told) in RUNS.items() for limit in told]


def beyond(limit: Limit) -> float:
    """The nearest value that must fail; below a lower bound where there are both."""
    step = 1e-6 * (1 + abs(limit.value))
    return limit.low - step if limit.low is not None else (limit.high or 0.0) + step


def change_attempt(attempt: Attempt, limit: Limit, value: float | None) -> Attempt:
    if limit.scope == "plan":
        return replace(attempt, plan_figures={**attempt.plan_figures, limit.metric: value})
    runs = {name: {**run, "figures": {**run["figures"], limit.metric: value}} for name, run in attempt.runs.items()}
    return replace(attempt, runs=runs)


def change_row(row: Row, limit: Limit, value: float | None) -> Row:
    if limit.n not in (EVERY, row.concurrency):
        return row
    return replace(row, attempts=[change_attempt(attempt, limit, value) for attempt in row.attempts])


def mutate(run: Whole, limit: Limit, value: float | None) -> Whole:
    sweeps, facts = run
    if limit.scope == "fact":
        kept = [fact for fact in facts if fact.metric != limit.metric]
        changed = [replace(fact, value=value) for fact in facts if fact.metric == limit.metric and value is not None]
        return sweeps, [*kept, *changed]
    return [
        replace(sweep, rows=[change_row(row, limit, value) for row in sweep.rows])
        if limit.is_about(sweep.plan, sweep.variants)
        else sweep
        for sweep in sweeps
    ], facts


def broken(verdict: Verdict, word: str) -> set[str]:
    return {finding.limit.name for finding in verdict.findings if finding.verdict == word}


def same_figure(limit: Limit, told: list[Limit]) -> set[str]:
    """Names of the limits that look at the very same figure."""
    return {other.name for other in told if other.metric == limit.metric}


def test_every_file_of_limits_that_ships_is_mutated() -> None:
    assert {path.name for path in published_run.REFERENCE.glob("limits-*.yml")} == {*published_run.FILES, LAB}
    assert {limit.metric for limit in stated()} == {name for name in TERMS if name.startswith("overload_")}


@pytest.mark.parametrize("name", RUNS)
def test_the_run_itself_is_green(name: str) -> None:
    (sweeps, facts), told = RUNS[name]
    verdict = judge(sweeps, told, facts)
    assert (verdict.overall, verdict.out_of_scope) == ("pass", 0)


@pytest.mark.parametrize(("name", "limit"), CASES)
def test_a_figure_just_beyond_its_limit_breaks_that_limit_alone(name: str, limit: Limit) -> None:
    run, told = RUNS[name]
    sweeps, facts = mutate(run, limit, beyond(limit))
    verdict = judge(sweeps, told, facts)
    found = broken(verdict, "fail")
    assert verdict.overall == "fail"
    assert limit.name in found
    assert found <= same_figure(limit, told)


@pytest.mark.parametrize(("name", "limit"), CASES)
def test_a_figure_that_is_gone_is_missing_and_fails(name: str, limit: Limit) -> None:
    run, told = RUNS[name]
    sweeps, facts = mutate(run, limit, None)
    verdict = judge(sweeps, told, facts)
    assert verdict.overall == "fail"
    assert limit.name in broken(verdict, "missing")
