"""What the sweeps of a run say of load, power and breakdown: the ground of the capacity answer and of comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.bench_rows import Row, Sweep
from ansible.module_utils.apollo.bench_run import FAILED
from ansible.module_utils.apollo.service_level import Load


def loads(sweep: Sweep, endpoints: Sequence[str] = ()) -> list[Load]:
    """Each point that was measured or broke down; of these endpoints, or of all, the one that is worst counts."""
    about = endpoints or sweep.endpoints
    return [_load(about, row) for row in sweep.rows if row.valid or row.status == FAILED]


def _load(endpoints: Sequence[str], row: Row) -> Load:
    def worst(metric: str) -> float | None:
        return show.largest([row.mean(metric, endpoint) for endpoint in endpoints])

    speeds = [row.mean("output_tok_s", endpoint) for endpoint in endpoints]
    known = [speed for speed in speeds if speed is not None]
    return Load(
        row.concurrency,
        min(known) if known else None,
        worst("ttft_mean_ms"),
        worst("ttft_p95_ms"),
        worst("tpot_mean_ms"),
        holds=bool(row.valid),
    )


def total_tok_s(row: Row, endpoints: Sequence[str]) -> float | None:
    """What the whole plan gives: in the common window, or for a single endpoint its own."""
    total = row.mean("total_output_tok_s")
    return row.mean("output_tok_s", endpoints[0]) if total is None and len(endpoints) == 1 else total


def best_row(sweep: Sweep) -> Row | None:
    """The point with the most tokens per second among those that count."""
    rows = [(total_tok_s(row, sweep.endpoints), row) for row in sweep.rows if row.valid]
    known = [(total, -row.concurrency, row) for total, row in rows if total is not None]
    return max(known, key=lambda entry: entry[:2])[2] if known else None


def broke_at(sweep: Sweep) -> int | None:
    """The smallest N at which an engine died; where a row cannot tell that, at which a run failed."""
    rows = [row for row in sweep.rows if getattr(row, "crashed", row.status == FAILED)]
    return min((row.concurrency for row in rows), default=None)


def plan_power(sweep: Sweep, n: int, metric: str) -> float | None:
    """The plan's own figure at the measured point next to n, or the sum of its endpoints if each of them tells."""
    rows = [row for row in sweep.rows if row.valid]
    near = min(rows, key=lambda row: abs(row.concurrency - n), default=None)
    whole = near.mean(metric) if near else None
    if whole is not None:
        return whole
    told = [near.mean(metric, endpoint) for endpoint in sweep.endpoints] if near else []
    known = [watts for watts in told if watts is not None]
    return sum(known) if known and len(known) == len(told) else None
