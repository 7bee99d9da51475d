"""All sweeps of a run side by side, and several endpoints against one alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.bench_rows import Row, Sweep
from ansible.module_utils.apollo.report_loads import best_row, broke_at, total_tok_s
from ansible.module_utils.apollo.report_plot import Plot, Series, figure
from ansible.module_utils.apollo.report_sweep import DEVIATION_COLUMNS, over_endpoints
from ansible.module_utils.apollo.report_table import Cell, Table, heads
from ansible.module_utils.apollo.report_words import Words
from ansible.module_utils.apollo.stats import scaling

SIDE_COLUMNS = (
    *("plan", "variant", "single_tok_s", "single_ttft", "best_total", "best_n", "best_ttft", "best_share", "broke_at"),
)


def side_by_side(sweeps: Sequence[Sweep], words: Words, prefix: str) -> dict[str, Any] | None:
    """Throughput and first token of each plan in one picture, and their ends in one table."""
    if len(sweeps) < 2:
        return None
    plots = [
        _overlay(sweeps, words, f"{prefix}{words['throughput']}", "tok/s", lambda s, r: total_tok_s(r, s.endpoints)),
        _overlay(sweeps, words, f"{prefix}{words['ttft']}", "s", _first_token_s),
    ]
    return {
        "plots": [figure(plot) for plot in plots if plot.has_data],
        "table": Table(
            "side-table", "", heads(SIDE_COLUMNS, words), [_side_row(sweep) for sweep in sweeps], words["side_note"]
        ),
    }


def scaling_sections(sweeps: Sequence[Sweep], words: Words, prefix: str) -> list[dict[str, Any]]:
    """For each plan of several endpoints: all of them, each of them, and as many times one alone."""
    several = [sweep for sweep in sweeps if len(sweep.endpoints) > 1]
    return [_scaling(sweep, _alone(sweep, sweeps), words, prefix) for sweep in several]


def _scaling(sweep: Sweep, alone: Mapping[int, float], words: Words, prefix: str) -> dict[str, Any]:
    count, x = len(sweep.endpoints), [row.concurrency for row in sweep.rows]
    expected = [count * alone[n] if n in alone else None for n in x]
    lines = [
        Series(words["total"], [row.mean("total_output_tok_s") for row in sweep.rows], labels=True),
        Series(words["scaling_alone"].format(count=count), expected, dashed=True),
        *(Series(name, [row.mean("output_tok_s", name) for row in sweep.rows]) for name in sweep.endpoints),
    ]
    plot = Plot(f"{prefix}{sweep.plan}, {words['scaling']}", words["users_axis"], "tok/s", x, lines)
    columns = (*DEVIATION_COLUMNS[:3], "alone", *DEVIATION_COLUMNS[3:])
    rows = [_scaling_row(row, count, alone.get(row.concurrency)) for row in sweep.rows]
    table = Table(f"deviation-{sweep.id}", f"{sweep.plan}: {words['deviation']}", heads(columns, words), rows)
    return {"plots": [figure(plot)] if plot.has_data else [], "table": table}


def _scaling_row(row: Row, count: int, alone: float | None) -> list[Cell]:
    total = row.mean("total_output_tok_s")
    deviation = row.mean("scaling_deviation")
    if deviation is None and total is not None:
        deviation = scaling(total, alone, count)
    return [
        Cell(str(row.concurrency)),
        Cell(show.number(total, 4)),
        Cell(show.number(row.mean("sum_output_tok_s"), 4)),
        Cell(show.number(alone, 4)),
        Cell(show.percent(row.mean("node_deviation"))),
        Cell(show.percent(deviation)),
        Cell(show.number(row.mean("start_spread_s"))),
        Cell(show.number(row.mean("clock_offset_s"))),
        Cell(show.number(row.mean("window_s"))),
    ]


def _alone(sweep: Sweep, sweeps: Sequence[Sweep]) -> dict[int, float]:
    """Tokens per second over N of one endpoint alone: in the same sweep, or as a plan with the same settings."""
    same = [
        other
        for other in sweeps
        if len(other.endpoints) == 1 and other.variants == sweep.variants and _settings(other) == _settings(sweep)
    ]
    measured: list[Row] = [*getattr(sweep, "alone", ()), *(row for other in same for row in other.rows)]
    rows = [(row.concurrency, row.mean("output_tok_s", row.endpoints[0])) for row in measured]
    return {n: speed for n, speed in rows if speed is not None}


def _settings(sweep: Sweep) -> dict[str, Any]:
    return {name: value for name, value in sweep.about["settings"].items() if name != "concurrency"}


def _side_row(sweep: Sweep) -> list[Cell]:
    single = next((row for row in sweep.rows if row.concurrency == 1 and row.valid), None)
    best, broke = best_row(sweep), broke_at(sweep)
    return [
        Cell(sweep.plan),
        Cell(", ".join(sweep.variants)),
        Cell(show.number(over_endpoints(sweep, single, "output_tok_s") if single else None)),
        Cell(show.seconds(over_endpoints(sweep, single, "ttft_mean_ms") if single else None)),
        Cell(show.number(total_tok_s(best, sweep.endpoints) if best else None, 4), "strong"),
        Cell(str(best.concurrency) if best else show.NOTHING),
        Cell(show.seconds(over_endpoints(sweep, best, "ttft_mean_ms") if best else None)),
        Cell(show.number(over_endpoints(sweep, best, "per_user_share_tok_s") if best else None)),
        Cell(str(broke) if broke is not None else show.NOTHING),
    ]


def _first_token_s(sweep: Sweep, row: Row) -> float | None:
    found = over_endpoints(sweep, row, "ttft_mean_ms")
    return None if found is None else found / 1000


def _overlay(
    sweeps: Sequence[Sweep], words: Words, title: str, unit: str, value: Callable[[Sweep, Row], float | None]
) -> Plot:
    x = sorted({row.concurrency for sweep in sweeps for row in sweep.rows})
    lines = []
    for sweep in sweeps:
        rows = {row.concurrency: row for row in sweep.rows}
        lines.append(Series(sweep.plan, [value(sweep, rows[n]) if n in rows else None for n in x]))
    return Plot(title, words["users_axis"], unit, x, lines)
