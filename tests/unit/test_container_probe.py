"""The module container_probe over a docker that answers like the real one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import probe

RunModule = Callable[..., dict[str, Any]]
Put = Callable[[str, str], None]

ASKED = {"image": "i", "command": ["count"], "wanted": "4"}


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Give a docker whose containers see four GPUs, and a log of what was asked of it."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def program(name: str, script: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\necho $0 $* | sed s,.*/,, >>{tmp_path}/log\n{script}\n")
        (tmp_path / name).chmod(0o755)

    program("docker", "[ $1 = exec ] && { echo warning; echo 4; } ; exit 0")
    program("systemctl", "exit 0")
    return program


@pytest.mark.usefixtures("put")
def test_container_that_keeps_its_gpus_has_no_fault_and_leaves_nothing(run_module: RunModule, tmp_path: Path) -> None:
    for _ in range(2):
        (tmp_path / "log").unlink(missing_ok=True)
        result = run_module("container_probe", **ASKED)
        assert (result["failed"], result["changed"], result["faults"]) == (False, False, [])
        verbs = [" ".join(line.split()[:2]) for line in (tmp_path / "log").read_text().splitlines()]
        assert verbs == [
            "docker rm",
            "docker run",
            "docker exec",
            "systemctl daemon-reload",
            "docker exec",
            "docker rm",
        ]


@pytest.mark.usefixtures("put")
def test_check_mode_starts_nothing(run_module: RunModule, tmp_path: Path) -> None:
    result = run_module("container_probe", check=True, **ASKED)
    assert (result["changed"], result["faults"], result["first"]) == (False, [], None)
    assert not (tmp_path / "log").exists()


def test_gpus_lost_by_a_reload_are_a_fault(run_module: RunModule, put: Put, tmp_path: Path) -> None:
    put("docker", f"[ $1 = exec ] || exit 0; grep -q daemon-reload {tmp_path}/log && exit 1; echo 4")
    assert run_module("container_probe", **ASKED)["faults"][0].startswith("after `systemctl daemon-reload`")


def test_cuda_that_fails_names_its_last_words(run_module: RunModule, put: Put) -> None:
    put("docker", "[ $1 = exec ] || exit 0; echo RuntimeError: CUDA unknown error >&2; exit 1")
    assert "says RuntimeError: CUDA unknown error, 4 expected" in run_module("container_probe", **ASKED)["faults"][0]


def test_container_that_does_not_start_is_told_and_removed(run_module: RunModule, put: Put, tmp_path: Path) -> None:
    put("docker", "[ $1 = run ] && { echo unknown runtime >&2; exit 125; }; exit 0")
    result = run_module("container_probe", **ASKED)
    assert "no container with GPUs starts (unknown runtime)" in result["faults"][0]
    assert (tmp_path / "log").read_text().splitlines()[-1].startswith("docker rm")


def test_no_answer_is_no_pass() -> None:
    assert probe.faults(probe.Probe(), "4")
    assert probe.faults(probe.Probe(start=probe.Answer(0, "id")), "4")
    assert probe.faults(probe.Probe(start=probe.Answer(0, "id"), first=probe.Answer(0, "4")), "4")
