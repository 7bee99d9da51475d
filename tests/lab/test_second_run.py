"""A second run of the story changes nothing and is quick."""

from __future__ import annotations

from tests.support.playbook import Run

LIMIT_S = 90


def test_second_run_succeeds(second_run: Run) -> None:
    assert second_run.code == 0, second_run.output


def test_second_run_reaches_both_nodes(second_run: Run) -> None:
    assert set(second_run.recap) >= {"node1", "node2"}


def test_second_run_changes_nothing(second_run: Run) -> None:
    changed = {host: counters["changed"] for host, counters in second_run.recap.items()}
    assert not any(changed.values()), second_run.output


def test_second_run_is_quick(second_run: Run) -> None:
    assert second_run.seconds < LIMIT_S, f"tasks per host: {second_run.recap}"
