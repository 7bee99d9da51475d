"""A second run of the story changes nothing and is quick."""

from __future__ import annotations

import pytest

from tests.support.playbook import Run, run_playbook

LIMIT_S = 90


@pytest.fixture(scope="module")
def second_run() -> Run:
    """The story, run again right after a run that may have had something to change."""
    first = run_playbook("site.yml")
    assert first.code == 0, first.output
    return run_playbook("site.yml")


def test_second_run_succeeds(second_run: Run) -> None:
    assert second_run.code == 0, second_run.output


def test_second_run_reaches_both_nodes(second_run: Run) -> None:
    assert set(second_run.recap) >= {"node1", "node2"}


def test_second_run_changes_nothing(second_run: Run) -> None:
    changed = {host: counters["changed"] for host, counters in second_run.recap.items()}
    assert not any(changed.values()), second_run.output


def test_second_run_is_quick(second_run: Run) -> None:
    print(f"second run: {second_run.seconds:.1f} s, {second_run.recap}")
    assert second_run.seconds < LIMIT_S
