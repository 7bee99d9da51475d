"""A search as a run of measurements: its space from plain data, and its observations from a run's journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.admission import admission
from ansible.module_utils.apollo.arguments import render
from ansible.module_utils.apollo.bench_rows import NOT_RUN, Row, Sweep
from ansible.module_utils.apollo.bench_run import FAILED
from ansible.module_utils.apollo.judge_settings import settings_of
from ansible.module_utils.apollo.report_loads import loads, total_tok_s
from ansible.module_utils.apollo.service_level import Level
from ansible.module_utils.apollo.tune import Observation, Standing
from ansible.module_utils.apollo.tune_space import Dimension, Setting, Space, key

BROKE = "tune_broke"  # what a journal's line says of a setting that could not even be served
PLAN = "plan"  # the first dimension; every other one is an argument of the engines
KEYS = {"dimensions", "ladder", "ttft_p95_ms", "floor_tok_s", "noise", "excluded"}
NEEDED = ("dimensions", "ladder", "ttft_p95_ms", "floor_tok_s")


def read_space(data: Mapping[str, Any]) -> Space:
    """The space; ValueError says in one line what of it cannot be."""
    lacking = [name for name in NEEDED if data.get(name) in (None, [])]
    unknown = sorted(set(data) - KEYS)
    if lacking or unknown:
        raise ValueError(f"space lacks {', '.join(lacking)}" if lacking else f"space does not know '{unknown[0]}'")
    dimensions = [_dimension(entry) for entry in data["dimensions"]]
    if dimensions[0].name != PLAN:
        raise ValueError(f"the first dimension is '{dimensions[0].name}': it must be '{PLAN}'")
    ladder = [int(n) for n in data["ladder"]]
    if ladder != sorted(set(ladder)) or ladder[0] < 1:
        raise ValueError(f"ladder is {ladder}: give each N once, the smallest first")
    noise = float(data.get("noise", 0.02))
    rule = _rule(data.get("excluded") or [])
    return Space(dimensions, ladder, float(data["ttft_p95_ms"]), float(data["floor_tok_s"]), noise, rule)


def observations(space: Space, sweeps: Iterable[Sweep], events: Iterable[Mapping[str, Any]]) -> list[Observation]:
    """Settings that could not be served, then every point of the run in the space, which knows better."""
    found = [
        _observation(space, setting, sweep, row)
        for sweep in sweeps
        if (setting := setting_of(space, sweep)) is not None
        for row in sweep.rows
        if row.status != NOT_RUN
    ]
    broke = [event for event in events if event.get("event") == BROKE]
    return [*map(_broken, broke), *found]


def _broken(event: Mapping[str, Any]) -> Observation:
    """What does not fit was never started; what fits no better is ruled out by it all the same."""
    why = "" if event.get("started", True) else str(event.get("why") or "does not fit")
    return Observation(event["setting"], int(event["n"]), crashed=True, ruled_out=why)


def setting_of(space: Space, sweep: Sweep) -> dict[str, Any] | None:
    """Where in the space a sweep lies; None where it lies outside of it."""
    told = {PLAN: sweep.plan, **{name.removeprefix("argument "): value for name, value in settings_of(sweep).items()}}
    told[PLAN] = sweep.plan
    setting = {}
    for dimension in space.dimensions:
        known = [value for value in dimension.values if _told(dimension.name, value) == told.get(dimension.name)]
        if not known:
            return None
        setting[dimension.name] = known[0]
    return setting


def result(space: Space, standing: Standing, sweeps: Sequence[Sweep], level: Level) -> dict[str, Any]:
    """The standing as plain data, with what the winner's own sweep would let in."""
    winner = standing.winner
    mine = [sweep for sweep in sweeps if winner and setting_of(space, sweep) == winner.setting]
    let_in = admission(loads(mine[-1]), level, len(mine[-1].endpoints)) if mine else None
    step = standing.next_step
    return {
        "next_step": {**asdict(step), "setting": dict(step.setting), "arguments": arguments(step.setting)}
        if step
        else None,
        "winner": {**asdict(winner), "arguments": arguments(winner.setting)} if winner else None,
        "admission": asdict(let_in) if let_in else None,
        "ended": standing.ended,
        "starts": standing.starts,
    }


def arguments(setting: Setting) -> dict[str, Any]:
    """What of a setting are arguments of the engines."""
    return {name: value for name, value in setting.items() if name != PLAN}


def _dimension(entry: Mapping[str, Any]) -> Dimension:
    name, values = entry.get("name"), list(entry.get("values") or [])
    if not name or not values:
        raise ValueError(f"dimension '{name}' needs a name and values")
    start = entry.get("start", values[0])
    if start not in values:
        raise ValueError(f"dimension '{name}' starts at {start}, which is none of its values")
    return Dimension(str(name), values, start, bool(entry.get("raises_load", False)))


def _rule(excluded: Sequence[Mapping[str, Any]]) -> Any:
    def rule(setting: Setting) -> str:
        for entry in excluded:
            wanted = {name: value for name, value in entry.items() if name != "why"}
            if wanted.items() <= setting.items():
                return str(entry.get("why") or f"excluded: {key(wanted)}")
        return ""

    return rule


def _told(name: str, value: Any) -> Any:
    """A value as it stands in an engine's command line."""
    if name == PLAN:
        return value
    words = render({name: value})[1:]
    return " ".join(words) if words else True


def _observation(space: Space, setting: Setting, sweep: Sweep, row: Row) -> Observation:
    if not row.valid:
        return Observation(setting, row.concurrency, crashed=getattr(row, "crashed", row.status == FAILED))
    ttft = show.largest([row.mean("ttft_p95_ms", endpoint) for endpoint in sweep.endpoints])
    users = [row.mean("per_user_share_tok_s", endpoint) for endpoint in sweep.endpoints]
    slowest = min((user for user in users if user is not None), default=None)
    return Observation(setting, row.concurrency, total_tok_s(row, sweep.endpoints), ttft, slowest)
