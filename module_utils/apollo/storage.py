"""What a named device holds, and whether it may become a volume of ours. Pure: text in, verdicts out.

Only a device without a trace of anybody's data is ever prepared; what carries our label is mounted as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MOUNTED, MOUNT, PREPARE, REFUSE = "mounted", "mount", "prepare", "refuse"
LABEL_LENGTH = 12
_STEPS = {MOUNTED: "mounted", MOUNT: "not mounted", PREPARE: "without a filesystem", REFUSE: "refused"}


@dataclass(frozen=True)
class Signature:
    """A trace of data that blkid's library knows: a filesystem, a partition table, a member of something."""

    kind: str
    label: str = ""


@dataclass(frozen=True)
class Device:
    """One block device; signatures are None where they could not be read."""

    exists: bool = False
    is_block: bool = False
    size_bytes: int | None = None
    mounted_at: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    signatures: tuple[Signature, ...] | None = None


@dataclass(frozen=True)
class Volume:
    """What the operator wants: this device at this path."""

    path: str
    device: str
    filesystem: str


@dataclass(frozen=True)
class Verdict:
    """The next step for one volume, and why not where it is refused."""

    step: str
    reason: str = ""


def label_of(path: str) -> str:
    """Give the label by which a volume is known again; XFS takes twelve letters."""
    return f"apollo{path.rstrip('/').replace('/', '-')}"[:LABEL_LENGTH]


def parse_signatures(text: str) -> tuple[Signature, ...]:
    """Read ``wipefs --no-act --json``."""
    found = json.loads(text)["signatures"] if text.strip() else []
    return tuple(Signature(entry["type"], entry.get("label") or "") for entry in found)


def parse_tree(text: str) -> tuple[int | None, tuple[str, ...], tuple[str, ...]]:
    """Read ``lsblk --json --bytes --paths``: a device's size, where it is mounted, and what is built upon it."""
    roots = json.loads(text)["blockdevices"] if text.strip() else []
    if not roots:
        return None, (), ()
    mounts = tuple(point for point in roots[0].get("mountpoints") or [] if point)
    return roots[0].get("size"), mounts, tuple(child["name"] for child in _children(roots[0]))


def judge(device: Device, volume: Volume) -> Verdict:
    """Give the next step from what the device holds to a mounted volume."""
    if not device.exists:
        return _refuse(volume, "does not exist, a block device expected: see `ls -l /dev/disk/by-id`, correct")
    if not device.is_block:
        return _refuse(volume, "is no block device, one expected: correct")
    if volume.path in device.mounted_at:
        return Verdict(MOUNTED)
    if device.mounted_at:
        return _refuse(
            volume, f"is mounted at {', '.join(device.mounted_at)}, {volume.path} wanted: unmount it or correct"
        )
    if device.parts:
        return _refuse(
            volume, f"carries {', '.join(device.parts)}, an empty device expected: name one of these or another in"
        )
    if device.signatures is None:
        return _refuse(volume, "cannot be read, an empty device expected: see `journalctl -k`, correct")
    return _by_content(device.signatures, volume)


def _by_content(signatures: tuple[Signature, ...], volume: Volume) -> Verdict:
    label = label_of(volume.path)
    if not signatures:
        return Verdict(PREPARE)
    if signatures == (Signature(volume.filesystem, label),):
        return Verdict(MOUNT)
    held = ", ".join(_described(signature) for signature in signatures)
    return _refuse(
        volume,
        f"holds {held}, an empty device or {volume.filesystem} with label {label} expected: nothing is erased, "
        "label it, wipe it by hand (wipefs), or name another device in",
    )


def line(volumes: Iterable[Mapping[str, Any]]) -> str:
    """Tell in one line where the volumes are, as the module reports them."""
    told = [
        f"{entry['path']} {_size(entry['size_bytes'])} {entry['filesystem']} {_STEPS[entry['step']]}"
        for entry in volumes
    ]
    return ", ".join(told) or "no volume named"


def _size(size_bytes: int | None) -> str:
    return "of unknown size" if size_bytes is None else f"{size_bytes / 1e9:.1f} GB"


def doubles(volumes: tuple[Volume, ...]) -> list[str]:
    """Name devices and paths that are asked for twice."""
    found = []
    for what, values in (("path", [entry.path for entry in volumes]), ("device", [entry.device for entry in volumes])):
        twice = sorted({value for value in values if values.count(value) > 1})
        found += [f"{what} {value} stands twice in storage_volumes, once expected: correct it" for value in twice]
    labels = [label_of(entry.path) for entry in volumes]
    if len(set(labels)) < len(labels) and not found:
        found.append(
            f"two paths in storage_volumes share the label {max(labels, key=labels.count)}: shorten one of them"
        )
    return found


def _refuse(volume: Volume, why: str) -> Verdict:
    return Verdict(REFUSE, f"device {volume.device} for {volume.path} {why} storage_volumes")


def _described(signature: Signature) -> str:
    return f"{signature.kind} ({signature.label})" if signature.label else signature.kind


def _children(entry: dict[str, Any]) -> list[dict[str, Any]]:
    own = entry.get("children") or []
    return [*own, *(deeper for child in own for deeper in _children(child))]
