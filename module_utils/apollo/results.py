"""The files of a run under results/, as every module on the controller reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import journal
from ansible.module_utils.apollo.bench_rows import Sweep, read_rows
from ansible.module_utils.apollo.judge_noise import NoiseFloor, read_noise

MANIFEST, JOURNAL = "manifest.json", "journal.jsonl"


class RunError(ValueError):
    """A file of a run that cannot be read, with what can be done about it."""


@dataclass(frozen=True)
class Run:
    """What a run measures, and what came of it so far."""

    manifest: Mapping[str, Any]
    events: Sequence[journal.Event]
    unreadable: str = ""  # what of its journal was left out

    @property
    def sweeps(self) -> list[Sweep]:
        return read_rows(self.manifest, self.events)


def read_journal(folder: Path) -> journal.Journal:
    """Give what stands there so far. Bytes that are no text spoil their own line only."""
    path = folder / JOURNAL
    return journal.read(path.read_text(encoding="utf-8", errors="replace") if path.exists() else "")


def read_manifest(folder: Path) -> dict[str, Any]:
    """Give the manifest of a run, empty before it was opened; RunError for one that is none."""
    path = folder / MANIFEST
    if not path.exists():
        return {}
    fault = manifest_fault(path.read_bytes())
    if fault:
        raise RunError(
            f"{path}: {fault}: put a good copy in its place, or move {folder.name} away, and it is measured anew"
        )
    return dict(json.loads(path.read_bytes()))


def manifest_fault(content: bytes) -> str:
    """Say why this is no manifest; empty where it is one."""
    try:
        document = json.loads(content)
    except ValueError as error:
        return "is empty" if not content.strip() else f"is no JSON ({error})"
    sweeps = document.get("sweeps", []) if isinstance(document, dict) else None
    if not isinstance(sweeps, list):
        return "is no manifest of a run"
    return "" if all(map(_is_sweep, sweeps)) else "has a sweep without id, layout, settings or points"


def _is_sweep(about: Any) -> bool:
    parts = {"id": str, "layout": dict, "settings": dict, "points": list}
    if not isinstance(about, dict) or not all(isinstance(about.get(name), kind) for name, kind in parts.items()):
        return False
    points = [*about["points"], *about.get("alone_points", [])]
    numbered = all(isinstance(point, dict) and {"hash", "concurrency"} <= set(point) for point in points)
    return numbered and {"plan", "endpoints", "engines", "models"} <= set(about["layout"])


def read_run(folder: Path) -> Run:
    """Read a run that was opened; RunError in one line for what is none."""
    manifest, told = read_manifest(folder), read_journal(folder)
    if not manifest:
        raise RunError(f"{folder} holds no run, it has no {MANIFEST}: name a directory under results/")
    lost = f"{folder / JOURNAL}: {told.torn_lines} line(s) cannot be read, what they held counts as not measured"
    return Run(manifest, told.events, lost if told.torn_lines else "")


def read_floors(path: str | None) -> list[NoiseFloor]:
    """The noise floors of this machine, where any were measured."""
    return read_noise(read_floor_file(Path(path)), path) if path and Path(path).exists() else []


def read_floor_file(path: Path) -> list[Any]:
    """Every entry of the file of noise floors; none where there is no file."""
    try:
        known = json.loads(path.read_bytes()) if path.exists() else []
    except ValueError as error:
        raise RunError(f"{path}: is no JSON ({error}): move it away, and measure the noise floor anew") from error
    return known if isinstance(known, list) else [known]
