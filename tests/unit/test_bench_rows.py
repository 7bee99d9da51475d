"""Rows join what was planned with what happened, and count only attempts that are whole."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.module_utils.apollo import bench_energy
from ansible.module_utils.apollo.bench_rows import Row, plan_figures, read_rows
from ansible.module_utils.apollo.bench_terms import TERMS

from tests.support import bench_samples as samples


def rows(events: list[dict[str, Any]], **placed: Any) -> list[Row]:
    return list(read_rows(samples.manifest(samples.sweep(**placed)), events)[0].rows)


def first_point(**changed: Any) -> list[dict[str, Any]]:
    swept = samples.sweep()
    return [samples.run(swept["points"][0], name, **changed) for name in ("vllm-27b-0", "vllm-27b-1")]


def test_every_term_of_a_plan_has_a_figure_and_no_other() -> None:
    ours = {name for name, term in TERMS.items() if term.scope == "plan"}
    assert set(plan_figures(first_point())) == ours | set(bench_energy.NAMES)


def test_a_point_without_any_run_is_not_run() -> None:
    assert [row.status for row in rows([])] == ["not run", "not run"]


def test_a_whole_attempt_counts_and_sums_up() -> None:
    row = rows(first_point())[0]
    single = row.mean("output_tok_s", "vllm-27b-0")
    assert single is not None
    assert row.status == "valid"
    assert row.mean("sum_output_tok_s") == pytest.approx(2 * single)
    assert row.mean("total_output_tok_s") == pytest.approx(2 * single, rel=0.01)
    assert row.mean("node_deviation") == 0


def test_an_attempt_that_lacks_an_endpoint_does_not_count() -> None:
    row = rows(first_point()[:1])[0]
    assert (row.status, row.reasons) == ("invalid", ["no_record"])
    assert row.samples("sum_output_tok_s") == []


def test_one_invalid_endpoint_spoils_the_attempt_for_all() -> None:
    good, bad = first_point()[0], first_point(total_input_tokens=1)[1]
    row = rows([good, bad])[0]
    assert (row.status, row.reasons) == ("invalid", ["input_tokens"])
    assert row.samples("output_tok_s", "vllm-27b-0") == []


def test_a_second_attempt_counts_although_the_first_failed() -> None:
    row = rows([*first_point(total_input_tokens=1), *first_point(attempt=2)])[0]
    assert (row.status, len(row.attempts), len(row.valid)) == ("valid", 2, 1)


def test_repeats_are_samples() -> None:
    row = rows([*first_point(), *first_point(attempt=2)])[0]
    assert len(row.samples("output_tok_s", "vllm-27b-1")) == 2


def test_endpoints_that_start_apart_do_not_count() -> None:
    first, second = first_point()
    second["timeline"] = {**second["timeline"], "start_s": second["timeline"]["start_s"] + 3}
    row = rows([first, second])[0]
    assert (row.status, row.reasons) == ("invalid", ["start_spread"])


def test_clocks_that_differ_at_the_barrier_do_not_count() -> None:
    first, second = first_point()
    second["barrier_s"] += 0.7
    assert rows([first, second])[0].reasons == ["clock_offset"]


def test_without_a_run_of_one_endpoint_alone_there_is_no_scaling() -> None:
    assert rows(first_point())[0].mean("scaling_deviation") is None


def test_a_plan_of_one_endpoint_has_no_deviation() -> None:
    swept = samples.sweep(endpoints=1)
    row = rows([samples.run(swept["points"][0], "vllm-27b-0")], endpoints=1)[0]
    assert row.status == "valid"
    assert row.mean("node_deviation") is None
    assert row.mean("start_spread_s") is None


def test_points_are_told_by_rising_concurrency() -> None:
    swept = samples.sweep({**samples.SETTINGS, "concurrency": [32, 1, 8]})
    assert [row.concurrency for row in read_rows(samples.manifest(swept), [])[0].rows] == [1, 8, 32]
