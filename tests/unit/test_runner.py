"""What bin/test runs and counts."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runner import execute, stages, summary
from tests.runner.stages import Stage
from tests.runner.summary import Counts


def names(words: list[str]) -> list[str]:
    return [stage.name for stage in stages.chosen(words)]


def run(tmp_path: Path, *commands: Stage) -> list[execute.Outcome]:
    return execute.run_all(commands, tmp_path)


def test_quick_is_a_part_of_the_whole() -> None:
    assert names([])[: len(names(["quick"]))] == names(["quick"])


def test_quick_needs_no_lab() -> None:
    assert not [stage for stage in stages.chosen(["quick"]) if stage.uses_lab]


def test_bare_node_comes_last_of_the_stories() -> None:
    stories = [name for name in names([]) if name.startswith("molecule")]
    assert stories == [f"molecule: {scenario}" for scenario in stages.SCENARIOS]
    assert stories[-1] == "molecule: default"


def test_every_story_starts_without_memory_of_an_earlier_run() -> None:
    order = names(["molecule"])
    assert order == [f"{part}: {story}" for story in stages.SCENARIOS for part in ("forget", "molecule")]


@pytest.mark.parametrize("words", [["qick"], ["molecule", "swich"], ["lint", "unit"]])
def test_unknown_part_is_named_with_what_there_is(words: list[str]) -> None:
    with pytest.raises(ValueError, match=rf"unknown part '{' '.join(words)}': use one of quick, .*molecule default"):
        stages.chosen(words)


def test_stage_that_fails_is_a_failure_of_the_run(tmp_path: Path) -> None:
    (outcome,) = run(tmp_path, Stage("fails", ("false",)))
    assert not outcome.passed
    assert outcome.counts == Counts(failed=1)


def test_stage_may_have_to_be_killed(tmp_path: Path) -> None:
    (outcome,) = run(
        tmp_path, Stage("killed", ("timeout", "--signal=KILL", "0.1", "sleep", "5"), expected=stages.KILLED)
    )
    assert outcome.passed


def test_stage_without_its_need_is_skipped_with_the_reason(tmp_path: Path) -> None:
    _, outcome = run(tmp_path, Stage("first", ("false",)), Stage("second", ("true",), needs="first"))
    assert outcome.counts == Counts(skipped=1)
    assert outcome.reason == "'first' did not pass"
    assert not outcome.passed


def test_program_that_is_not_there_fails_its_stage(tmp_path: Path) -> None:
    (outcome,) = run(tmp_path, Stage("missing", ("no-such-program",)))
    assert not outcome.passed


def test_what_a_stage_has_started_ends_with_the_run(tmp_path: Path) -> None:
    started = tmp_path / "started"
    story = ("sh", "-c", f"sleep 60 & echo $! >{started}.new; mv {started}.new {started}; wait")
    stage = f"from tests.runner import stages; stages.lint = lambda: [stages.Stage('s', {story})]"
    run_it = "import runpy, sys; sys.argv = ['bin/test', 'lint']; runpy.run_module('tests.runner', run_name='__main__')"
    script = f"{stage}\n{run_it}"
    with subprocess.Popen([sys.executable, "-c", script], cwd=execute.PROJECT, stderr=subprocess.PIPE) as process:
        while not started.exists():
            time.sleep(0.05)
        process.terminate()
        told = process.communicate()[1]
    assert (process.returncode, told) == (1, b"bin/test: interrupted\n")
    assert not Path("/proc", started.read_text().strip(), "cwd").exists()


def test_counts_come_from_the_tests_own_file(tmp_path: Path) -> None:
    report = tmp_path / "some.xml"
    report.write_text('<testsuites><testsuite tests="9" failures="1" errors="1" skipped="2"/></testsuites>')
    assert summary.counts_in(report, passed=False) == Counts(passed=5, failed=2, skipped=2)


def test_stage_that_dies_counts_as_a_failure_whatever_its_file_says(tmp_path: Path) -> None:
    report = tmp_path / "some.xml"
    report.write_text('<testsuites><testsuite tests="2" failures="0" errors="0" skipped="0"/></testsuites>')
    assert summary.counts_in(report, passed=False).failed == 1


def test_closing_line_names_skipped_only_where_there_are_some() -> None:
    assert [str(Counts(3, 0)), str(Counts(3, 1, 2))] == ["3 passed, 0 failed", "3 passed, 1 failed, 2 skipped"]


def test_slowest_come_first_and_short_ones_not_at_all() -> None:
    assert summary.slowest([("a", 2.0), ("b", 30.25), ("c", 0.2)]) == ["   30.2 s  b", "    2.0 s  a"]
