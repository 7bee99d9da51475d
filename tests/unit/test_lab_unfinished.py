"""An interrupted run is gone on with; one that has ended, or had other settings, is not."""

from pathlib import Path

import pytest

from lab.settings import Lab, LabError, read_settings
from lab.unfinished import unfinished

SWEEPS = {"27b": {"bench_concurrency": [1]}}


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    for part in ("catalog", "inventory/lab", "roles/bench", ".lab/apollo-lab"):
        (tmp_path / part).mkdir(parents=True)
    return read_settings({}, tmp_path)


def interrupted(lab: Lab, error: type[BaseException]) -> str:
    with pytest.raises(error), unfinished(lab, SWEEPS) as (run_id, _):
        raise error
    return run_id


def test_an_interrupted_run_goes_on_until_it_has_ended(lab: Lab) -> None:
    run_id = interrupted(lab, KeyboardInterrupt)
    with unfinished(lab, SWEEPS) as told:
        assert told == (run_id, True)
    with unfinished(lab, SWEEPS) as (_, goes_on):
        assert not goes_on


def test_a_run_that_failed_is_not_gone_on_with(lab: Lab) -> None:
    interrupted(lab, LabError)
    with unfinished(lab, SWEEPS) as (_, goes_on):
        assert not goes_on


def test_what_would_be_measured_otherwise_now_is_another_run(lab: Lab) -> None:
    interrupted(lab, KeyboardInterrupt)
    with unfinished(lab, {}) as (_, goes_on):
        assert not goes_on
    interrupted(lab, KeyboardInterrupt)
    (lab.root / "catalog" / "new.yml").write_text("new: 1")
    with unfinished(lab, SWEEPS) as (_, goes_on):
        assert not goes_on


def test_half_a_file_of_a_killed_run_counts_as_none(lab: Lab) -> None:
    (lab.state / "unfinished.json").write_text('{"run_id"')
    with unfinished(lab, SWEEPS) as (_, goes_on):
        assert not goes_on
