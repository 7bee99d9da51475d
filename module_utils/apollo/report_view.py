"""The report as plain data, ready for its templates: what a renderer prints, it finds here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo import report_reference, report_sweep
from ansible.module_utils.apollo.bench_rows import Attempt, Sweep
from ansible.module_utils.apollo.bench_terms import LATENCIES, PERCENTILES, TERMS
from ansible.module_utils.apollo.bench_validity import REASONS
from ansible.module_utils.apollo.report_about import about_tables, remarks
from ansible.module_utils.apollo.report_capacity import capacity_section
from ansible.module_utils.apollo.report_energy import energy_section
from ansible.module_utils.apollo.report_limits import broken_table, limit_table, plain_verdict, worst_lines
from ansible.module_utils.apollo.report_overload import overload_section
from ansible.module_utils.apollo.report_roofline import roofline_section
from ansible.module_utils.apollo.report_side import scaling_sections, side_by_side
from ansible.module_utils.apollo.report_table import Cell, Table, heads, plain_table
from ansible.module_utils.apollo.report_words import REAL_KIND, Words

VALIDITY_COLUMNS = ("plan", "n", "attempt", "endpoint", "status", "checks", "why")

MANY = [f"{name}_{which}" for name in LATENCIES for which in ("mean", *(f"p{p}" for p in PERCENTILES))]


@dataclass(frozen=True)
class Material:
    """What a report is made of, the same in every language."""

    manifest: Mapping[str, Any]
    sweeps: Sequence[Sweep]
    verdict: Mapping[str, Any]
    published: Mapping[str, Any] = field(default_factory=dict)
    people: Mapping[str, Any] = field(default_factory=dict)
    prices: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Mapping[str, Any]] = ()

    @property
    def simulated(self) -> bool:
        return self.manifest.get("site_kind") != REAL_KIND


def view(material: Material, words: Words) -> dict[str, Any]:
    """Everything the templates need, in the order in which people read it."""
    sweeps, verdict = material.sweeps, material.verdict
    prefix = words["simulated_prefix"] if material.simulated else ""
    comfort = None if material.simulated else material.published.get("comfort_floor_tok_s")
    return {
        "words": words,
        "banner": words["simulated_banner"] if material.simulated else "",
        "prefix": prefix,
        "title": f"{prefix}{words['title']} {material.manifest.get('run_id', '')}".strip(),
        "run": _run(material.manifest, sweeps),
        "verdict": {**verdict, "worst": worst_lines(verdict, words), "plain": plain_verdict(verdict, words)},
        "points": _points(sweeps),
        "capacity": capacity_section(sweeps, material.people, material.prices, words, prefix),
        "overload": overload_section(material.events, words, prefix),
        "sweeps": [_sweep(sweep, words, prefix, comfort) for sweep in sweeps],
        "side_by_side": side_by_side(sweeps, words, prefix),
        "scaling": scaling_sections(sweeps, words, prefix),
        "energy": energy_section(sweeps, words, prefix),
        "roofline": roofline_section(sweeps, words, prefix, material.simulated),
        **_proof(material, words),
        "reference": report_reference.sections(material.published, words, material.people, material.prices),
    }


def _proof(material: Material, words: Words) -> dict[str, Any]:
    """Why a reader may believe the numbers above it."""
    sweeps, verdict = material.sweeps, material.verdict
    reasons = [(code, words.meaning(code, told)) for code, told in REASONS.items()]
    columns = [words.head("code")[0], words.head("meaning")[0]]
    return {
        "validity": _validity(sweeps, words),
        "limits": limit_table(verdict, words),
        "broken": broken_table(verdict, words),
        **about_tables(sweeps, words),
        "definitions": _definitions(words),
        "reasons": plain_table("reasons", "", columns, reasons, columns[:1]),
        "remarks": remarks(sweeps, verdict, words),
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
    counts = {"endpoints": len(endpoints), "nodes": len(nodes), "variants": ", ".join(sweep.variants)}
    models = ", ".join(dict.fromkeys(endpoint["model"] for endpoint in endpoints))
    return {
        "id": sweep.id,
        "title": f"{prefix}{sweep.plan}",
        "subtitle": words["placed"].format(models=models, **counts),
        "plots": report_sweep.plots(sweep, words, prefix, comfort),
        "unplotted": report_sweep.unplotted(sweep),
        "has_band": len(endpoints) > 1,
        "points": report_sweep.point_table(sweep, words),
        "endpoints": report_sweep.endpoint_table(sweep, words),
    }


def _validity(sweeps: Sequence[Sweep], words: Words) -> Table:
    rows = [
        _validity_row(sweep, row.concurrency, attempt, run, words)
        for sweep in sweeps
        for row in sweep.rows
        for attempt in row.attempts
        for run in attempt.runs.values()
    ]
    return Table("validity-table", "", heads(VALIDITY_COLUMNS, words), rows)


def _validity_row(sweep: Sweep, n: int, attempt: Attempt, run: Mapping[str, Any], words: Words) -> list[Cell]:
    made = [check for check in run["checks"] if check["ok"] is not None]
    unmade = [check["code"] for check in run["checks"] if check["ok"] is None]
    note = words["not_made"].format(names=", ".join(unmade)) if unmade else ""
    return [
        Cell(sweep.plan),
        Cell(str(n)),
        Cell(str(attempt.number)),
        Cell(run["endpoint"]),
        Cell(words[run["status"]], run["status"]),
        Cell(words["of"].format(part=sum(check["ok"] for check in made), whole=len(made)), note=note),
        Cell(", ".join(run["reasons"]) or show.NOTHING, note=run.get("detail", "") if run["reasons"] else ""),
    ]


def _definitions(words: Words) -> Table:
    """Every term; a latency is explained once for its mean and its percentiles."""
    columns = [words.head(name)[0] for name in ("name", "unit", "meaning")]
    latencies = [
        (Cell(f"{name}_mean_ms, {name}_pNN_ms", "code"), "ms", words.meaning(name, told))
        for name, told in LATENCIES.items()
    ]
    others = [term for term in TERMS.values() if not term.name.startswith(tuple(f"{name}_" for name in MANY))]
    rows = [
        (Cell(term.name, "code"), "" if term.unit == "1" else term.unit, words.meaning(term.name, term.meaning))
        for term in others
    ]
    return plain_table("definitions-table", "", columns, [*latencies, *rows], columns[:2])
