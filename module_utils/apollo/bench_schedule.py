"""In which order points are measured, so that engines start anew as seldom as the settings allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.apollo.bench_points import ENGINE_KEYS, WHICH_POINTS
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


def is_done(sweeps: Sequence[Sweep], wanted: Mapping[str, Any], wish: Wish) -> bool:
    """Whether a run holds all of a plan that is wanted, so that the plan need not even be served for it."""
    asked = set(wanted["settings"]["concurrency"])
    found = [sweep for sweep in sweeps if _is_same(sweep, wanted) and asked <= {row.concurrency for row in sweep.rows}]
    return any(not [turn for turn in turns(sweep, wish) if turn["point"]["concurrency"] in asked] for sweep in found)


def _is_same(sweep: Sweep, wanted: Mapping[str, Any]) -> bool:
    """The same plan, engines, settings and image, as far as they are known before the plan is served."""
    layout, settings, about = wanted["layout"], wanted["settings"], sweep.about
    engines = [_shapes(engine) for engine in about["layout"]["engines"]]
    shown = {name: about["settings"].get(name) for name in settings if name not in WHICH_POINTS}
    return (
        sweep.plan == layout["plan"]
        and ("engines" not in layout or engines == [_shapes(engine) for engine in layout["engines"]])
        and shown == {name: settings[name] for name in shown}
        and (not wanted.get("image") or str(about.get("image")).endswith(f" {wanted['image']}"))
    )


def _shapes(engine: Mapping[str, Any]) -> list[Any]:
    return [engine.get(key) for key in ENGINE_KEYS]


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
