"""The report as plain data, ready for its templates: what a renderer prints, it finds here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo import report_reference, report_sweep
from ansible.module_utils.apollo.bench_rows import Attempt, Sweep
from ansible.module_utils.apollo.bench_terms import LATENCIES, PERCENTILES, TERMS
from ansible.module_utils.apollo.bench_validity import REASONS
from ansible.module_utils.apollo.report_about import about_tables, remarks
from ansible.module_utils.apollo.report_limits import broken_table, limit_table
from ansible.module_utils.apollo.report_table import Cell, Table, heads, plain_table
from ansible.module_utils.apollo.report_words import ENGLISH

VALIDITY_COLUMNS = ("plan", "n", "attempt", "endpoint", "status", "checks", "why")

MANY = [f"{name}_{which}" for name in LATENCIES for which in ("mean", *(f"p{p}" for p in PERCENTILES))]

Words = Mapping[str, str]


def view(
    manifest: Mapping[str, Any], sweeps: Sequence[Sweep], verdict: Mapping[str, Any], published: Mapping[str, Any]
) -> dict[str, Any]:
    """Everything the templates need, in the order in which people read it."""
    words = ENGLISH
    simulated = manifest.get("site_kind") != words["real_kind"]
    comfort = None if simulated else published.get("comfort_floor_tok_s")
    prefix = words["simulated_prefix"] if simulated else ""
    return {
        "words": words,
        "banner": words["simulated_banner"] if simulated else "",
        "prefix": prefix,
        "title": f"{prefix}{words['title']} {manifest.get('run_id', '')}".strip(),
        "run": _run(manifest, sweeps),
        "verdict": verdict,
        "points": _points(sweeps),
        "sweeps": [_sweep(sweep, words, prefix, comfort) for sweep in sweeps],
        "validity": _validity(sweeps, words),
        "limits": limit_table(verdict, words),
        "broken": broken_table(verdict, words),
        **about_tables(sweeps),
        "definitions": _definitions(),
        "reasons": plain_table("reasons", "", ["code", "meaning"], REASONS.items(), ["code"]),
        "remarks": remarks(sweeps, verdict, words),
        "reference": report_reference.sections(published),
    }


def _run(manifest: Mapping[str, Any], sweeps: Sequence[Sweep]) -> dict[str, Any]:
    return {
        "id": manifest.get("run_id", ""),
        "site": manifest.get("site_name", ""),
        "opened_s": manifest.get("opened_s"),
        "plans": list(dict.fromkeys(sweep.plan for sweep in sweeps)),
    }


def _points(sweeps: Sequence[Sweep]) -> dict[str, int]:
    rows = [row for sweep in sweeps for row in sweep.rows]
    return {"all": len(rows), "valid": sum(bool(row.valid) for row in rows)}


def _sweep(sweep: Sweep, words: Words, prefix: str, comfort: float | None) -> dict[str, Any]:
    endpoints, nodes = sweep.about["layout"]["endpoints"], {e["node"] for e in sweep.about["layout"]["engines"]}
    placed = f"{_count(endpoints, 'endpoint')} on {_count(nodes, 'node')}"
    models = ", ".join(dict.fromkeys(endpoint["model"] for endpoint in endpoints))
    return {
        "id": sweep.id,
        "title": f"{prefix}{sweep.plan}",
        "subtitle": f"{models}, variant {', '.join(sweep.variants)}: {placed}",
        "plots": report_sweep.plots(sweep, words, prefix, comfort),
        "unplotted": report_sweep.unplotted(sweep),
        "has_band": len(endpoints) > 1,
        "points": report_sweep.point_table(sweep, words),
        "endpoints": report_sweep.endpoint_table(sweep, words),
        "deviation": report_sweep.deviation_table(sweep, words),
    }


def _count(things: Sized, name: str) -> str:
    return f"{len(things)} {name}" + ("s" if len(things) != 1 else "")


def _validity(sweeps: Sequence[Sweep], words: Words) -> Table:
    rows = [
        _validity_row(sweep, row.concurrency, attempt, run, words)
        for sweep in sweeps
        for row in sweep.rows
        for attempt in row.attempts
        for run in attempt.runs.values()
    ]
    return Table("validity-table", "", heads(VALIDITY_COLUMNS), rows)


def _validity_row(sweep: Sweep, n: int, attempt: Attempt, run: Mapping[str, Any], words: Words) -> list[Cell]:
    made = [check for check in run["checks"] if check["ok"] is not None]
    unmade = [check["code"] for check in run["checks"] if check["ok"] is None]
    note = f"not made: {', '.join(unmade)}" if unmade else ""
    return [
        Cell(sweep.plan),
        Cell(str(n)),
        Cell(str(attempt.number)),
        Cell(run["endpoint"]),
        Cell(words[run["status"]], run["status"]),
        Cell(f"{sum(check['ok'] for check in made)} of {len(made)}", note=note),
        Cell(", ".join(run["reasons"]) or show.NOTHING, note=run.get("detail", "") if run["reasons"] else ""),
    ]


def _definitions() -> Table:
    """Every term; a latency is explained once for its mean and its percentiles."""
    latencies = [(Cell(f"{name}_mean_ms, {name}_pNN_ms", "code"), "ms", told) for name, told in LATENCIES.items()]
    others = [term for term in TERMS.values() if not term.name.startswith(tuple(f"{name}_" for name in MANY))]
    rows = [(Cell(term.name, "code"), "" if term.unit == "1" else term.unit, term.meaning) for term in others]
    return plain_table("definitions-table", "", ["name", "unit", "meaning"], [*latencies, *rows], ["name", "unit"])
