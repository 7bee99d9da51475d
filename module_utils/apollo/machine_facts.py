"""What was measured outside of a run, as the journal keeps it: by whom, when, and null where it was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo.bench_terms import TERMS
from ansible.module_utils.apollo.judge_facts import FACT

Event = dict[str, Any]
WHICH = ("metric", "subject", "plan", "measured_s")  # what tells two facts apart


def fact(metric: str, subject: str, value: float | None, measured_s: float | None, made_with: str) -> Event:
    """One line of the journal. It names its tool, since the same word from another tool may mean something else."""
    about = {"event": FACT, "metric": metric, "subject": subject, "unit": TERMS[metric].unit}
    return {**about, "value": value, "measured_s": measured_s, "made_with": made_with}


def engine_start(state: Mapping[str, Any]) -> dict[str, float] | None:
    """How long the engine took to its first token, and when it had it, as its keeper tells; None while it has none."""
    took, since = state.get("load_s"), state.get("since")
    if not state.get("ready") or not isinstance(took, int | float) or not isinstance(since, int | float):
        return None
    return {"start_s": float(took), "ready_at_s": float(since)}


def engine_starts(records: Sequence[Mapping[str, Any]], plan: str) -> list[Event]:
    """The starts of the engines that these runs were made on."""
    made_with = "the engine's keeper: from the start of all ranks to the first token"
    return [
        {**fact("start_s", record["endpoint"], told["start_s"], told["ready_at_s"], made_with), "plan": plan}
        for record in records
        if (told := record.get("engine_start"))
    ]


def gpu_init(properties: Mapping[str, str], node: str) -> Event:
    """How long the boot-time unit waited for the GPUs, from systemd's own times; null where it has not ended well."""
    began, ended = (_count(properties, f"ExecMain{name}TimestampMonotonic") for name in ("Start", "Exit"))
    is_known = bool(began and ended) and properties.get("Result") == "success"
    value = round((ended - began) / 1e6, 3) if is_known else None
    measured_s = _count(properties, "ExecMainExitTimestamp") if is_known else None
    return fact("gpu_init_s", node, value, measured_s, "systemd: how long gpu-ready.service ran")


def accepted(told: Mapping[str, Any]) -> list[Event]:
    """What acceptance has left on the node; a metric that is no longer known is left out."""
    return [dict(each) for each in told.get("facts") or [] if each.get("metric") in TERMS and each.get("event") == FACT]


def news(known: Sequence[Mapping[str, Any]], events: Sequence[Event]) -> list[Event]:
    """The events without the facts that are noted already."""
    noted = [_which(event) for event in known if event.get("event") == FACT]
    return [event for event in events if event.get("event") != FACT or _which(event) not in noted]


def _which(event: Mapping[str, Any]) -> list[Any]:
    return [event.get(name) for name in WHICH]


def _count(properties: Mapping[str, str], name: str) -> int:
    text = properties.get(name, "").removeprefix("@")
    return int(text) if text.isdigit() else 0
