"""ibstat, sminfo, ibv_devinfo and friends over one simulated port."""

import hashlib
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .state import read_state

DEVICE = "ibp65s0"


@dataclass(frozen=True)
class Port:
    """One InfiniBand port as the tools report it."""

    guid: str
    node_guid: str
    state: str
    physical_state: str
    rate_gbits: int
    lid: int
    sm_lid: int


def opensm_runs(proc: Path = Path("/proc")) -> bool:
    """Say whether a subnet manager runs on this node."""
    for folder in proc.iterdir():
        try:
            if folder.name.isdecimal() and (folder / "comm").read_text().strip() == "opensm":
                return True
        except OSError:
            continue
    return False


def read_port(state: dict[str, Any], sm_here: bool, host: str) -> Port:
    """Work out the port: without a subnet manager on the cable it stays in Initializing."""
    wanted = state["infiniband"]
    sm = sm_here or bool(wanted["remote_sm"])
    up = wanted["physical_state"] == "LinkUp"
    automatic = ("Active" if sm else "Initializing") if up else "Down"
    port_state = automatic if wanted["state"] == "auto" else str(wanted["state"])
    number = int(hashlib.sha256(host.encode()).hexdigest()[:4], 16)
    active = port_state == "Active"
    return Port(
        guid=f"0xb8599f030000{number:04x}",
        node_guid=f"0xb8599f031000{number:04x}",
        state=port_state,
        physical_state=str(wanted["physical_state"]),
        rate_gbits=int(wanted["rate_gbits"]) if up else 10,
        lid=(number % 2000) + 1 if active else 0,
        sm_lid=(number % 2000) + 1 if active else 0,
    )


def this_port() -> Port:
    """Read the port of this node."""
    return read_port(read_state(), opensm_runs(), socket.gethostname())


def ibstat_lines(port: Port) -> list[str]:
    """Answer ibstat."""
    return [
        f"CA '{DEVICE}'",
        "\tCA type: MT4123",
        "\tNumber of ports: 1",
        "\tFirmware version: 20.39.3004",
        "\tHardware version: 0",
        f"\tNode GUID: {port.node_guid}",
        f"\tSystem image GUID: {port.node_guid}",
        "\tPort 1:",
        f"\t\tState: {port.state}",
        f"\t\tPhysical state: {port.physical_state}",
        f"\t\tRate: {port.rate_gbits}",
        f"\t\tBase lid: {port.lid}",
        "\t\tLMC: 0",
        f"\t\tSM lid: {port.sm_lid}",
        "\t\tCapability mask: 0xa651e84a",
        f"\t\tPort GUID: {port.guid}",
        "\t\tLink layer: InfiniBand",
    ]


def ibstat() -> int:
    """Run ibstat with -l, -p or nothing."""
    port = this_port()
    if "-l" in sys.argv or "--list_of_cas" in sys.argv:
        print(DEVICE)
    elif "-p" in sys.argv or "--port_list" in sys.argv:
        print(port.guid)
    else:
        print("\n".join(ibstat_lines(port)))
    return 0


def sminfo() -> int:
    """Run sminfo: who the master is, or the error of a fabric without one."""
    port = this_port()
    if not port.sm_lid:
        print("ibwarn: [1] _do_madrpc: recv failed: Connection timed out", file=sys.stderr)
        print("sminfo: iberror: failed: query", file=sys.stderr)
        return 1
    text = f"sminfo: sm lid {port.sm_lid} sm guid {port.guid}, activity count 100 priority 14 state 3 SMINFO_MASTER"
    print(text)
    return 0


def ibv_devinfo() -> int:
    """Run ibv_devinfo."""
    port = this_port()
    number = {"Active": 4, "Initializing": 2}.get(port.state, 1)
    name = {"Active": "PORT_ACTIVE", "Initializing": "PORT_INIT"}.get(port.state, "PORT_DOWN")
    print(f"hca_id:\t{DEVICE}\n\ttransport:\t\t\tInfiniBand (0)\n\tphys_port_cnt:\t\t\t1")
    print(f"\t\tport:\t1\n\t\t\tstate:\t\t\t{name} ({number})\n\t\t\tlink_layer:\t\tInfiniBand")
    return 0


def ibv_devices() -> int:
    """Run ibv_devices."""
    print(f"    device          \t   node GUID\n    ------          \t----------------\n    {DEVICE}")
    return 0
