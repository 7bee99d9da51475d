"""The boot-time program ib-ready: it waits for port, subnet manager, address and peers, up to a limit."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from ansible.module_utils.apollo import fabric

IBSTAT = (
    "CA 'ibp1'\n\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 100\n\t\tLink layer: InfiniBand\n"
)
SMINFO = "sminfo: sm lid 1 sm guid 0x1, activity count 7 priority 14 state 3 SMINFO_MASTER"
ADDRESSES = json.dumps([{"ifname": "ib0", "mtu": 4092, "addr_info": [{"local": "10.0.0.1", "prefixlen": 30}]}])

Put = Callable[[str, str], None]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def program(name: str, script: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    program("ibstat", f'echo "{IBSTAT}"')
    program("sminfo", f"echo '{SMINFO}'")
    program("ip", f"echo '{ADDRESSES}'")
    program("ping", "exit 0")
    return program


@pytest.fixture
def ready(project: Path, put: Put, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Load the program as it runs on a node, with its parser beside it."""
    del put
    monkeypatch.setitem(sys.modules, "fabric", fabric)
    spec = importlib.util.spec_from_file_location("ib_ready_program", project / "roles/fabric/files/ib_ready.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "INTERVAL_S", 0.05)
    words = ["--interface", "ib0", "--address", "10.0.0.1/30", "--rate", "100", "--peer", "10.0.0.2", "--timeout", "1"]
    monkeypatch.setattr(sys, "argv", ["ib-ready", *words])
    return module


def test_fabric_that_carries_traffic_ends_at_once(ready: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert ready.main() == 0
    assert capsys.readouterr().out == "ib0 has 10.0.0.1/30, 1 peer(s) answer\n"


def test_peer_that_comes_late_is_waited_for(ready: ModuleType, put: Put, tmp_path: Path) -> None:
    put("ping", f"echo x >>{tmp_path}/calls; [ $(wc -l <{tmp_path}/calls) -gt 2 ]")
    assert ready.main() == 0
    assert (tmp_path / "calls").read_text() == "x\n" * 3


@pytest.mark.parametrize(
    ("program", "script", "told"),
    [
        ("ping", "exit 1", "peer 10.0.0.2 gives no answer"),
        ("sminfo", "exit 1", "no subnet manager answers"),
        ("ibstat", f'echo "{IBSTAT.replace("Rate: 100", "Rate: 50")}"', "runs at 50 Gb/s, 100 expected"),
        ("ip", "echo '[]'", "interface ib0 is not there"),
    ],
)
def test_fabric_without_a_part_ends_at_the_limit_and_names_it(
    ready: ModuleType, put: Put, capsys: pytest.CaptureFixture[str], program: str, script: str, told: str
) -> None:
    put(program, script)
    assert ready.main() == 1
    assert told in capsys.readouterr().err
