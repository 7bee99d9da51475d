"""What lies on a node's PCI bus, as far as GPUs go. Pure: values in, values out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NVIDIA = 0x10DE
DISPLAY, BRIDGE = 0x03, 0x06


@dataclass(frozen=True)
class Device:
    """One device, by the numbers that the kernel shows."""

    vendor: int
    kind: int


@dataclass(frozen=True)
class Board:
    """What NVIDIA's devices on the bus amount to."""

    gpus: int = 0
    nvswitches: int = 0


def parse_device(vendor: str, kind: str) -> Device:
    """Read the files ``vendor`` and ``class`` of a device in /sys/bus/pci/devices."""
    return Device(int(vendor, 16), int(kind, 16) >> 16)


def count(devices: Iterable[Device]) -> Board:
    """Count NVIDIA's GPUs and NVSwitches; its other devices, such as sound, are neither."""
    kinds = [device.kind for device in devices if device.vendor == NVIDIA]
    return Board(kinds.count(DISPLAY), kinds.count(BRIDGE))
