"""The watch on the server: how far the load is, the highest gauges, and an engine that has gone silent."""

from __future__ import annotations

import functools
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import bench_watched

from tests.support import bench_rig, openai_stub

Watch = Callable[..., Path]


@pytest.fixture
def server() -> Iterator[tuple[openai_stub.Behaviour, str]]:
    behaviour = openai_stub.Behaviour(model="m")
    with openai_stub.running(behaviour) as url:
        yield behaviour, url


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    processes: list[subprocess.Popen[bytes]] = []
    yield processes
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture
def watch(tmp_path: Path, started: list[subprocess.Popen[bytes]]) -> Watch:
    """Start the program on a job that is in its load."""

    def start(url: str, stall_s: float = 60) -> Path:
        task = {"base_url": url, "prompts": 80, "concurrency": 8, "watch_s": 0.05, "stall_s": stall_s}
        (tmp_path / "taken.json").write_text(json.dumps(task))
        (tmp_path / "phase.json").write_text(json.dumps({"phase": "load", "at_s": time.monotonic()}))
        program = bench_rig.put_programs(tmp_path / "programs") / "bench_watch.py"
        started.append(subprocess.Popen([sys.executable, str(program), str(tmp_path)]))
        return tmp_path

    return start


def until(look: Callable[[], Any], limit_s: float = 60) -> Any:
    gives_up = time.monotonic() + limit_s
    while not (found := look()):
        assert time.monotonic() < gives_up
        time.sleep(0.02)
    return found


def watched(folder: Path) -> list[dict[str, Any]]:
    lines = folder / "watch.jsonl"
    return list(bench_watched.read_watch(lines.read_text())) if lines.exists() else []


def has_seen(folder: Path, running: int) -> bool:
    return running in [each.get("running") for each in watched(folder)]


def progress(folder: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((folder / "progress.json").read_text())
    except OSError:
        return {}
    return told


def test_progress_counts_from_the_beginning_of_the_load(
    server: tuple[openai_stub.Behaviour, str], watch: Watch
) -> None:
    behaviour, url = server
    behaviour.generated, behaviour.answered = 1000, 10
    folder = watch(url)
    until(lambda: progress(folder).get("tokens") == 0)
    behaviour.generated, behaviour.answered = 1160, 15
    told = until(lambda: progress(folder).get("requests") == 5 and progress(folder))
    assert (told["tokens"], told["prompts"], told["concurrency"]) == (160, 80, 8)


def test_the_highest_value_of_each_gauge_is_kept(server: tuple[openai_stub.Behaviour, str], watch: Watch) -> None:
    behaviour, url = server
    folder = watch(url)
    for running in (3, 8, 2):
        behaviour.running = running
        until(functools.partial(has_seen, folder, running))
    seen = bench_watched.read_watch((folder / "watch.jsonl").read_text() + '{"torn')
    assert bench_watched.highest(seen)["requests_running_max"] == 8
    assert bench_watched.missing(seen) == []


def test_a_gauge_that_is_gone_is_named_and_null() -> None:
    seen = [{"unix_s": 1.0, "running": 3.0}]
    assert bench_watched.missing(seen) == ["vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"]
    assert bench_watched.highest(seen)["kv_cache_usage_max"] is None
    assert bench_watched.highest([])["requests_running_max"] is None


class Clock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1796060000.0 + self.now


class Engine:
    """The program's watch on an engine that shows what a test says."""

    def __init__(self, program: Any, folder: Path, clock: Clock) -> None:
        task = {"base_url": "", "prompts": 80, "concurrency": 8, "watch_s": 2, "stall_s": 300}
        (folder / "taken.json").write_text(json.dumps(task))
        (folder / "phase.json").write_text(json.dumps({"phase": "load", "at_s": clock.now}))
        self.clock, self.folder, self.page = clock, folder, {"tokens": 0.0}
        program.time, program.look = clock, lambda _: dict(self.page)
        self.watch = program.Watch(folder)
        self.watch.begin()

    def after(self, seconds: float, **page: float) -> str:
        """What the watch has told the client to do, once this much time has passed and the page shows this."""
        self.clock.now += seconds
        self.page |= page
        self.watch.see("load")
        stop = self.folder / "stop"
        return stop.read_text() if stop.exists() else ""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    programs = bench_rig.put_programs(tmp_path / "programs")
    monkeypatch.syspath_prepend(programs)
    return Engine(importlib.import_module("bench_watch"), tmp_path, Clock())


def test_a_silent_engine_is_frozen_and_its_client_is_stopped(engine: Engine) -> None:
    assert engine.after(1, tokens=1) == ""
    assert engine.after(300) == ""
    assert engine.after(1).startswith("frozen: no token and no change of its counters for 300 s")


def test_an_engine_whose_page_does_not_come_is_frozen_as_well(engine: Engine) -> None:
    assert engine.after(1, tokens=1) == ""
    engine.page.clear()
    assert engine.after(301).startswith("frozen: ")


def test_an_engine_that_works_slowly_is_not_frozen(engine: Engine) -> None:
    assert [engine.after(299, tokens=count) for count in range(1, 9)] == [""] * 8


def test_the_program_itself_stops_a_client_whose_engine_is_silent(
    server: tuple[openai_stub.Behaviour, str], watch: Watch
) -> None:
    folder = watch(server[1], stall_s=0.2)
    assert until((folder / "stop").exists)


def test_the_watch_ends_with_the_load(
    server: tuple[openai_stub.Behaviour, str], watch: Watch, started: list[subprocess.Popen[bytes]]
) -> None:
    folder = watch(server[1])
    until((folder / "watch.jsonl").exists)
    (folder / "phase.json").write_text(json.dumps({"phase": "done"}))
    (process,) = started
    assert process.wait(60) == 0
