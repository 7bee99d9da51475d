"""How near each point comes to what the hardware allows, and which points leave the curve of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.bench_rows import Sweep
from ansible.module_utils.apollo.report_plot import Plot, Series, figure
from ansible.module_utils.apollo.report_sweep import over_endpoints
from ansible.module_utils.apollo.report_table import Cell, Table, heads
from ansible.module_utils.apollo.report_words import Words
from ansible.module_utils.apollo.roofline import roofline_rows
from ansible.module_utils.apollo.serving import Serving

COLUMNS = ("plan", "n", "memory_floor", "compute_floor", "collective_floor", "step", "mbu", "mfu", "floor_share")
# What the roofline calls its inputs, and the figures of a point that they are.
FIGURES = {
    "output_tok_s": "output_tok_s",
    "ttft_ms": "ttft_mean_ms",
    "tpot_ms": "tpot_mean_ms",
    "acceptance_length": "spec_acceptance_length",
}
Judged = tuple[Sweep, Sequence[Mapping[str, Any]], str]


def roofline_section(sweeps: Sequence[Sweep], words: Words, prefix: str, simulated: bool) -> dict[str, Any]:
    """One plot, one table, and a line for each sweep that cannot be placed; simulated hardware has no floor."""
    if simulated:
        return {"plots": [], "table": None, "note": words["roofline_simulated"], "lines": []}
    judged = [_judge(sweep, words) for sweep in sweeps]
    rows = [_row(sweep, row) for sweep, found, _ in judged for row in found]
    lines = [f"{sweep.plan}: {why}" for sweep, _, why in judged if why]
    lines += [
        f"{sweep.plan} N={row['concurrency']}: {flag}"
        for sweep, found, _ in judged
        for row in found
        for flag in row["flags"]
    ]
    plot = _plot(judged, words, prefix)
    return {
        "plots": [figure(plot)] if plot.has_data else [],
        "table": Table("roofline-table", "", heads(COLUMNS, words), rows) if rows else None,
        "note": words["roofline_note"],
        "lines": lines,
    }


def _judge(sweep: Sweep, words: Words) -> Judged:
    """The rows of a sweep against its floors, or why there are none."""
    engine, model = sweep.about["layout"]["engines"][0], sweep.about["layout"]["endpoints"][0]["model"]
    config, serving = (sweep.about.get("configs") or {}).get(model), Serving(engine.get("settings") or {})
    if not config:
        return sweep, [], words["roofline_no_config"].format(model=model)
    if serving.pipeline > 1:
        return sweep, [], words["roofline_pipeline"]
    settings = sweep.about["settings"]
    run = {
        "gpu": sweep.about["hardware"][engine["node"]].get("gpu", ""),
        "ranks": serving.tensor,
        "speculative_tokens": serving.speculative_tokens,
        **{name: settings[name] for name in ("input_tokens", "output_tokens")},
    }
    try:
        return sweep, roofline_rows(config, run, _measured(sweep)), ""
    except ValueError as error:
        return sweep, [], str(error)


def _measured(sweep: Sweep) -> list[dict[str, Any]]:
    """What one engine gave at each point that counts."""
    found = [
        {
            "concurrency": row.concurrency,
            **{ours: over_endpoints(sweep, row, theirs) for ours, theirs in FIGURES.items()},
        }
        for row in sweep.rows
        if row.valid
    ]
    return [row for row in found if row["output_tok_s"]]


def _row(sweep: Sweep, row: Mapping[str, Any]) -> list[Cell]:
    floors = ("memory_floor_ms", "compute_floor_ms", "collective_floor_ms", "step_ms")
    return [
        Cell(sweep.plan),
        Cell(str(row["concurrency"])),
        *(Cell(show.number(row[name])) for name in floors),
        Cell(show.percent(row["mbu"])),
        Cell(show.percent(row["mfu"])),
        Cell(show.percent(row["share"]), "strong", note="; ".join(row["flags"])),
    ]


def _plot(judged: Sequence[Judged], words: Words, prefix: str) -> Plot:
    x = sorted({row["concurrency"] for _, found, _ in judged for row in found})
    lines = []
    for sweep, found, _ in judged:
        shares = {row["concurrency"]: row["share"] for row in found}
        if shares:
            lines.append(Series(sweep.plan, [_percent(shares.get(n)) for n in x]))
    return Plot(f"{prefix}{words['roofline_plot']}", words["users_axis"], "%", x, lines)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
