"""The module fabric_info over programs that answer like the real ones."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

fabric_info = importlib.import_module("fabric_info")

RunModule = Callable[..., dict[str, Any]]
Install = Callable[[str, str], None]

IBSTAT = """CA '{device}'
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 100
\t\tBase lid: 1
\t\tSM lid: 1
\t\tPort GUID: 0x000000000000000{number}
\t\tLink layer: InfiniBand
"""
SMINFO = "sminfo: sm lid 1 sm guid 0x1, activity count 7 priority 14 state 3 SMINFO_MASTER"
ADDRESSES = json.dumps([{"ifname": "ib0", "mtu": 4092, "addr_info": [{"local": "10.0.0.1", "prefixlen": 30}]}])
EXPECT = {"address": "10.0.0.1/30", "rate_gbps": 100}


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Give a node with one good port, whose programs a test may replace."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(fabric_info, "INTERFACES", tmp_path / "net")
    monkeypatch.setattr(fabric_info, "INTERVAL_S", 0.05)

    def put(name: str, script: str) -> None:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)

    put("ibstat", f'echo "{IBSTAT.format(device="mlx5_0", number=1)}"')
    put("sminfo", f"echo '{SMINFO}'")
    put("ip", f"echo '{ADDRESSES}'")
    put("ping", "exit 0")
    return put


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.usefixtures("install")
def test_healthy_fabric_is_reported_whole(run_module: RunModule, check: bool) -> None:
    for _ in range(2):
        result = run_module("fabric_info", check=check, interface="ib0", peers=["10.0.0.2"], expect=EXPECT)
        assert (result["failed"], result["changed"], result["faults"]) == (False, False, [])
        assert result["present"]
        assert result["port"]["guid"] == "0x0000000000000001"
        assert result["subnet_manager"]["priority"] == 14
        assert result["interface"] == {
            "name": "ib0",
            "addresses": ["10.0.0.1/30"],
            "mtu": 4092,
            "state": "",
            "mode": None,
        }
        assert result["peers"] == {"10.0.0.2": True}


def test_port_is_the_one_behind_the_interface(run_module: RunModule, install: Install, tmp_path: Path) -> None:
    both = IBSTAT.format(device="mlx5_0", number=1) + IBSTAT.format(device="mlx5_1", number=2)
    install("ibstat", f'echo "{both}"')
    (tmp_path / "net" / "ib0" / "device" / "infiniband" / "mlx5_1").mkdir(parents=True)
    assert run_module("fabric_info", interface="ib0")["port"]["device"] == "mlx5_1"
    assert run_module("fabric_info", interface="ib0", device="mlx5_0")["port"]["device"] == "mlx5_0"
    assert run_module("fabric_info")["port"]["device"] == "mlx5_0"


def test_mtu_and_mode_that_the_card_refused_are_faults(run_module: RunModule, install: Install, tmp_path: Path) -> None:
    (tmp_path / "net" / "ib0").mkdir(parents=True)
    (tmp_path / "net" / "ib0" / "mode").write_text("datagram\n")
    assert run_module("fabric_info", interface="ib0", expect={"mtu": 4092})["faults"] == []
    install("ip", f"echo '{ADDRESSES.replace('4092', '2044')}'")
    assert (
        "has an MTU of 2044, 4092 expected"
        in run_module("fabric_info", interface="ib0", expect={"mtu": 4092})["faults"][0]
    )
    (tmp_path / "net" / "ib0" / "mode").write_text("connected\n")
    assert "mode connected, datagram" in run_module("fabric_info", interface="ib0", expect={"mtu": 2044})["faults"][0]


def test_silent_peer_is_a_fault_and_no_failure(run_module: RunModule, install: Install) -> None:
    install("ping", "exit 1")
    result = run_module("fabric_info", peers=["10.0.0.2"])
    assert not result["failed"]
    assert result["faults"][0].startswith("peer 10.0.0.2 gives no answer")


def test_fabric_that_comes_up_late_is_waited_for(run_module: RunModule, install: Install, tmp_path: Path) -> None:
    install("ping", f"echo x >>{tmp_path}/calls; [ $(wc -l <{tmp_path}/calls) -gt 2 ]")
    result = run_module("fabric_info", peers=["10.0.0.2"], wait_s=30)
    assert result["faults"] == []
    assert (tmp_path / "calls").read_text() == "x\n" * 3


def test_waiting_ends_at_the_limit(run_module: RunModule, install: Install) -> None:
    install("ping", "exit 1")
    result = run_module("fabric_info", peers=["10.0.0.2"], wait_s=1)
    assert len(result["faults"]) == 1
    assert 0.5 < result["waited_s"] < 5


def test_missing_tools_are_no_failure(run_module: RunModule, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    del install
    monkeypatch.setattr(fabric_info.AnsibleModule, "get_bin_path", lambda *_: None)
    result = run_module("fabric_info", interface="ib0", expect=EXPECT)
    assert (result["failed"], result["present"], result["ports"], result["port"]) == (False, False, [], None)
    assert len(result["faults"]) == 2
