"""Energy of each point: what the GPUs used, gross and net of idle. What was not measured stays a dash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.bench_rows import Row, Sweep
from ansible.module_utils.apollo.report_plot import Plot, Series, figure
from ansible.module_utils.apollo.report_sweep import over_endpoints
from ansible.module_utils.apollo.report_table import Cell, Table, heads
from ansible.module_utils.apollo.report_words import Words

COLUMNS = (
    *("plan", "n", "endpoint", "power_idle", "power_mean", "power_peak", "power_host"),
    *("wh_gross", "wh_net", "per_kwh", "temperature", "clock", "throttle"),
)
METRICS = ("power_mean_w", "wh_per_1k_tokens_gross", "energy_gross_j", "host_power_mean_w")


def energy_section(sweeps: Sequence[Sweep], words: Words, prefix: str) -> dict[str, Any]:
    """A plot for each sweep and one table; without any figure a sentence that says so."""
    known = [sweep for sweep in sweeps if _has_energy(sweep)]
    if not known:
        return {"plots": [], "table": None, "note": words["energy_none"]}
    rows = [
        _row(sweep, row, name, words) for sweep in known for row in sweep.rows if row.valid for name in sweep.endpoints
    ]
    hosts = any(over_endpoints(sweep, row, "host_power_mean_w") is not None for sweep in known for row in sweep.rows)
    note = words["energy_note"].format(hosts=words["energy_hosts_known" if hosts else "energy_hosts_unknown"])
    plots = [_plot(sweep, words, prefix) for sweep in known]
    return {
        "plots": [figure(plot) for plot in plots if plot.has_data],
        "table": Table("energy-table", "", heads(COLUMNS, words), rows),
        "note": note,
    }


def _has_energy(sweep: Sweep) -> bool:
    return any(over_endpoints(sweep, row, metric) is not None for row in sweep.rows for metric in METRICS)


def _plot(sweep: Sweep, words: Words, prefix: str) -> Plot:
    names = {"gross": "wh_per_1k_tokens_gross", "net": "wh_per_1k_tokens_net"}
    lines = [
        Series(
            words[name],
            [over_endpoints(sweep, row, metric) for row in sweep.rows],
            labels=name == "gross",
            dashed=name == "net",
        )
        for name, metric in names.items()
    ]
    x = [row.concurrency for row in sweep.rows]
    return Plot(f"{prefix}{sweep.plan}, {words['energy_plot']}", words["users_axis"], "Wh", x, lines)


def _row(sweep: Sweep, row: Row, name: str, words: Words) -> list[Cell]:
    def told(metric: str, scale: float = 1.0) -> str:
        value = row.mean(metric, name)
        return show.number(None if value is None else value * scale)

    watts = [Cell(show.count(row.mean(f"{which}_w", name))) for which in ("power_idle", "power_mean", "power_peak")]
    return [
        *(Cell(sweep.plan), Cell(str(row.concurrency)), Cell(name), *watts),
        Cell(show.count(row.mean("host_power_mean_w", name))),
        Cell(told("wh_per_1k_tokens_gross"), "strong"),
        Cell(told("wh_per_1k_tokens_net")),
        Cell(told("tokens_per_kwh_gross", 1e-6)),
        Cell(show.count(row.mean("temperature_max_c", name))),
        Cell(show.count(row.mean("sm_clock_min_mhz", name))),
        Cell(_throttle(row, name, words)),
    ]


def _throttle(row: Row, name: str, words: Words) -> str:
    """Reasons as the GPUs told them, from the figures or from each node's own record."""
    runs = [attempt.runs[name] for attempt in row.valid if name in attempt.runs]
    places: list[Mapping[str, Any]] = [part for run in runs for part in (run.get("figures") or {}, run)]
    places += [entry for run in runs for entry in run.get("energy") or [] if isinstance(entry, Mapping)]
    told = [place["throttle_reasons"] for place in places if place.get("throttle_reasons") is not None]
    if not told:
        return show.NOTHING
    reasons = [str(reason) for entry in told for reason in (entry if isinstance(entry, list) else [entry])]
    return ", ".join(dict.fromkeys(reasons)) or words["no"]
