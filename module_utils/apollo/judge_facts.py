"""Facts of a run: what was measured outside of its points, such as the fabric or how long an engine took to start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.apollo.bench_terms import TERMS

FACT = "fact"  # what the line's "event" says


@dataclass(frozen=True)
class Fact:
    """One value, of one subject such as a node or an engine; without a plan it is about the machine."""

    metric: str
    value: float | None
    subject: str
    plan: str | None = None


def read_facts(events: Iterable[Mapping[str, Any]]) -> list[Fact]:
    """All facts in the order in which they were noted; a fact without a number was tried, and not measured."""
    return [
        Fact(event["metric"], _number(event.get("value")), str(event.get("subject") or ""), event.get("plan"))
        for event in events
        if event.get("event") == FACT and event.get("metric") in TERMS
    ]


def repeats(facts: Iterable[Fact], subject: str | None) -> list[float]:
    """All values of one subject; none where the newest one could not be measured, whatever there was before."""
    values = [fact.value for fact in facts if fact.subject == subject]
    return [value for value in values if value is not None] if values and values[-1] is not None else []


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
