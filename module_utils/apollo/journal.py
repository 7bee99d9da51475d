"""The append-only record of a run: one JSON document per line, readable after a kill in the middle of one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# Events: what the line's "event" says.
POINT_STARTED, RUN, POINT_ENDED, SKIPPED = "point_started", "run", "point_ended", "point_skipped"
SCHEMA = 1
# Without these a line says nothing that could be read.
NEEDED: Mapping[str, Mapping[str, type]] = {
    POINT_STARTED: {"hash": str},
    RUN: {"hash": str, "endpoint": str, "attempt": int, "status": str, "reasons": list, "figures": dict},
    "fact": {"metric": str},
    "overload": {"plan": str, "status": str, "offer": dict, "figures": dict},
}

Event = dict[str, Any]


@dataclass(frozen=True)
class Journal:
    """All whole lines, and how many were torn or damaged."""

    events: tuple[Event, ...]
    torn_lines: int


def encode(event: Mapping[str, Any]) -> str:
    """One line, without NaN or infinity: what is not a number is None."""
    return json.dumps(event, separators=(",", ":"), sort_keys=True, allow_nan=False) + "\n"


def read(text: str) -> Journal:
    """Read every whole line; one that a kill cut off, or that a disk has damaged, is counted and left out."""
    events, torn = [], 0
    for line in filter(str.strip, text.splitlines()):
        try:
            event = json.loads(line)
        except ValueError:
            torn += 1
            continue
        if is_whole(event):
            events.append(event)
        else:
            torn += 1
    return Journal(tuple(events), torn)


def is_whole(event: Any) -> bool:
    """Whether it says what happened, with all that whoever reads it takes for granted."""
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        return False
    return all(isinstance(event.get(name), kind) for name, kind in NEEDED.get(event["event"], {}).items())


def ends_torn(text: str) -> bool:
    """Whether the next line must first be set apart from a torn one."""
    return bool(text) and not text.endswith("\n")


def runs_of(events: Iterable[Event], point_hash: str) -> list[Event]:
    return [event for event in events if event["event"] == RUN and event.get("hash") == point_hash]


def next_attempt(events: Iterable[Event], point_hash: str) -> int:
    """Attempts of a point are counted from 1, whatever came of them."""
    return 1 + sum(event["event"] == POINT_STARTED and event.get("hash") == point_hash for event in events)


def merge_sweep(manifest: Mapping[str, Any], sweep: Mapping[str, Any]) -> dict[str, Any]:
    """Add a sweep to a run's manifest; a known one only gains the points that it did not have."""
    sweeps = [dict(known) for known in manifest.get("sweeps", [])]
    known = next((entry for entry in sweeps if entry["id"] == sweep["id"]), None)
    if known is None:
        return {**manifest, "sweeps": [*sweeps, dict(sweep)]}
    for kind in ("points", "alone_points"):
        had = {point["hash"] for point in known.get(kind, [])}
        known[kind] = [*known.get(kind, []), *(point for point in sweep.get(kind, []) if point["hash"] not in had)]
    return {**manifest, "sweeps": sweeps}
