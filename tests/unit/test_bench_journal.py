"""The journal survives kills, and its module writes the manifest first."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import journal
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import RunModule
from tests.support import bench_samples as samples

ABOUT = {"run_id": "run-1", "site_kind": "hardware", "site_name": "a site"}
events = st.lists(st.fixed_dictionaries({"event": st.text(), "n": st.integers(), "told": st.text()}), max_size=6)


def unplanned(**changed: Any) -> dict[str, Any]:
    """A sweep as the role hands it over."""
    settings = {**samples.SETTINGS, **changed}
    return {key: value for key, value in samples.sweep(settings).items() if key not in ("id", "points")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results" / "run-1"


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]


@given(events)
def test_what_is_written_is_read(written: list[dict[str, Any]]) -> None:
    text = "".join(map(journal.encode, written))
    assert list(journal.read(text).events) == written


@given(events, st.data())
def test_a_kill_costs_the_last_line_at_most(written: list[dict[str, Any]], data: st.DataObject) -> None:
    text = "".join(map(journal.encode, written))
    cut = data.draw(st.integers(0, len(text)))
    known = journal.read(text[:cut])
    assert list(known.events) == written[: len(known.events)]
    assert known.torn_lines <= 1


def test_the_manifest_is_written_before_anything_happens(run_module: RunModule, folder: Path) -> None:
    told = run_module("bench_journal", path=str(folder), about=ABOUT, sweep=unplanned())
    manifest = json.loads((folder / "manifest.json").read_text())
    assert told["changed"]
    assert manifest["run_id"] == "run-1"
    assert [sweep["id"] for sweep in manifest["sweeps"]] == [told["sweep_id"]]
    assert not (folder / "journal.jsonl").exists()
    assert (folder.parent / "latest").resolve() == folder


def test_opening_the_same_run_again_changes_nothing(run_module: RunModule, folder: Path) -> None:
    run_module("bench_journal", path=str(folder), about=ABOUT, sweep=unplanned())
    assert not run_module("bench_journal", path=str(folder), about=ABOUT, sweep=unplanned())["changed"]


def test_more_points_join_the_sweep_and_other_settings_make_another(run_module: RunModule, folder: Path) -> None:
    for changed in ({}, {"concurrency": [1, 8, 32]}, {"seed": 4}):
        run_module("bench_journal", path=str(folder), about=ABOUT, sweep=unplanned(**changed))
    manifest = json.loads((folder / "manifest.json").read_text())
    assert [len(sweep["points"]) for sweep in manifest["sweeps"]] == [3, 2]


def test_check_mode_writes_nothing_and_tells_the_points(run_module: RunModule, folder: Path) -> None:
    told = run_module(
        "bench_journal", check=True, path=str(folder), about=ABOUT, sweep=unplanned(), events=[{"event": "run"}]
    )
    assert told["changed"]
    assert len(told["points"]) == 2
    assert not folder.exists()


def test_events_are_appended_with_their_time_and_never_overwritten(run_module: RunModule, folder: Path) -> None:
    run_module("bench_journal", path=str(folder), about=ABOUT)
    for name in ("one", "two"):
        run_module("bench_journal", path=str(folder), events=[{"event": name}])
    assert [line["event"] for line in lines(folder)] == ["one", "two"]
    assert all(line["at_s"] > 1e9 for line in lines(folder))


def test_attempts_of_a_point_are_counted(run_module: RunModule, folder: Path) -> None:
    run_module("bench_journal", path=str(folder), about=ABOUT)
    started = {"event": "point_started", "hash": "a"}
    told = [run_module("bench_journal", path=str(folder), events=[started])["events"][0]["attempt"] for _ in range(2)]
    assert told == [1, 2]


def test_a_torn_line_is_left_and_the_next_one_stands_alone(run_module: RunModule, folder: Path) -> None:
    run_module("bench_journal", path=str(folder), about=ABOUT)
    (folder / "journal.jsonl").write_text('{"event":"one"}\n{"event":"tw')
    told = run_module("bench_journal", path=str(folder), events=[{"event": "three"}])
    known = journal.read((folder / "journal.jsonl").read_text())
    assert [event["event"] for event in known.events] == ["one", "three"]
    assert (told["torn_lines"], known.torn_lines) == (1, 1)


@pytest.mark.parametrize(("fault", "is_done"), [({}, True), ({"total_input_tokens": 1}, False)])
def test_only_a_valid_point_is_done(run_module: RunModule, folder: Path, fault: dict[str, int], is_done: bool) -> None:
    run_module("bench_journal", path=str(folder), about=ABOUT, sweep=unplanned())
    run_module("bench_journal", path=str(folder), events=samples.runs(samples.sweep(), **fault)[:2])
    points = run_module("bench_journal", path=str(folder), sweep=unplanned())["points"]
    assert [point["done"] for point in points] == [is_done, False]


def test_a_point_that_one_endpoint_lacks_is_not_done(run_module: RunModule, folder: Path) -> None:
    run_module("bench_journal", path=str(folder), about=ABOUT, sweep=unplanned())
    run_module("bench_journal", path=str(folder), events=samples.runs(samples.sweep())[:1])
    points = run_module("bench_journal", path=str(folder), sweep=unplanned())["points"]
    assert not any(point["done"] for point in points)


def test_an_event_without_a_name_is_refused(run_module: RunModule, folder: Path) -> None:
    told = run_module("bench_journal", path=str(folder), events=[{"hash": "a"}])
    assert told["failed"]
    assert "'event'" in told["msg"]


def test_a_place_that_cannot_be_written_stops_the_run_in_one_line(run_module: RunModule, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    told = run_module("bench_journal", path=str(blocked / "run-1"), about=ABOUT)
    assert told["failed"]
    assert "could not be kept" in told["msg"]


WRITE_UNTIL_FULL = """
import resource, signal, sys
sys.path[:0] = {paths!r}
import ansible.module_utils
ansible.module_utils.__path__.append({module_utils!r})
from ansible.module_utils.testing import patch_module_args
import bench_journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
with patch_module_args({{"path": {path!r}, "events": [{{"event": "run", "told": "x" * 4096}}]}}):
    bench_journal.main()
"""


def test_a_full_disk_stops_the_run_and_loses_nothing_that_was_written(
    run_module: RunModule, folder: Path, project: Path
) -> None:
    """The file system refuses to grow the journal in the middle of a line, as a full one does."""
    run_module("bench_journal", path=str(folder), about=ABOUT)
    run_module("bench_journal", path=str(folder), events=[{"event": "one"}])
    paths = [str(project), str(project / "library")]
    program = WRITE_UNTIL_FULL.format(
        paths=paths, module_utils=str(project / "module_utils"), path=str(folder), limit=1000
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "could not be kept" in done.stdout, done.stderr
    known = journal.read((folder / "journal.jsonl").read_text())
    assert [event["event"] for event in known.events] == ["one"]
    run_module("bench_journal", path=str(folder), events=[{"event": "two"}])
    known = journal.read((folder / "journal.jsonl").read_text())
    assert [event["event"] for event in known.events] == ["one", "two"]


def test_too_little_space_is_said_before_anything_is_measured(run_module: RunModule, folder: Path) -> None:
    told = run_module("bench_journal", path=str(folder), about=ABOUT, reserve_mib=10**9)
    assert told["failed"]
    assert "1000000000 are needed" in told["msg"]
    assert not folder.exists()


KILLED_WRITER = """
import sys
sys.path[:0] = {paths!r}
import ansible.module_utils
ansible.module_utils.__path__.append({module_utils!r})
from ansible.module_utils.testing import patch_module_args
import bench_journal
events = [{{"event": "told", "n": number, "told": "x" * 2000}} for number in range(3000)]
with patch_module_args({{"path": {path!r}, "events": events}}):
    bench_journal.main()
"""


def test_a_controller_killed_while_it_writes_loses_one_line_at_most(
    run_module: RunModule, folder: Path, project: Path
) -> None:
    run_module("bench_journal", path=str(folder), about=ABOUT)
    paths = [str(project), str(project / "library")]
    program = KILLED_WRITER.format(paths=paths, module_utils=str(project / "module_utils"), path=str(folder))
    writer = subprocess.Popen([sys.executable, "-c", program])
    lines = folder / "journal.jsonl"
    while not lines.exists() or lines.stat().st_size < 20_000:
        time.sleep(0.005)
    writer.kill()
    writer.wait()
    known = journal.read(lines.read_text())
    assert known.torn_lines <= 1
    assert [event["n"] for event in known.events] == list(range(len(known.events)))


def test_a_second_start_does_only_what_is_left(run_module: RunModule, folder: Path) -> None:
    wish = {"repeats": 2}
    run_module("bench_journal", path=str(folder), about=ABOUT, sweep=unplanned())
    run_module("bench_journal", path=str(folder), events=samples.runs(samples.sweep())[:2])
    told = run_module("bench_journal", path=str(folder), sweep=unplanned(), schedule=wish)
    assert [turn["point"]["concurrency"] for turn in told["turns"]] == [1, 8, 8]


def test_the_end_of_a_point_carries_what_came_of_it(run_module: RunModule, folder: Path) -> None:
    run_module("bench_journal", path=str(folder), about=ABOUT, sweep=unplanned())
    swept = samples.sweep()
    ended = {"event": "point_ended", "hash": swept["points"][0]["hash"], "attempt": 1}
    run_module("bench_journal", path=str(folder), events=[*samples.runs(swept)[:2], ended])
    last = lines(folder)[-1]
    assert (last["event"], last["status"]) == ("point_ended", "valid")
    assert last["stats"]["plan"]["total_output_tok_s"]["n"] == 1


def noise(folder: Path) -> dict[str, Any]:
    manifest = json.loads((folder / "manifest.json").read_text())
    paths = {"path": str(folder), "file": str(folder.parent / "noise-floor.json")}
    return {**paths, "sweep_id": manifest["sweeps"][0]["id"]}


def test_the_noise_floor_is_kept_once_and_earlier_ones_stay(run_module: RunModule, folder: Path) -> None:
    for run_id in ("run-1", "run-2"):
        path = folder.parent / run_id
        run_module("bench_journal", path=str(path), about={**ABOUT, "run_id": run_id}, sweep=unplanned())
        for attempt in (1, 2, 3):
            events = samples.runs(samples.sweep(), attempt=attempt)
            run_module("bench_journal", path=str(path), events=events)
        assert run_module("noise_floor", check=True, **noise(path))["changed"]
        assert [run_module("noise_floor", **noise(path))["changed"] for _ in range(2)] == [True, False]
    floors = json.loads((folder.parent / "noise-floor.json").read_text())
    assert [floor["run_id"] for floor in floors] == ["run-1", "run-2"]
    assert floors[0]["metrics"]["tpot_mean_ms"] == 0


def test_a_noise_floor_of_too_few_repeats_is_refused(run_module: RunModule, folder: Path) -> None:
    run_module("bench_journal", path=str(folder), about=ABOUT, sweep=unplanned(), events=samples.runs(samples.sweep()))
    told = run_module("noise_floor", **noise(folder))
    assert told["failed"]
    assert "raise bench_repeats" in told["msg"]
