"""GPUs are freed of what is ours; everything else is named and left alone."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

gpu_release = importlib.import_module("gpu_release")

RunModule = Callable[..., dict[str, Any]]
ROW = "{0}, GPU-{0}, NVIDIA A100-SXM4-40GB, 00000000:0{0}:00.0, 40960, {1}, Enabled, 580.173.02, 0"
OURS, THEIRS = "ab" * 32, "cd" * 32
SMI = """
case $1 in
  --query-gpu*) cat $D/gpus ;;
  --query-compute*) cat $D/processes ;;
  --gpu-reset) [ -e $D/refuses ] && { echo 'in use by another client'; exit 19; }; cp $D/free $D/gpus ;;
esac
"""
DOCKER = """
case $1 in ps) cat $D/containers ;; rm) echo $3 >>$D/removed; : >$D/processes; cp $D/free $D/gpus ;; esac
"""
QUICK = {"timeout_s": 0}


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node with two free GPUs; its files say what nvidia-smi and docker answer."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("D", str(tmp_path))
    monkeypatch.setattr(gpu_release, "PROC", tmp_path / "proc")
    for name, script in {"nvidia-smi": SMI, "docker": DOCKER, "systemctl": "echo $* >>$D/units"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    for name in ("gpus", "free"):
        (tmp_path / name).write_text(f"{ROW.format(0, 3)}\n{ROW.format(1, 3)}\n")
    for name in ("processes", "containers"):
        (tmp_path / name).write_text("")
    return tmp_path


def hold(node: Path, cgroup: str, pid: int = 77) -> None:
    """Have a process of this control group hold memory of GPU 1."""
    (node / "processes").write_text(f"{pid}, VLLM::Worker, GPU-1, 900\n")
    (node / "proc" / str(pid)).mkdir(parents=True)
    (node / "proc" / str(pid) / "cgroup").write_text(f"0::{cgroup}\n")


def leak(node: Path) -> None:
    (node / "gpus").write_text(f"{ROW.format(0, 3)}\n{ROW.format(1, 9000)}\n")


@pytest.mark.parametrize("check", [False, True])
def test_free_gpus_are_left_alone(run_module: RunModule, node: Path, check: bool) -> None:
    for _ in range(2):
        result = run_module("gpu_release", check=check, **QUICK)
        assert (result["failed"], result["changed"], result["faults"]) == (False, False, [])


def test_bare_node_has_nothing_to_free(run_module: RunModule, node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert run_module("gpu_release")["present"] is False


def test_container_of_ours_is_removed(run_module: RunModule, node: Path) -> None:
    hold(node, f"/docker/{OURS}")
    (node / "containers").write_text(OURS)
    result = run_module("gpu_release", **QUICK)
    assert (result["failed"], result["changed"]) == (False, True)
    assert [(holder["pid"], holder["gpus"]) for holder in result["freed"]] == [(77, [1])]
    assert (node / "removed").read_text().strip() == OURS
    assert run_module("gpu_release", **QUICK)["changed"] is False


def test_check_mode_says_what_it_would_free(run_module: RunModule, node: Path) -> None:
    hold(node, f"/docker/{OURS}")
    (node / "containers").write_text(OURS)
    result = run_module("gpu_release", check=True, **QUICK)
    assert (result["failed"], result["changed"], len(result["freed"])) == (False, True, 1)
    assert not (node / "removed").exists()


def test_process_of_our_unit_is_ended(run_module: RunModule, node: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hold(node, "/system.slice/vllm-27b-0.service")
    sent = []

    def send(pids: list[int], number: int) -> None:
        sent.append((pids, int(number)))
        (node / "proc" / "77" / "cgroup").unlink(missing_ok=True)
        if (node / "proc" / "77").exists():
            (node / "proc" / "77").rmdir()
        (node / "processes").write_text("")

    monkeypatch.setattr(gpu_release, "send", send)
    assert run_module("gpu_release", **QUICK)["changed"] is True
    assert sent[0] == ([77], 15)


def test_container_to_keep_is_no_holder(run_module: RunModule, node: Path) -> None:
    hold(node, f"/docker/{OURS}")
    (node / "containers").write_text(OURS)
    assert run_module("gpu_release", keep=[OURS[:12]], **QUICK)["changed"] is False


@pytest.mark.parametrize(
    ("cgroup", "place"), [(f"/docker/{THEIRS}", f"container {THEIRS[:12]}"), ("/user.slice/x.service", "unit x")]
)
def test_foreign_holder_is_named_and_left_alone(run_module: RunModule, node: Path, cgroup: str, place: str) -> None:
    hold(node, cgroup)
    (node / "containers").write_text(OURS)
    result = run_module("gpu_release", reset=True, **QUICK)
    assert result["failed"]
    assert f"process 77 (VLLM::Worker, {place}) holds 900 MiB of GPU 1 and is not ours" in result["msg"]
    assert (result["changed"], result["freed"]) == (False, [])
    assert not (node / "removed").exists()
    assert not (node / "units").exists()


def test_memory_without_a_process_says_what_is_allowed_and_what_is_left(run_module: RunModule, node: Path) -> None:
    leak(node)
    result = run_module("gpu_release", **QUICK)
    assert result["msg"] == (
        "GPU 1 holds 9000 MiB without a process, 500 allowed: allow a reset with vllm_server_gpu_reset=true, or "
        "reboot the node"
    )
    assert (result["reset"], result["reboot_needed"]) == (False, True)


def test_allowed_reset_gives_memory_back(run_module: RunModule, node: Path) -> None:
    leak(node)
    assert run_module("gpu_release", check=True, reset=True, **QUICK)["changed"] is True
    assert not (node / "units").exists()
    result = run_module("gpu_release", reset=True, **QUICK)
    assert (result["failed"], result["changed"], result["reset"], result["reboot_needed"]) == (False, True, True, False)
    assert (node / "units").read_text() == "stop nvidia-persistenced.service\nstart nvidia-persistenced.service\n"


def test_refused_reset_needs_a_reboot_and_says_so(run_module: RunModule, node: Path) -> None:
    leak(node)
    (node / "refuses").touch()
    result = run_module("gpu_release", reset=True, **QUICK)
    assert "its reset failed (in use by another client): reboot the node" in result["msg"]
    assert result["reboot_needed"]
