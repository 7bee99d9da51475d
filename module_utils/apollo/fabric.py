"""What the InfiniBand and network tools print, as values, and what is wrong with it. Pure: text in, values out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Interface
from typing import Any

INFINIBAND = "InfiniBand"

_DEVICE = re.compile(r"CA '(.+)'$")
_PORT = re.compile(r"Port (\d+):$")
_MANAGER = re.compile(r"sm lid (\d+) sm guid (0x[0-9a-f]+),.* priority (\d+) state (\d+) (\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class Port:
    """One port of an RDMA device, as ibstat shows it."""

    device: str
    port: int
    guid: str = ""
    state: str = ""
    physical_state: str = ""
    rate_gbps: float = 0
    base_lid: int = 0
    sm_lid: int = 0
    link_layer: str = ""


@dataclass(frozen=True)
class SubnetManager:
    """The subnet manager that answers, as sminfo shows it."""

    lid: int
    guid: str
    priority: int
    state: str


@dataclass(frozen=True)
class Interface:
    """A network interface as the kernel has it now; it has a mode only where it is an InfiniBand one."""

    name: str
    addresses: tuple[str, ...] = ()
    mtu: int = 0
    state: str = ""
    mode: str | None = None


@dataclass(frozen=True)
class Report:
    """All that was read from one node; None is what is not there."""

    port: Port | None = None
    subnet_manager: SubnetManager | None = None
    interface: Interface | None = None
    peers: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Expected:
    """What a node must show; None is not judged."""

    interface: str | None = None
    address: str | None = None
    rate_gbps: float | None = None
    mtu: int | None = None


def parse_ibstat(text: str) -> tuple[Port, ...]:
    """Read the ports of all devices from ``ibstat``."""
    ports: list[Port] = []
    device, values = "", {}
    for line in (line.strip() for line in text.splitlines()):
        if match := _DEVICE.match(line):
            device = match[1]
        elif match := _PORT.match(line):
            values = {"Port": match[1]}
            ports.append(_port(device, values))
        elif ": " in line and values and ports and ports[-1].device == device:
            name, value = line.split(": ", 1)
            values[name] = value
            ports[-1] = _port(device, values)
    return tuple(ports)


def parse_sminfo(text: str) -> SubnetManager | None:
    """Read ``sminfo``; None when no subnet manager answered."""
    match = _MANAGER.search(text)
    if match is None:
        return None
    lid, guid, priority, _, state = match.groups()
    return SubnetManager(int(lid), guid, int(priority), state)


def parse_interfaces(text: str) -> tuple[Interface, ...]:
    """Read ``ip -json address show``."""
    return tuple(_interface(entry) for entry in json.loads(text or "[]") if "ifname" in entry)


def find_interface(text: str, name: str, mode: str | None = None) -> Interface | None:
    """Find one interface in ``ip -json address show``; its mode is told in a file of its own."""
    found = next((found for found in parse_interfaces(text) if found.name == name), None)
    return replace(found, mode=mode) if found else None


def choose_port(ports: Sequence[Port], device: str = "") -> Port | None:
    """Give the port that carries the fabric: the named device's first InfiniBand port, else the best there is."""
    candidates = [port for port in ports if port.link_layer == INFINIBAND and device in ("", port.device)]
    order = sorted(candidates, key=lambda port: (port.physical_state != "LinkUp", port.device, port.port))
    return order[0] if order else None


def faults(report: Report, expected: Expected) -> list[str]:
    """List what is wrong, a line each with value, limit and remedy; an empty list means nothing."""
    interface = _interface_faults(report.interface, expected) + _packet_faults(report.interface, expected.mtu)
    return _port_faults(report, expected) + interface + _peer_faults(report.peers)


def address_faults(addresses: Mapping[str, str], node: str, network: str = "") -> list[str]:
    """Say what is wrong with one node's address among those of all; without a network the first node's counts."""
    try:
        own = IPv4Interface(addresses[node])
    except ValueError:
        own = IPv4Interface("0.0.0.0/32")
    if own.network.prefixlen == 32:
        return [
            f"fabric_address is {addresses[node]}, an IPv4 address with prefix length such as 10.77.0.1/30 expected: "
            "correct it in the inventory"
        ]
    twins = [name for name, address in addresses.items() if address.split("/")[0] == str(own.ip)]
    if len(twins) > 1:
        return [f"{own} is used by {' and '.join(twins)}, one address a node expected: correct fabric_address"]
    wanted = network or next(iter(addresses.values()))
    if own.network != IPv4Interface(wanted).network or own.ip in (own.network[0], own.network[-1]):
        shared = IPv4Interface(wanted).network
        return [
            f"{own} is no host's address in the fabric's network {shared}: correct fabric_address or fabric_network"
        ]
    return []


def _port(device: str, values: dict[str, str]) -> Port:
    return Port(
        device=device,
        port=int(values["Port"]),
        guid=values.get("Port GUID", ""),
        state=values.get("State", ""),
        physical_state=values.get("Physical state", ""),
        rate_gbps=_number(values.get("Rate", "")),
        base_lid=int(_number(values.get("Base lid", ""))),
        sm_lid=int(_number(values.get("SM lid", ""))),
        link_layer=values.get("Link layer", ""),
    )


def _number(text: str) -> float:
    match = re.match(r"\d+(\.\d+)?", text)
    return float(match[0]) if match else 0


def _interface(entry: dict[str, Any]) -> Interface:
    found = [(info.get("local"), info.get("prefixlen")) for info in entry.get("addr_info", [])]
    return Interface(
        name=entry["ifname"],
        addresses=tuple(f"{local}/{length}" for local, length in found if local),
        mtu=entry.get("mtu", 0),
        state=entry.get("operstate", ""),
    )


def _port_faults(report: Report, expected: Expected) -> list[str]:
    port, rate = report.port, expected.rate_gbps
    if rate is None:
        return []
    if port is None:
        return ["no InfiniBand port, one expected: see `ibstat`, seat the card, set its link type to InfiniBand"]
    where = f"port {port.port} of {port.device}"
    if port.physical_state != "LinkUp":
        return [f"{where} is physically {port.physical_state}, LinkUp expected: check the cable and the other node"]
    found = []
    if port.state != "Active" or report.subnet_manager is None:
        manager = "a" if report.subnet_manager else "no"
        found.append(
            f"{where} is {port.state} and {manager} subnet manager answers, Active with one expected: "
            "see `systemctl status opensm@*` on the nodes"
        )
    if port.rate_gbps < rate:
        found.append(f"{where} runs at {port.rate_gbps:g} Gb/s, {rate:g} expected: reseat or replace the cable")
    return found


def _interface_faults(interface: Interface | None, expected: Expected) -> list[str]:
    if expected.interface and interface is None:
        return [f"interface {expected.interface} is not there: see `ip link`, then correct fabric_interface"]
    if interface and expected.address and expected.address not in interface.addresses:
        real = ", ".join(interface.addresses) or "no address"
        return [f"interface {interface.name} has {real}, {expected.address} expected: see `networkctl status`"]
    return []


def _packet_faults(interface: Interface | None, mtu: int | None) -> list[str]:
    """Compare what was asked for with what is: the network service only warns when the card refuses either."""
    if interface is None or mtu is None:
        return []
    found = []
    if interface.mode != "datagram":
        found.append(
            f"interface {interface.name} is in mode {interface.mode or 'unknown'}, datagram expected: these cards know "
            "no other, see `ip -details link`"
        )
    if interface.mtu != mtu:
        found.append(
            f"interface {interface.name} has an MTU of {interface.mtu}, {mtu} expected: restart opensm on the nodes "
            "with the partition of this role, then reconfigure the interface"
        )
    return found


def _peer_faults(peers: dict[str, bool]) -> list[str]:
    return [
        f"peer {address} gives no answer over the fabric, one expected: see the fabric's state on that node"
        for address, answers in peers.items()
        if not answers
    ]
