"""The watch on the server: how far the load is, the highest gauges, and an engine that has gone silent."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import bench_watched

from tests.support import openai_stub

Watch = Callable[..., Path]


@pytest.fixture
def server() -> Iterator[tuple[openai_stub.Behaviour, str]]:
    behaviour = openai_stub.Behaviour(model="m")
    with openai_stub.running(behaviour) as url:
        yield behaviour, url


@pytest.fixture
def watch(project: Path, tmp_path: Path) -> Iterator[Watch]:
    """Start the program on a job that is in its load."""
    started: list[subprocess.Popen[bytes]] = []

    def start(url: str, stall_s: float = 60) -> Path:
        task = {"base_url": url, "prompts": 80, "concurrency": 8, "watch_s": 0.05, "stall_s": stall_s}
        (tmp_path / "taken.json").write_text(json.dumps(task))
        (tmp_path / "phase.json").write_text(json.dumps({"phase": "load", "at_s": time.monotonic()}))
        program = project / "roles" / "bench" / "files" / "bench_watch.py"
        started.append(subprocess.Popen([sys.executable, str(program), str(tmp_path)]))
        return tmp_path

    yield start
    for process in started:
        process.kill()
        process.wait()


def until(look: Callable[[], Any], limit_s: float = 60) -> Any:
    gives_up = time.monotonic() + limit_s
    while not (found := look()):
        assert time.monotonic() < gives_up
        time.sleep(0.02)
    return found


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
        time.sleep(0.3)
    seen = bench_watched.read_watch((folder / "watch.jsonl").read_text() + '{"torn')
    assert bench_watched.highest(seen)["requests_running_max"] == 8
    assert bench_watched.missing(seen) == []


def test_a_gauge_that_is_gone_is_named_and_null() -> None:
    seen = [{"unix_s": 1.0, "running": 3.0}]
    assert bench_watched.missing(seen) == ["vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"]
    assert bench_watched.highest(seen)["kv_cache_usage_max"] is None
    assert bench_watched.highest([])["requests_running_max"] is None


def test_a_silent_engine_is_frozen_and_its_client_is_stopped(
    server: tuple[openai_stub.Behaviour, str], watch: Watch
) -> None:
    behaviour, url = server
    folder = watch(url, stall_s=1)
    until((folder / "progress.json").exists)
    behaviour.seen, behaviour.freeze_at = 1, 1
    assert until((folder / "stop").exists)
    assert (folder / "stop").read_text().startswith("frozen: ")


def test_an_engine_that_works_slowly_is_not_frozen(server: tuple[openai_stub.Behaviour, str], watch: Watch) -> None:
    behaviour, url = server
    folder = watch(url, stall_s=1)
    for _ in range(8):
        behaviour.generated += 1
        time.sleep(0.3)
    assert not (folder / "stop").exists()


def test_the_watch_ends_with_the_load(server: tuple[openai_stub.Behaviour, str], watch: Watch, tmp_path: Path) -> None:
    folder = watch(server[1])
    until((folder / "watch.jsonl").exists)
    (folder / "phase.json").write_text(json.dumps({"phase": "done"}))
    lines = (folder / "watch.jsonl").stat().st_size
    time.sleep(0.5)
    settled = (folder / "watch.jsonl").stat().st_size
    time.sleep(0.3)
    assert lines <= settled == (folder / "watch.jsonl").stat().st_size
