"""Where the time of a turn went: load, warm-up, the engines' own start, measured idleness, and all the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from ansible.module_utils.apollo import journal

KNOWN = ("load_s", "warm_up_s", "server_start_s", "idle_s")
Spent = dict[str, float | None]


def spent(events: Sequence[journal.Event], ended: Mapping[str, Any], now_s: float) -> Spent:
    """The split of the turn that ends now. Without a load, or a beginning, nothing is known but the whole."""
    began = [e for e in events if e["event"] == journal.POINT_STARTED and e.get("hash") == ended["hash"]]
    runs = [run for run in journal.runs_of(events, ended["hash"]) if run.get("attempt") == ended.get("attempt")]
    loads = [
        (run["barrier_s"], run["load_ended_s"]) for run in runs if run.get("barrier_s") and run.get("load_ended_s")
    ]
    total = now_s - began[-1]["at_s"] if began else None
    if total is None or not loads:
        return {"total_s": total, **dict.fromkeys((*KNOWN, "outside_s"))}
    parts = {
        "load_s": max(end for _, end in loads) - min(start for start, _ in loads),
        "warm_up_s": max((run.get("warm_up_s") or 0.0 for run in runs), default=0.0),
        "server_start_s": _starts_since(runs, began[-1]["at_s"]),
        "idle_s": float(ended.get("idle_s") or 0.0),
    }
    whole = {"total_s": total, **parts, "outside_s": total - sum(parts.values())}
    return {name: round(value, 3) for name, value in whole.items()}


def _starts_since(runs: Sequence[Mapping[str, Any]], since_s: float) -> float:
    """The slowest start of this turn; engines that served before took none of its time."""
    told = [run["engine_start"] for run in runs if run.get("engine_start")]
    return max((start["start_s"] for start in told if start["ready_at_s"] > since_s), default=0.0)


def summary(events: Sequence[Mapping[str, Any]]) -> str:
    """One line on all turns of a run, for people who wait; empty where no turn has a split."""
    told = [event.get("spent") or {} for event in events if event["event"] == journal.POINT_ENDED]
    known = [each for each in told if each.get("outside_s") is not None]
    if not known:
        return ""
    load, warm, starts, idle = (sum(each[name] for each in known) for name in KNOWN)
    kinds = {
        "with a start of engines": [each["outside_s"] for each in known if each["server_start_s"]],
        "without": [each["outside_s"] for each in known if not each["server_start_s"]],
    }
    means = [f"{mean(values):.1f} s {kind} ({len(values)})" for kind, values in kinds.items() if values]
    return (
        f"{len(known)} runs: {load:.1f} s of load, {warm:.1f} s of warm-up, {starts:.1f} s of engines' starts, "
        f"{idle:.1f} s of idleness; outside of these on average {', '.join(means)}"
    )
