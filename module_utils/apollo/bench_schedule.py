"""In which order points are measured, so that engines start anew as seldom as the settings allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.apollo.bench_rows import Row, Sweep

GROUPED, INTERLEAVED = "grouped", "interleaved"
ORDERS = (GROUPED, INTERLEAVED)


@dataclass(frozen=True)
class Wish:
    """How often each point is measured, in which order, and what is measured again."""

    repeats: int = 1
    order: str = GROUPED
    restart: bool = True
    redo: bool = False
    retry_crashes: bool = False


def crashed_at(sweep: Sweep) -> int | None:
    """The lowest N at which an engine died; nothing from there on is tried again unless asked."""
    return min((row.concurrency for row in (*sweep.rows, *sweep.alone) if row.crashed), default=None)


def missing(row: Row, wish: Wish) -> int:
    """How many valid attempts the row still needs."""
    return wish.repeats if wish.redo else max(0, wish.repeats - len(row.valid))


def turns(sweep: Sweep, wish: Wish) -> list[dict[str, Any]]:
    """Every attempt that is to be made, each with its point and whether engines start anew before it.

    Grouped, all repeats of one N follow each other on the same engines: one start per N. Interleaved, each pass goes
    through all N and every turn has fresh engines, so that heat and time of day spread over all of them.
    """
    limit = None if wish.retry_crashes or wish.redo else crashed_at(sweep)
    rows = [row for row in _by_load(sweep) if limit is None or row.concurrency < limit]
    if wish.order == INTERLEAVED:
        passes = range(max((missing(row, wish) for row in rows), default=0))
        listed = [row for number in passes for row in rows if number < missing(row, wish)]
    else:
        listed = [row for row in rows for _ in range(missing(row, wish))]
    found: list[dict[str, Any]] = []
    for row in listed:
        fresh = wish.order == INTERLEAVED or not found or found[-1]["point"]["concurrency"] != row.concurrency
        found.append({"point": dict(row.point), "endpoints": list(row.endpoints), "restart": wish.restart and fresh})
    return _with_rest(found)


def _by_load(sweep: Sweep) -> list[Row]:
    """Ascending, so that a crash costs only what is heavier; one endpoint alone before all of them."""
    both = [*((row, 0) for row in sweep.alone), *((row, 1) for row in sweep.rows)]
    return [row for row, _ in sorted(both, key=lambda entry: (entry[0].concurrency, entry[1]))]


def _with_rest(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each turn also says what comes after it: waves of requests, and starts of engines."""
    waves = [turn["point"]["prompts"] / turn["point"]["concurrency"] for turn in found]
    return [
        {
            **turn,
            "waves_after": sum(waves[index + 1 :]),
            "turns_after": len(found) - index - 1,
            "restarts_after": sum(later["restart"] for later in found[index + 1 :]),
        }
        for index, turn in enumerate(found)
    ]
