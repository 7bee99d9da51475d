"""What was measured on and with: settings, engines, nodes; and what a reader should know of this run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo.bench_rows import Row, Sweep
from ansible.module_utils.apollo.report_table import Cell, Table, plain_table
from ansible.module_utils.apollo.report_words import Words

ENOUGH_PROMPTS_PER_SLOT = 10


def about_tables(sweeps: Sequence[Sweep], words: Words) -> dict[str, Any]:
    return {
        "settings": _settings(sweeps, words),
        "engines": [engine for sweep in sweeps for engine in _engines(sweep, words)],
        "hardware": _hardware(sweeps, words),
    }


def remarks(sweeps: Sequence[Sweep], verdict: Mapping[str, Any], words: Words) -> list[str]:
    """What limits the meaning of this run, found from its own data."""
    told = [line for sweep in sweeps for line in _sweep_remarks(sweep, words)]
    elsewhere = verdict.get("limits_out_of_scope")
    if elsewhere:
        told.append(words["remark_out_of_scope"].format(count=elsewhere))
    return list(dict.fromkeys([*told, words["remark_random"]]))


def _sweep_remarks(sweep: Sweep, words: Words) -> list[str]:
    prompts, told = sweep.about["settings"]["prompts_per_slot"], []
    if prompts < ENOUGH_PROMPTS_PER_SLOT:
        told.append(words["remark_few_prompts"].format(plan=sweep.plan, count=prompts))
    if any(len(row.valid) == 1 for row in sweep.rows):
        told.append(words["remark_one_repeat"].format(plan=sweep.plan))
    if len(sweep.endpoints) > 1:
        told.append(words["remark_scaling"].format(plan=sweep.plan))
    gone = sorted({name for row in sweep.rows for name in _missing_counters(row)})
    if gone:
        told.append(words["remark_counters"].format(plan=sweep.plan, names=", ".join(gone)))
    return told


def _missing_counters(row: Row) -> list[str]:
    runs = [run for attempt in row.valid for run in attempt.runs.values()]
    return [name for run in runs for name in run.get("missing_counters", []) if "spec_decode" not in name]


def _settings(sweeps: Sequence[Sweep], words: Words) -> Table:
    names = {name: None for sweep in sweeps for name in sweep.about["settings"]}
    rows = [
        [name.replace("_", " "), *(_plain(sweep.about["settings"].get(name), words) for sweep in sweeps)]
        for name in names
    ]
    rows.append(["image", *(_plain(sweep.about.get("image"), words) for sweep in sweeps)])
    rows.append(["models", *(_models(sweep) for sweep in sweeps)])
    rows.append(["server version", *(_versions(sweep, "server") for sweep in sweeps)])
    rows.append(["client version", *(_versions(sweep, "client") for sweep in sweeps)])
    return plain_table("settings-table", "", [words.head("setting")[0], *(sweep.plan for sweep in sweeps)], rows)


def _models(sweep: Sweep) -> str:
    return ", ".join(
        f"{model['name']} at {model.get('revision') or 'no pinned revision'}"
        for model in sweep.about["layout"].get("models", [])
    )


def _versions(sweep: Sweep, side: str) -> str | None:
    runs = [run for row in sweep.rows for attempt in row.attempts for run in attempt.runs.values()]
    seen = {str((run.get("versions") or {}).get(side)) for run in runs} - {"None"}
    return ", ".join(sorted(seen)) or None


def _engines(sweep: Sweep, words: Words) -> list[dict[str, str]]:
    return [
        {
            "title": words["rank"].format(**{key: engine[key] for key in ("name", "rank", "ranks", "node")}),
            "environment": "\n".join(f"{name}={value}" for name, value in sorted(engine["environment"].items())),
            "arguments": shlex.join(map(str, engine["arguments"])).replace(" --", " \\\n  --"),
        }
        for engine in sweep.about["layout"]["engines"]
    ]


def _hardware(sweeps: Sequence[Sweep], words: Words) -> Table:
    nodes: dict[str, Mapping[str, Any]] = {}
    for sweep in sweeps:
        nodes.update(sweep.about.get("hardware") or {})
    names = {name: None for facts in nodes.values() for name in facts}
    rows = [[name.replace("_", " "), *(_plain(facts.get(name), words) for facts in nodes.values())] for name in names]
    return plain_table("hardware-table", "", ["", *nodes], rows)


def _plain(value: Any, words: Words) -> str | Cell | None:
    if isinstance(value, bool):
        return words["yes" if value else "no"]
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {entry}" for name, entry in value.items())
    return None if value is None else str(value)
