"""Two keepers over a real connection, with engines that end on command."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from tests.support.keeper_rig import RULES, Node, Pair, load_program, until


@pytest.fixture
def program(project: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return load_program(project, monkeypatch)


@pytest.fixture
def pair(program: ModuleType, tmp_path: Path) -> Iterator[Pair]:
    both = Pair(program, tmp_path)
    both.start(0)
    both.start(1)
    until(lambda: both.state(0)["ready"] and both.state(1)["ready"])
    yield both
    for rank in (0, 1):
        both.leave(rank)


def test_worker_starts_before_the_head(pair: Pair) -> None:
    assert pair.starts() == [1, 1]
    assert pair.nodes[1].starts[0] < pair.nodes[0].starts[0]


@pytest.mark.parametrize("killed", [0, 1])
def test_end_of_either_engine_starts_both_anew(pair: Pair, killed: int) -> None:
    pair.nodes[killed].kill()
    until(lambda: pair.starts() == [2, 2] and pair.state(0)["ready"])
    assert pair.nodes[1].starts[1] < pair.nodes[0].starts[1]
    assert (pair.state(0)["ends"], pair.state(0)["outage_s"] is not None) == (1, True)


def test_lost_worker_stops_the_head_until_it_is_back(pair: Pair) -> None:
    pair.leave(1)
    until(lambda: pair.state(0)["phase"] == "gathering" and pair.state(0)["ranks"][0]["phase"] == "free")
    assert pair.state(0)["waits_for"] == "rank 1 does not answer"
    pair.start(1)
    until(lambda: pair.state(0)["ready"])


def test_lost_head_stops_the_worker_until_it_is_back(program: ModuleType, pair: Pair) -> None:
    worker_engine = pair.nodes[1].engine
    pair.leave(0)
    until(lambda: 0 in pair.codes)
    assert pair.codes[0] == 0
    assert worker_engine is not None
    until(worker_engine.over.is_set)


def test_gpus_that_stay_occupied_keep_both_off_until_they_are_free(pair: Pair) -> None:
    pair.nodes[1].in_the_way = ["GPU 0 is held by 77"]
    pair.nodes[0].kill()
    until(lambda: "rank 1 is blocked GPU 0 is held by 77" in pair.state(0)["waits_for"])
    assert pair.starts() == [1, 1]
    pair.nodes[1].in_the_way = []
    until(lambda: pair.state(0)["ready"])
    assert pair.starts() == [2, 2]


def test_idle_engine_that_no_longer_answers_is_started_anew(pair: Pair) -> None:
    pair.nodes[0].answers = False
    until(lambda: pair.state(0)["ends"] >= 1)
    pair.nodes[0].answers = True
    until(lambda: pair.state(0)["ready"])


def test_too_many_ends_leave_both_failed_and_off(pair: Pair) -> None:
    pair.nodes[0].answers = False
    until(lambda: pair.codes == {0: 78, 1: 78})
    assert "3 ends within 60 s, 3 allowed" in pair.state(0)["reason"]
    assert "3 ends within 60 s" in pair.state(1)["reason"]
    assert all(node.engine is None or node.engine.over.is_set() for node in pair.nodes)


def test_rank_of_another_configuration_is_refused(program: ModuleType, tmp_path: Path) -> None:
    both = Pair(program, tmp_path)
    both.start(0)
    both.start(1, life="another")
    until(lambda: "another life" in str(both.state(1)["waits_for"]))
    assert both.starts() == [0, 0]
    for rank in (0, 1):
        both.leave(rank)


def test_state_is_written_for_status(program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["keeper"], "STATE_FOLDER", tmp_path / "run")
    spec = {"name": "vllm-x-0", "rank": 0, "ranks": 1, "rules": RULES, "stop_timeout_s": 5}
    keeper = program.Head(spec, Node())
    keeper.tell()
    told = json.loads((tmp_path / "run" / "vllm-x-0.json").read_text())
    assert (told["phase"], told["ready"], told["waits_for"]) == ("gathering", False, "rank 0 is clearing")
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["vllm-x-0.json"]


def test_what_is_installed_is_all_that_the_program_needs(project: Path, tmp_path: Path) -> None:
    listed = yaml.safe_load((project / "roles/vllm_server/vars/main.yml").read_text())["__vllm_server_programs"]
    for name, source in listed.items():
        found = source.replace("{{ __vllm_server_core }}", str(project / "module_utils/apollo"))
        shutil.copy(project / "roles/vllm_server/files" / found, tmp_path / name)
    run = (
        f"import runpy, sys; sys.path.insert(0, {str(tmp_path)!r}); runpy.run_path({str(tmp_path / 'engine-keeper')!r})"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", run], check=True)  # without what pip has installed
