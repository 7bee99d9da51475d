"""How long a keeper waits for an engine that is to end, with a small program in place of docker."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import pulse

from tests.support.keeper_rig import load_program

DOCKER = """#!/bin/sh
echo "$*" >> "$(dirname "$0")/calls"
"""
BUSY, IDLE = pulse.Look(2, 10.0), pulse.Look(0, 10.0)


@pytest.fixture
def node(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A node whose engine goes on until it is killed."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    load_program(project, monkeypatch)
    monkeypatch.setattr(sys.modules["keeper_node"], "IDLE_S", 0.5)
    node = sys.modules["keeper_node"].Node({"name": "vllm-x-0", "gpu_free_timeout_s": 5})
    with subprocess.Popen(["sleep", "60"]) as node.process:
        yield node
        node.process.kill()


def wait_s(node: Any, grace_s: int, look: Callable[[], pulse.Look | None]) -> float:
    node.look = lambda limit_s: look()
    began = time.monotonic()
    node._end(grace_s)
    return time.monotonic() - began


def test_engine_is_asked_to_end_before_anything_else(node: Any, tmp_path: Path) -> None:
    wait_s(node, 0, lambda: None)
    assert (tmp_path / "calls").read_text() == "kill --signal=SIGTERM vllm-x-0\n"


def test_idle_engine_is_not_waited_for(node: Any) -> None:
    assert 0.5 < wait_s(node, 20, lambda: IDLE) < 5


def test_engine_gets_the_time_to_finish_its_requests(node: Any) -> None:
    began = time.monotonic()
    assert wait_s(node, 20, lambda: BUSY if time.monotonic() - began < 1.5 else IDLE) > 2.0


def test_engine_that_stays_busy_or_silent_gets_its_grace_and_no_more(node: Any) -> None:
    assert 2 <= wait_s(node, 2, lambda: BUSY) < 5
    assert 2 <= wait_s(node, 2, lambda: None) < 5


def test_engine_that_ends_by_itself_is_not_waited_for(node: Any) -> None:
    node.process.kill()
    node.process.wait()
    assert wait_s(node, 20, lambda: BUSY) < 2


def test_engine_without_requests_to_finish_is_not_even_looked_at(node: Any) -> None:
    looks: list[None] = []
    wait_s(node, 0, lambda: looks.append(None))
    assert looks == []


def test_no_proof_in_a_hurry(node: Any) -> None:
    node.process.kill()
    node.process.wait()
    node.faults = lambda: ["GPU 0 is held"]
    assert node.clear(0, lambda: True) == []
