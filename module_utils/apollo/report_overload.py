"""What came of asking the gateway for more than a plan carries: a sentence for each time, and the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.overload import EVENT
from ansible.module_utils.apollo.report_table import Cell, Table, heads
from ansible.module_utils.apollo.report_words import Words

COLUMNS = ("plan", "offered", "let_in", "refused", "other_errors", "to_429", "ttft_p95", "slowest_user")

Event = Mapping[str, Any]


def overload_section(events: Iterable[Event], words: Words, prefix: str) -> dict[str, Any] | None:
    """None where no overload was sent."""
    found = [event for event in events if event.get("event") == EVENT]
    if not found:
        return None
    names = _names(found)
    rows = [_row(event, name) for event, name in zip(found, names, strict=True)]
    return {
        "title": f"{prefix}{words['overload']}",
        "lines": [_line(event, name, words) for event, name in zip(found, names, strict=True)],
        "table": Table("overload-table", "", heads(COLUMNS, words), rows, words["overload_note"]),
    }


def _names(events: Sequence[Event]) -> list[str]:
    """The plan, and the model too where that plan has several."""
    models = {(event["plan"], event.get("model")) for event in events}
    several = {plan for plan, _ in models if sum(plan == other for other, _ in models) > 1}
    return [f"{event['plan']} {event['model']}" if event["plan"] in several else event["plan"] for event in events]


def _line(event: Event, name: str, words: Words) -> str:
    if event["status"] == "failed":
        return words["overload_failed"].format(plan=name, why=event["detail"])
    others = sum(event["errors"].values())
    told = {"plan": name, "factor": f"{event['offer']['factor']:g}", "others": others}
    counts = {name: event[name] for name in ("sent", "let_in", "refused")}
    found = event["figures"]
    times = {
        "first": show.seconds(found["overload_ttft_p95_ms"]),
        "to_429": show.seconds(found["overload_refused_p95_ms"]),
    }
    return words["overload_line"].format(**told, **counts, **times)


def _row(event: Event, name: str) -> list[Cell]:
    offer, found = event["offer"], event["figures"]
    errors = ", ".join(f"{number} x {code}" for code, number in (event.get("errors") or {}).items())
    return [
        Cell(name),
        Cell(f"{offer['requests']}", note=f"{show.number(offer['request_rate'])}/s"),
        Cell(show.count(event.get("let_in"))),
        Cell(show.count(found.get("overload_refused"))),
        Cell(errors or show.count(found.get("overload_errors"))),
        Cell(show.seconds(found.get("overload_refused_p95_ms"))),
        Cell(show.seconds(found.get("overload_ttft_p95_ms"))),
        Cell(show.number(found.get("overload_user_p05_tok_s"))),
    ]
