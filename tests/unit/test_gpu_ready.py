"""The boot-time program gpu-ready: it waits while waiting helps, and not a moment longer."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from ansible.module_utils.apollo import gpu, pci

ROW = "{0}, GPU-{0}, NVIDIA A100-SXM4-40GB, 00000000:0{0}:00.0, 40960, 0, Enabled, 580.173.02, 0"
LINKS = "GPU {0}: A100 (UUID: GPU-{0})\n" + "\t Link 0: 25 GB/s\n" * 12

Driver = Callable[[str, int], None]


@pytest.fixture
def program(project: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load the program as it runs on a node, with its parser beside it."""
    monkeypatch.setitem(sys.modules, "gpu", gpu)
    monkeypatch.setitem(sys.modules, "pci", pci)
    path = project / "roles/gpu_ready/files/gpu_ready.py"
    spec = importlib.util.spec_from_file_location("gpu_ready_program", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "INTERVAL_S", 0.05)
    monkeypatch.setattr(module, "DEVICES", project / "no-such-bus")
    monkeypatch.setattr(sys, "argv", ["gpu-ready", "--gpus", "4", "--nvlinks", "12", "--timeout", "1"])
    return module


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Install an nvidia-smi that shows ``text`` in its first calls, then four GPUs."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    rows = "\n".join(ROW.format(index) for index in range(4))
    links = "".join(LINKS.format(index) for index in range(4))

    def put(text: str, calls: int) -> None:
        smi = tmp_path / "nvidia-smi"
        smi.write_text(
            f"#!/bin/sh\nif [ $1 = nvlink ]; then echo '{links}'; exit; fi\n"
            f"echo x >>{tmp_path}/calls\n"
            f"[ $(wc -l <{tmp_path}/calls) -gt {calls} ] && {{ echo '{rows}'; exit; }}\necho \"{text}\"; exit 9\n"
        )
        smi.chmod(0o755)

    return put


def test_ready_node_ends_at_once(program: ModuleType, driver: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    driver("", 0)
    assert program.main() == 0
    assert capsys.readouterr().out == "4 GPUs with 12 NVLinks each are ready\n"


def test_slow_node_is_waited_for(program: ModuleType, driver: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    driver(ROW.format(0), 2)
    assert program.main() == 0
    assert capsys.readouterr().out.startswith("waiting: 1 GPUs answer, 4 expected")


def test_missing_gpu_ends_at_the_limit(program: ModuleType, driver: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    driver(ROW.format(0), 10**6)
    assert program.main() == 1
    assert capsys.readouterr().err.startswith("not ready within 1 s: 1 GPUs answer, 4 expected")


def test_version_mismatch_ends_at_once(program: ModuleType, driver: Driver, tmp_path: Path) -> None:
    driver(f"Failed to initialize NVML: {gpu.MISMATCH}", 10**6)
    assert program.main() == 1
    assert (tmp_path / "calls").read_text() == "x\n"


def test_kernel_without_the_module_ends_at_once(program: ModuleType, driver: Driver, tmp_path: Path) -> None:
    modinfo = tmp_path / "modinfo"
    modinfo.write_text("#!/bin/sh\nexit 1\n")
    modinfo.chmod(0o755)
    driver(f"NVIDIA-SMI has failed because it {gpu.UNREACHABLE}.", 10**6)
    assert program.main() == 1
    assert (tmp_path / "calls").read_text() == "x\n"


def test_missing_tool_ends_at_once(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program.main() == 1
    assert capsys.readouterr().err == "nvidia-smi is not installed: install the driver\n"
