"""The module storage_info over tools that answer like the real ones."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

storage_info = importlib.import_module("storage_info")

RunModule = Callable[..., dict[str, Any]]
TREE = '{"blockdevices": [{"name": "/dev/x", "type": "disk", "size": 5, "mountpoints": [null]}]}'
FOREIGN = '{"signatures": [{"type": "ext4", "label": "home"}]}'


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, str]]:
    """Give a device that holds this, as the tools tell it, and the volume that names it."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(storage_info.stat, "S_ISBLK", lambda _: True)
    (tmp_path / "device").touch()

    def make(signatures: str) -> dict[str, str]:
        for name, text in (("lsblk", TREE), ("wipefs", signatures)):
            (tmp_path / name).write_text(f"#!/bin/sh\necho '{text}'\n")
            (tmp_path / name).chmod(0o755)
        return {"path": "/models", "device": str(tmp_path / "device")}

    return make


@pytest.mark.parametrize("check", [False, True])
def test_empty_device_is_to_be_prepared(
    run_module: RunModule, disk: Callable[[str], dict[str, str]], check: bool
) -> None:
    for _ in range(2):
        result = run_module("storage_info", check=check, volumes=[disk("")])
        assert (result["failed"], result["changed"], result["faults"]) == (False, False, [])
        assert (result["volumes"][0]["step"], result["volumes"][0]["label"]) == ("prepare", "apollo-model")
        assert result["volumes"][0]["size_bytes"] == 5


def test_device_with_data_is_refused(run_module: RunModule, disk: Callable[[str], dict[str, str]]) -> None:
    assert "holds ext4 (home)" in run_module("storage_info", volumes=[disk(FOREIGN)])["faults"][0]


def test_device_that_cannot_be_read_is_refused(
    run_module: RunModule, disk: Callable[[str], dict[str, str]], tmp_path: Path
) -> None:
    volume = disk("")
    (tmp_path / "wipefs").write_text("#!/bin/sh\nexit 1\n")
    assert "cannot be read" in run_module("storage_info", volumes=[volume])["faults"][0]


def test_device_that_does_not_exist_is_refused(run_module: RunModule) -> None:
    result = run_module("storage_info", volumes=[{"path": "/models", "device": "/dev/disk/by-id/nvme-of-nobody"}])
    assert result["volumes"][0]["step"] == "refuse"
    assert "/dev/disk/by-id/nvme-of-nobody for /models does not exist" in result["faults"][0]


def test_plain_file_is_refused(run_module: RunModule, tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    result = run_module("storage_info", volumes=[{"path": "/models", "device": str(tmp_path / "plain")}])
    assert "is no block device" in result["faults"][0]
