"""The noise floor: how much the same measurement differs from itself on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ansible.module_utils.apollo.bench_rows import Row, Sweep

LEAST_REPEATS = 3


def floor(sweep: Sweep, run_id: str) -> dict[str, Any]:
    """The largest coefficient of variation of each metric over all points; ValueError for too few repeats."""
    repeats = min((len(row.valid) for row in sweep.rows), default=0)
    if repeats < LEAST_REPEATS:
        raise ValueError(
            f"plan {sweep.plan} has {repeats} valid repeats of a point, a noise floor needs {LEAST_REPEATS}: "
            "raise bench_repeats, or see in the report why repeats do not count"
        )
    metrics: dict[str, float] = {}
    for name, cv in (pair for row in sweep.rows for pair in _variations(row)):
        metrics[name] = max(cv, metrics.get(name, 0.0))
    points = [row.concurrency for row in sweep.rows]
    about = {"plan": sweep.plan, "run_id": run_id, "n": repeats, "concurrency": points}
    return {**about, "hardware": sweep.about.get("hardware") or {}, "metrics": dict(sorted(metrics.items()))}


def _variations(row: Row) -> Iterable[tuple[str, float]]:
    for endpoint in (None, *row.endpoints):
        for name, found in row.stats(endpoint).items():
            if found["cv"] is not None:
                yield name, float(found["cv"])
