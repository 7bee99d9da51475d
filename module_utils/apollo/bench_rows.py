"""Rows of a run: sweeps, their points, and for each point what its attempts measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.apollo import bench_energy, journal, stats
from ansible.module_utils.apollo.bench_run import FAILED, INVALID, VALID, is_crash
from ansible.module_utils.apollo.bench_window import read_timeline, together

# Endpoints count as started together within the larger of a fixed time and a share of their common window.
START_SPREAD_LIMIT_S, START_SPREAD_SHARE = 2.0, 0.05
CLOCK_OFFSET_LIMIT_S = 0.5
NOT_RUN = "not run"


@dataclass(frozen=True)
class Attempt:
    """All endpoints of a point, measured at once."""

    number: int
    endpoints: Sequence[str]
    runs: Mapping[str, Mapping[str, Any]]
    plan_figures: Mapping[str, float | None]

    @property
    def reasons(self) -> list[str]:
        """Why this attempt does not count, each code once."""
        codes = [code for run in self.runs.values() for code in run["reasons"]]
        codes += ["no_record"] if set(self.endpoints) - set(self.runs) else []
        codes += [] if self.started_together else ["start_spread"]
        codes += [] if self.clocks_agree else ["clock_offset"]
        return list(dict.fromkeys(codes))

    @property
    def is_valid(self) -> bool:
        whole = all(self.runs.get(name, {}).get("status") == VALID for name in self.endpoints)
        return whole and self.started_together and self.clocks_agree

    @property
    def started_together(self) -> bool:
        spread, window = self.plan_figures.get("start_spread_s"), self.plan_figures.get("window_s") or 0.0
        return spread is None or spread <= max(START_SPREAD_LIMIT_S, START_SPREAD_SHARE * window)

    @property
    def clocks_agree(self) -> bool:
        offset = self.plan_figures.get("clock_offset_s")
        return offset is None or offset <= CLOCK_OFFSET_LIMIT_S

    @property
    def status(self) -> str:
        if self.is_valid:
            return VALID
        return FAILED if FAILED in {run["status"] for run in self.runs.values()} else INVALID


@dataclass(frozen=True)
class Row:
    """One point of a sweep."""

    point: Mapping[str, Any]
    endpoints: Sequence[str]
    attempts: Sequence[Attempt]

    @property
    def concurrency(self) -> int:
        return int(self.point["concurrency"])

    @property
    def crashed(self) -> bool:
        """Whether an engine died at this point in the last attempt, and none has held it."""
        last = self.attempts[-1].runs.values() if self.attempts else ()
        return not self.valid and any(is_crash(run) for run in last)

    @property
    def valid(self) -> list[Attempt]:
        return [attempt for attempt in self.attempts if attempt.is_valid]

    @property
    def status(self) -> str:
        if not self.attempts:
            return NOT_RUN
        return VALID if self.valid else self.attempts[-1].status

    @property
    def reasons(self) -> list[str]:
        return [] if self.valid or not self.attempts else self.attempts[-1].reasons

    def samples(self, metric: str, endpoint: str | None = None) -> list[float]:
        """The metric's value in each valid attempt that has it; without an endpoint, a figure of the plan."""
        values = (
            attempt.plan_figures.get(metric) if endpoint is None else attempt.runs[endpoint]["figures"].get(metric)
            for attempt in self.valid
        )
        return [value for value in values if value is not None]

    def stats(self, endpoint: str | None = None) -> dict[str, dict[str, float | int | None]]:
        """Mean and spread over the repeats of every figure that all of them have."""
        whole = [
            attempt.plan_figures if endpoint is None else attempt.runs[endpoint]["figures"] for attempt in self.valid
        ]
        names = whole[0] if whole else {}
        summaries = {name: stats.summarize(self.samples(name, endpoint)) for name in names}
        return {
            name: found.as_dict()
            for name, found in summaries.items()
            if found is not None and found.count == len(whole)
        }

    def mean(self, metric: str, endpoint: str | None = None) -> float | None:
        summary = stats.summarize(self.samples(metric, endpoint))
        return summary.mean if summary else None


@dataclass(frozen=True)
class Sweep:
    """All points of one plan with one group of settings."""

    id: str
    about: Mapping[str, Any]
    rows: Sequence[Row]
    alone: Sequence[Row] = ()

    @property
    def plan(self) -> str:
        return str(self.about["layout"]["plan"])

    @property
    def variants(self) -> list[str]:
        return list(dict.fromkeys(str(endpoint["variant"]) for endpoint in self.about["layout"]["endpoints"]))

    @property
    def endpoints(self) -> list[str]:
        return [endpoint["name"] for endpoint in self.about["layout"]["endpoints"]]


def read_rows(manifest: Mapping[str, Any], events: Sequence[journal.Event]) -> list[Sweep]:
    """Join what was planned with what happened."""
    return [_sweep(about, events) for about in manifest.get("sweeps", [])]


def outcome(manifest: Mapping[str, Any], events: Sequence[journal.Event], point_hash: str) -> dict[str, Any]:
    """What came of the last attempt at a point, and the spread over all that count."""
    sweeps = read_rows(manifest, events)
    rows = (row for sweep in sweeps for row in (*sweep.rows, *sweep.alone) if row.point["hash"] == point_hash)
    row = next(rows, None)
    if row is None or not row.attempts:
        return {"status": NOT_RUN, "reasons": [], "plan_figures": {}, "stats": {}}
    last = row.attempts[-1]
    spread = {"plan": row.stats(), **{name: row.stats(name) for name in row.endpoints}} if row.valid else {}
    return {"status": last.status, "reasons": last.reasons, "plan_figures": last.plan_figures, "stats": spread}


def _sweep(about: Mapping[str, Any], events: Sequence[journal.Event]) -> Sweep:
    names = [endpoint["name"] for endpoint in about["layout"]["endpoints"]]
    alone = [_row(point, names, events) for point in about.get("alone_points", [])]
    single = {row.concurrency: row.mean("output_tok_s", row.endpoints[0]) for row in alone}
    points = sorted(about["points"], key=lambda point: point["concurrency"])
    rows = [_row(point, names, events, single.get(point["concurrency"])) for point in points]
    return Sweep(about["id"], about, rows, alone)


def _row(
    point: Mapping[str, Any], names: Sequence[str], events: Sequence[journal.Event], single: float | None = None
) -> Row:
    """A point that drives some of the endpoints names them."""
    driven = point.get("endpoints") or names
    grouped: dict[int, dict[str, Mapping[str, Any]]] = {}
    for run in journal.runs_of(events, point["hash"]):
        grouped.setdefault(int(run["attempt"]), {})[run["endpoint"]] = run
    found = sorted(grouped.items())
    return Row(
        point, driven, [Attempt(number, driven, runs, plan_figures(runs.values(), single)) for number, runs in found]
    )


def plan_figures(runs: Iterable[Mapping[str, Any]], single: float | None = None) -> dict[str, float | None]:
    """All terms of scope plan for one attempt, and the energy of all its nodes; single is one endpoint alone."""
    runs = list(runs)
    speeds = [run["figures"].get("output_tok_s") for run in runs]
    known = [speed for speed in speeds if speed is not None]
    lines = [line for line in map(read_timeline, (run.get("timeline") for run in runs)) if line]
    whole = bool(runs) and len(known) == len(runs)
    both = together(lines) if whole and len(lines) == len(runs) else None
    total = both.tok_s if both else None
    return {
        "total_output_tok_s": total,
        "sum_output_tok_s": sum(known) if whole else None,
        "node_deviation": stats.spread(known) if whole else None,
        "scaling_deviation": stats.scaling(total, single, len(runs)) if total is not None else None,
        "start_spread_s": both.start_spread_s if both and len(lines) > 1 else None,
        "clock_offset_s": _clock_offset(runs),
        "window_s": both.length_s if both else None,
        **bench_energy.plan_figures(runs),
    }


def _clock_offset(runs: Sequence[Mapping[str, Any]]) -> float | None:
    """The barrier lets all clients go at one moment: what their clocks then said differs by their offset."""
    moments = [run["barrier_s"] for run in runs if run.get("barrier_s") is not None]
    return max(moments) - min(moments) if len(moments) > 1 else None
