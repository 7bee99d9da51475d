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


@dataclass(frozen=True)
class Run:
    """What a run measures, and what came of it so far."""

    manifest: Mapping[str, Any]
    events: Sequence[journal.Event]

    @property
    def sweeps(self) -> list[Sweep]:
        return read_rows(self.manifest, self.events)


def read_events(folder: Path) -> Sequence[journal.Event]:
    """Give the events so far; none before the first."""
    lines = folder / JOURNAL
    return journal.read(lines.read_text(encoding="utf-8") if lines.exists() else "").events


def read_run(folder: Path) -> Run:
    """Read a run that was opened; OSError without a manifest, ValueError for one that is no JSON."""
    return Run(json.loads((folder / MANIFEST).read_text(encoding="utf-8")), read_events(folder))


def read_floors(path: str | None) -> list[NoiseFloor]:
    """The noise floors of this machine, where any were measured."""
    if not path or not Path(path).exists():
        return []
    return read_noise(json.loads(Path(path).read_text(encoding="utf-8")), path)
