"""The client is handed its jobs, and tells whether engines have served nothing but probes since they started."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from ansible.module_utils.apollo.bench_counters import freshness

from tests.conftest import RunModule

PAGE = 'vllm:generation_tokens_total{engine="0"} '


@pytest.mark.parametrize(
    ("page", "tokens", "fresh"),
    [
        (f"{PAGE}1.0", 1, True),
        (f"{PAGE}16.0", 16, True),
        (f"{PAGE}17.0", 17, False),
        (f"{PAGE}9.0\n{PAGE}9.0", 18, False),
        (f"{PAGE}0.0", 0, False),
        ("vllm:other_total 1", None, False),
        (None, None, False),
    ],
)
def test_fresh_is_proved_to_answer_and_unused(page: str | None, tokens: int | None, fresh: bool) -> None:
    assert freshness(page, probe_tokens_max=16) == (tokens, fresh)


@contextmanager
def metrics(text: str) -> Iterator[str]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/metrics" else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Page)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


DOCKER = """#!/bin/sh
case "$1" in
  container) [ -e {up} ] && cat {up} || exit 1 ;;
  run) echo "true ${{3##*=}}" > {up} ;;
esac
exit 0
"""
POINT = {"concurrency": 1, "prompts": 10, "input_tokens": 64, "output_tokens": 32, "warmups": 1, "seed": 1}
LOAD = {
    **{"point": POINT, "attempt": 1, "watch_s": 2, "stall_s": 300},
    "barrier": {"address": "10.77.0.1", "port": 29590, "names": ["e0"], "timeout_s": 5},
}


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A docker that remembers whether the client runs."""
    (tmp_path / "docker").write_text(DOCKER.format(up=tmp_path / "up"))
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    paths = {"program_path": str(tmp_path / "programs"), "work_path": str(tmp_path / "spool")}
    return {"image": "vllm:1", "programs": {"a.py": "print()\n"}, **paths}


def endpoint(url: str, name: str = "e0") -> dict[str, Any]:
    return {"name": name, "node": "n1", "url": url, "served_name": "m", "model_path": "/models/m"}


def test_the_client_is_handed_its_job_once_and_engines_are_asked(
    run_module: RunModule, tmp_path: Path, options: dict[str, Any]
) -> None:
    with metrics(f"{PAGE}2.0") as url:
        asked = {**options, "endpoints": [endpoint(url), endpoint(url, "not-driven")], "load": LOAD}
        first, second = (run_module("bench_client", **asked) for _ in range(2))
    assert [(told["changed"], told["fresh"], told["generated_tokens"]) for told in (first, second)] == [
        (True, True, [2, 2]),
        (False, True, [2, 2]),
    ]
    assert json.loads((tmp_path / "spool/e0/task.json").read_text())["prompts"] == 10
    assert not (tmp_path / "spool/not-driven").exists()


def test_engine_that_is_gone_is_not_fresh(run_module: RunModule, options: dict[str, Any]) -> None:
    with metrics("") as gone:
        pass
    with metrics(f"{PAGE}2.0") as here:
        told = run_module("bench_client", **options, endpoints=[endpoint(here), endpoint(gone, "e1")], load=LOAD)
    assert (told["fresh"], told["generated_tokens"]) == (False, [2, None])


def test_a_node_without_endpoints_gets_the_programs_only(
    run_module: RunModule, tmp_path: Path, options: dict[str, Any]
) -> None:
    assert [run_module("bench_client", **options)["changed"] for _ in range(2)] == [True, False]
    assert (tmp_path / "programs/a.py").read_text() == "print()\n"
    assert not (tmp_path / "up").exists()


def test_another_program_starts_the_client_anew(run_module: RunModule, tmp_path: Path, options: dict[str, Any]) -> None:
    asked = {**options, "endpoints": [endpoint("http://127.0.0.1:9")]}
    run_module("bench_client", **asked)
    before = (tmp_path / "up").read_text()
    assert run_module("bench_client", **{**asked, "programs": {"a.py": "print(1)\n"}})["changed"]
    assert (tmp_path / "up").read_text() != before


def test_check_mode_hands_nothing_over(run_module: RunModule, tmp_path: Path, options: dict[str, Any]) -> None:
    with metrics(f"{PAGE}2.0") as url:
        told = run_module("bench_client", True, **options, endpoints=[endpoint(url)], load=LOAD)
    assert (told["changed"], told["fresh"]) == (True, True)
    assert not (tmp_path / "spool").exists()
    assert not (tmp_path / "programs").exists()
