"""The module gpu_info over programs that answer like the real ones."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

gpu_info = importlib.import_module("gpu_info")

RunModule = Callable[..., dict[str, Any]]

ROW = "{0}, GPU-{0}, NVIDIA A100-SXM4-40GB, 00000000:0{0}:00.0, 40960, 0, Enabled, 580.173.02, 0"
LINKS = "GPU {0}: NVIDIA A100-SXM4-40GB (UUID: GPU-{0})\n" + "\t Link 0: 25 GB/s\n" * 12
CONTAINER = "ab" * 32

Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Give a folder that comes first in PATH, and put shell programs there."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(gpu_info, "LOADED_VERSION", tmp_path / "version")
    monkeypatch.setattr(gpu_info, "PROCESSES", tmp_path / "proc")
    monkeypatch.setattr(gpu_info, "DEVICES", tmp_path / "devices")

    def put(name: str, script: str) -> None:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    put("dpkg-query", "printf 'ii  580.173.02-0ubuntu0.24.04.1\\nun  \\n'")
    return put


@pytest.fixture
def smi(install: Install) -> Install:
    rows = "\n".join(ROW.format(index) for index in range(4))
    links = "".join(LINKS.format(index) for index in range(4))
    install(
        "nvidia-smi",
        f"case $1 in --query-gpu*) echo '{rows}' ;; nvlink) echo '{links}' ;; *) echo '7, VLLM::W, GPU-1, 900' ;; esac",
    )
    return install


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.usefixtures("smi")
def test_healthy_node_is_reported_whole(run_module: RunModule, check: bool) -> None:
    for _ in range(2):
        result = run_module("gpu_info", check=check, expect={"count": 4, "nvlinks": 12, "driver_branch": "580"})
        assert (result["failed"], result["changed"], result["faults"]) == (False, False, [])
        assert (result["present"], result["count"]) == (True, 4)
        assert result["gpus"][3]["bus_id"] == "00000000:03:00.0"
        assert result["nvlinks"]["0"] == {"active": 12, "inactive": 0}
        assert result["driver"] == {"version": "580.173.02", "loaded": "580.173.02", "userspace": "580.173.02"}


@pytest.mark.usefixtures("smi")
def test_process_is_traced_to_its_container(run_module: RunModule, tmp_path: Path) -> None:
    (tmp_path / "proc" / "7").mkdir(parents=True)
    (tmp_path / "proc" / "7" / "cgroup").write_text(f"0::/system.slice/docker-{CONTAINER}.scope\n")
    result = run_module("gpu_info", expect={"containers": [CONTAINER]})
    assert result["processes"] == [
        {"pid": 7, "name": "VLLM::W", "gpu_uuid": "GPU-1", "used_memory_mib": 900, "container": CONTAINER}
    ]
    assert result["faults"] == []


@pytest.mark.usefixtures("smi")
def test_foreign_process_is_a_fault_where_holders_are_judged(run_module: RunModule) -> None:
    assert "process 7" in run_module("gpu_info", expect={"containers": []})["faults"][0]
    assert run_module("gpu_info")["faults"] == []


@pytest.mark.usefixtures("smi")
def test_loaded_module_of_another_version_is_a_fault(run_module: RunModule, tmp_path: Path) -> None:
    (tmp_path / "version").write_text("580.95.05\n")
    result = run_module("gpu_info")
    assert result["faults"] == ["driver 580.95.05 is loaded, 580.173.02 is installed: reboot needed"]


def test_missing_tool_is_no_failure(run_module: RunModule, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("dpkg-query", "exit 1")
    monkeypatch.setattr(gpu_info.AnsibleModule, "get_bin_path", lambda *_: None)
    result = run_module("gpu_info", expect={"count": 4})
    assert (result["failed"], result["present"], result["gpus"]) == (False, False, [])
    assert result["faults"][0].startswith("0 GPUs answer (nvidia-smi is not installed), 4 expected")


def test_gpu_that_fell_off_the_bus_is_told_from_one_that_is_not_there(
    run_module: RunModule, install: Install, tmp_path: Path
) -> None:
    install("nvidia-smi", f"echo '{ROW.format(0)}'")
    assert "expected: look for Xid" in run_module("gpu_info", expect={"count": 2})["faults"][0]
    for index in range(2):
        (tmp_path / f"devices/{index}").mkdir(parents=True)
        (tmp_path / f"devices/{index}/vendor").write_text("0x10de\n")
        (tmp_path / f"devices/{index}/class").write_text("0x030200\n")
    result = run_module("gpu_info", expect={"count": 2, "on_bus": 4})
    assert result["on_bus"] == 2
    assert result["faults"][0].startswith("2 GPUs on the PCI bus, 4 expected")
    assert "1 GPUs answer, 2 expected, 2 are on the PCI bus" in result["faults"][1]


def test_tool_that_fails_is_an_answer(run_module: RunModule, install: Install) -> None:
    install("nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18")
    result = run_module("gpu_info", expect={"count": 4})
    assert (result["failed"], result["gpus"], result["processes"]) == (False, [], [])
    assert "reboot needed" in result["faults"][0]


def test_tool_that_hangs_ends_in_one_line(run_module: RunModule, install: Install) -> None:
    install("nvidia-smi", "sleep 5")
    result = run_module("gpu_info", timeout_s=1)
    assert result["failed"]
    assert result["msg"].startswith("nvidia-smi gave no answer within 1 s")
