"""What a server's settings cost in speed, as advice: nothing here keeps a node from serving. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

PERFORMANCE = "performance"
_BRIDGE = re.compile(r"^\S+ .*bridge", re.IGNORECASE)
_REDIRECTS = re.compile(r"\s+ACSCtl:\s.*SrcValid\+")


@dataclass(frozen=True)
class Host:
    """What was read; None is what the kernel does not tell."""

    governors: tuple[str, ...] | None = None
    iommu_units: int | None = None
    iommu_passthrough: bool = False
    acs_bridges: int | None = None
    memlock_kib: int | None = None


def count_acs(text: str) -> int:
    """Count the bridges in ``lspci -vvv`` that send peer-to-peer traffic the long way."""
    blocks = re.split(r"\n(?=\S)", text)
    return sum(bool(_BRIDGE.match(block) and _REDIRECTS.search(block)) for block in blocks)


def passes_through(command_line: str) -> bool:
    """Say whether the kernel was told to leave the devices' addresses alone."""
    words = command_line.split()
    return bool({"iommu=pt", "iommu.passthrough=1", "amd_iommu=off", "intel_iommu=off"} & set(words))


def unique(values: Iterable[str]) -> tuple[str, ...] | None:
    """Give the different values in order; None where there is none."""
    return tuple(sorted(set(values))) or None


def line(host: Host) -> str:
    """Tell in one line what is so; what the kernel does not tell is said to be unknown."""
    governor = ", ".join(host.governors) if host.governors else "unknown"
    iommu = "unknown" if host.iommu_units is None else _iommu(host)
    bridges = "unknown" if host.acs_bridges is None else f"redirects on {host.acs_bridges} bridges"
    memory = "unlimited" if host.memlock_kib is None else f"{host.memlock_kib} KiB"
    return f"CPU governor {governor}, IOMMU {iommu}, ACS {bridges}, locked memory {memory}"


def _iommu(host: Host) -> str:
    if not host.iommu_units:
        return "off"
    return "passes through" if host.iommu_passthrough else "translates"


def advice(host: Host) -> list[str]:
    """List what costs speed, a line each with value, limit and remedy."""
    found = []
    slow = [name for name in host.governors or () if name != PERFORMANCE]
    if slow:
        found.append(f"CPU governor is {', '.join(slow)}, {PERFORMANCE} advised: choose it in the firmware's profile")
    if host.iommu_units and not host.iommu_passthrough:
        found.append(
            f"{host.iommu_units} IOMMU units translate, pass-through advised: add iommu=pt to the kernel's command "
            "line, or switch the IOMMU off in the firmware"
        )
    if host.acs_bridges:
        found.append(
            f"{host.acs_bridges} PCI bridges redirect peer-to-peer traffic (ACS), none advised: switch ACS off in the "
            "firmware, or collectives may be slow or hang"
        )
    if host.memlock_kib is not None:
        found.append(f"sessions may lock {host.memlock_kib} KiB of memory, unlimited advised: see platform_limits")
    return found
