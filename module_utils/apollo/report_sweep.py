"""One sweep in the report: its plots and its tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.bench_rows import Row, Sweep
from ansible.module_utils.apollo.report_plot import Plot, Series, figure
from ansible.module_utils.apollo.report_table import Cell, Table, heads
from ansible.module_utils.apollo.report_words import Words

Aggregate = Callable[[Sequence[float | None]], float | None]

POINT_COLUMNS = (
    *("n", "status", "repeats", "requests", "total", "tok_s", "ttft", "ttft_p95"),
    *("tpot", "e2el", "share", "decode", "accepted"),
)
ENDPOINT_COLUMNS = ("n", "endpoint", "node", "tok_s", "ttft", "first_wave", "later", "tpot", "e2el", "in_flight")
DEVIATION_COLUMNS = (
    "n",
    "total",
    "sum",
    "node_deviation",
    "scaling_deviation",
    "start_spread",
    "clock_offset",
    "window",
)


def over_endpoints(sweep: Sweep, row: Row, metric: str, how: Aggregate = show.mean) -> float | None:
    """One figure for a point of several endpoints: their mean, or their worst."""
    return how([row.mean(metric, endpoint) for endpoint in sweep.endpoints])


def plots(sweep: Sweep, words: Words, prefix: str, comfort: float | None) -> list[dict[str, Any]]:
    """Throughput, first token and per-user speed over N; a plot without any value is left out."""
    drawn = (
        _throughput(sweep, words, prefix),
        _first_token(sweep, words, prefix),
        _per_user(sweep, words, prefix, comfort),
    )
    return [figure(plot) for plot in drawn if plot.has_data]


def unplotted(sweep: Sweep) -> list[int]:
    return [row.concurrency for row in sweep.rows if not row.valid]


def point_table(sweep: Sweep, words: Words) -> Table:
    accepted = any(over_endpoints(sweep, row, "spec_acceptance_length") for row in sweep.rows)
    left_out = {*([] if accepted else ["accepted"]), *([] if len(sweep.endpoints) > 1 else ["tok_s"])}
    columns = [name for name in POINT_COLUMNS if name not in left_out]
    rows = [[_point_row(sweep, row, words)[name] for name in columns] for row in sweep.rows]
    weak = any(_is_weak(row, "ttft_p95_ms") for row in sweep.rows)
    return Table(
        f"points-{sweep.id}", words["sweep_points"], heads(columns, words), rows, words["weak_note"] if weak else ""
    )


def endpoint_table(sweep: Sweep, words: Words) -> Table:
    nodes = {endpoint["name"]: endpoint["node"] for endpoint in sweep.about["layout"]["endpoints"]}
    rows = [_endpoint_row(row, name, nodes[name]) for row in sweep.rows for name in sweep.endpoints]
    return Table(f"endpoints-{sweep.id}", words["endpoints"], heads(ENDPOINT_COLUMNS, words), rows)


def _point_row(sweep: Sweep, row: Row, words: Words) -> dict[str, Cell]:
    def seen(metric: str, how: Aggregate = show.mean) -> float | None:
        return over_endpoints(sweep, row, metric, how)

    p95 = show.seconds(seen("ttft_p95_ms", show.largest)) + (words["weak_mark"] if _is_weak(row, "ttft_p95_ms") else "")
    return {
        "n": Cell(str(row.concurrency)),
        "status": Cell(words[row.status], row.status.replace(" ", "-"), note=", ".join(row.reasons)),
        "repeats": Cell(str(len(row.valid))),
        "requests": Cell(f"{_sum(row, 'completed_requests')} / {show.count(_sent(row))}"),
        "total": Cell(show.number(row.mean("total_output_tok_s"), 4), "strong"),
        "tok_s": Cell(show.number(seen("output_tok_s"), 4)),
        "ttft": Cell(show.seconds(seen("ttft_mean_ms"))),
        "ttft_p95": Cell(p95),
        "tpot": Cell(show.number(seen("tpot_mean_ms"))),
        "e2el": Cell(show.seconds(seen("e2el_mean_ms"))),
        "share": Cell(show.number(seen("per_user_share_tok_s"))),
        "decode": Cell(show.number(seen("per_user_decode_tok_s"))),
        "accepted": Cell(show.number(seen("spec_acceptance_length"))),
    }


def _endpoint_row(row: Row, name: str, node: str) -> list[Cell]:
    return [
        Cell(str(row.concurrency)),
        Cell(name),
        Cell(node),
        Cell(show.number(row.mean("output_tok_s", name), 4), "strong"),
        Cell(show.seconds(row.mean("ttft_mean_ms", name))),
        Cell(show.seconds(row.mean("ttft_first_wave_ms", name))),
        Cell(show.seconds(row.mean("ttft_later_ms", name))),
        Cell(show.number(row.mean("tpot_mean_ms", name))),
        Cell(show.seconds(row.mean("e2el_mean_ms", name))),
        Cell(show.number(row.mean("in_flight", name))),
    ]


def _sum(row: Row, metric: str) -> str:
    """Over the endpoints of the last attempt, since a point that does not count has answers too."""
    if not row.attempts:
        return show.NOTHING
    values = [run["figures"].get(metric) for run in row.attempts[-1].runs.values()]
    return show.count(sum(value for value in values if value is not None))


def _sent(row: Row) -> int:
    return int(row.point["prompts"]) * len(row.endpoints)


def _is_weak(row: Row, metric: str) -> bool:
    runs = [run for attempt in row.valid for run in attempt.runs.values()]
    return any(metric in run.get("weak", []) for run in runs)


def _throughput(sweep: Sweep, words: Words, prefix: str) -> Plot:
    single = len(sweep.endpoints) < 2
    name = words["one_endpoint"] if single else words["total"]
    total = Series(name, [row.mean("total_output_tok_s") for row in sweep.rows], labels=True)
    lines = [total] if single else [total, _banded(sweep, words["endpoint_mean"], "output_tok_s")]
    return _plot(sweep, f"{prefix}{sweep.plan}, {words['throughput']}", "tok/s", words, lines)


def _first_token(sweep: Sweep, words: Words, prefix: str) -> Plot:
    p95 = [over_endpoints(sweep, row, "ttft_p95_ms", show.largest) for row in sweep.rows]
    lines = [
        _banded(sweep, words["mean"], "ttft_mean_ms", 0.001, labels=True),
        Series(words["p95"], [value / 1000 if value is not None else None for value in p95], dashed=True),
    ]
    return _plot(sweep, f"{prefix}{sweep.plan}, {words['ttft']}", "s", words, lines)


def _per_user(sweep: Sweep, words: Words, prefix: str, comfort: float | None) -> Plot:
    lines = [
        _banded(sweep, words["share"], "per_user_share_tok_s", labels=True),
        Series(
            words["decode"], [over_endpoints(sweep, row, "per_user_decode_tok_s") for row in sweep.rows], dashed=True
        ),
    ]
    return _plot(sweep, f"{prefix}{sweep.plan}, {words['per_user']}", "tok/s", words, lines, comfort)


def _plot(sweep: Sweep, title: str, unit: str, words: Words, lines: list[Series], mark: float | None = None) -> Plot:
    x = [row.concurrency for row in sweep.rows]
    return Plot(title, words["users_axis"], unit, x, lines, mark, words["comfort"] if mark is not None else "")


def _banded(sweep: Sweep, name: str, metric: str, scale: float = 1.0, labels: bool = False) -> Series:
    """The endpoints' mean, with a band from the lowest to the highest of them."""
    table = [[row.mean(metric, endpoint) for endpoint in sweep.endpoints] for row in sweep.rows]
    known = [[value * scale for value in values if value is not None] for values in table]
    means = [show.mean(values) for values in known]
    if len(sweep.endpoints) < 2:
        return Series(name, means, labels=labels)
    low, high = [min(values, default=None) for values in known], [max(values, default=None) for values in known]
    return Series(name, means, low, high, labels=labels)
