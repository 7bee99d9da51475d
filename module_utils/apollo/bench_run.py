"""One run of one endpoint becomes one record: what was measured, whether it counts, and if not, why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import isfinite
from typing import Any

from ansible.module_utils.apollo.bench_counters import COUNTERS, Ledger, ledger
from ansible.module_utils.apollo.bench_figures import Figures, Point, figures, weak_figures
from ansible.module_utils.apollo.bench_result import Result, read_result
from ansible.module_utils.apollo.bench_validity import Check, broken, checks
from ansible.module_utils.apollo.bench_watched import highest, missing, read_watch
from ansible.module_utils.apollo.bench_window import timeline

VALID, INVALID, FAILED = "valid", "invalid", "failed"
EXIT_REASONS = {42: "barrier"}
STOP_REASONS = {"frozen": "server_frozen", "timeout": "client_timeout"}
CRASHES = {"server_died", "server_frozen"}
NOTHING: dict[str, int | None] = dict.fromkeys(COUNTERS)


@dataclass(frozen=True)
class Outcome:
    """What came of a run. A failed run has no figures: nothing was measured, which is not zero."""

    status: str
    reasons: Sequence[str]
    detail: str = ""
    figures: Figures = field(default_factory=dict)
    weak: Sequence[str] = ()
    checks: Sequence[Check] = ()
    ledger: Ledger | None = None
    timeline: Mapping[str, Any] | None = None
    barrier_s: float | None = None
    ended_s: float | None = None
    warm_up_s: float | None = None
    missing_gauges: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "reasons": list(self.reasons),
            "detail": self.detail,
            "figures": {name: _finite(value) for name, value in self.figures.items()},
            "weak": list(self.weak),
            "checks": [check.as_dict() for check in self.checks],
            "server_counters": dict(self.ledger.counted) if self.ledger else NOTHING,
            "missing_counters": self.missing_counters,
            "timeline": self.timeline,
            "barrier_s": self.barrier_s,
            "load_ended_s": self.ended_s,
            "warm_up_s": self.warm_up_s,
        }

    @property
    def missing_counters(self) -> list[str]:
        counted = self.ledger.missing if self.ledger else list(COUNTERS.values())
        return [*counted, *self.missing_gauges]


def _finite(value: float | None) -> float | None:
    """What overflowed is not measured."""
    return value if value is None or isfinite(value) else None


def failed(reason: str, detail: str) -> Outcome:
    return Outcome(FAILED, [reason], detail)


def evaluate(text: str, stamps: Mapping[str, Any], point: Point, watched: str = "") -> Outcome:
    """Judge what the client left behind, and what the watch on the server saw."""
    try:
        result = read_result(text)
    except ValueError as error:
        return failed("bad_result", str(error))
    before, after = stamps.get("before") or {}, stamps.get("after") or {}
    counted = ledger(before.get("counters"), after.get("counters"))
    if result.completed == 0:
        return _all_failed(result, point, counted, stamps)
    seen = read_watch(watched)
    measured = figures(result, point, counted, highest(seen))
    found = checks(result, point, counted, measured, stamps)
    reasons = broken(found)
    if counted.same_process is False:
        return after_a_crash(Outcome(FAILED, reasons, checks=found, ledger=counted), "the engine was started anew")
    return Outcome(
        *(INVALID if reasons else VALID, reasons, _first_error(result), measured),
        *(weak_figures(result), found, counted),
        timeline=_timeline(result, before),
        barrier_s=before.get("unix_s"),
        ended_s=after.get("unix_s"),
        warm_up_s=_warm_up_s(stamps),
        missing_gauges=missing(seen),
    )


def without_result(code: int, log: str, stopped: str = "") -> Outcome:
    """The client left nothing: it was stopped for a reason, or its exit code says why and its last line what."""
    kind, _, told = stopped.partition(": ")
    if kind in STOP_REASONS:
        return failed(STOP_REASONS[kind], told)
    lines = [line for line in log.strip().splitlines() if line and not line.startswith("nanobind")]
    last = next((line for line in reversed(lines) if not line.startswith(" - ")), "it wrote nothing")
    return failed(EXIT_REASONS.get(code, "client_failed"), f"exit code {code}: {last.strip()[:300]}")


def read_point(data: Mapping[str, Any]) -> Point:
    """The settings of a point."""
    numbers = {setting.name: int(data[setting.name]) for setting in fields(Point) if setting.name != "dataset"}
    return Point(**numbers, dataset=str(data.get("dataset", "random")))


def is_crash(record: Mapping[str, Any]) -> bool:
    """Whether the engine did not survive this run, or went silent in it."""
    return bool(CRASHES & set(record["reasons"]))


def after_a_crash(outcome: Outcome, detail: str) -> Outcome:
    """The engine is gone after the run: whatever was measured, this point is its end."""
    reasons = list(dict.fromkeys(["server_died", *outcome.reasons]))
    return Outcome(FAILED, reasons, detail, checks=outcome.checks, ledger=outcome.ledger)


def summary(record: Mapping[str, Any]) -> str:
    """One line on a run, for people who wait."""
    status, found = record["status"], record.get("figures") or {}
    if status == FAILED or found.get("output_tok_s") is None:
        return f"{status} ({', '.join(record['reasons']) or 'no reason given'})"
    ttft = found.get("ttft_mean_ms")
    first = f", first token {ttft / 1000:.2f} s" if ttft is not None else ""
    why = f" ({', '.join(record['reasons'])})" if record["reasons"] else ""
    return f"{found['output_tok_s']:.1f} tok/s{first}, {status}{why}"


def _all_failed(result: Result, point: Point, counted: Ledger, stamps: Mapping[str, Any]) -> Outcome:
    found = checks(result, point, counted, {}, stamps)
    return Outcome(FAILED, broken(found), _first_error(result), checks=found, ledger=counted)


def _first_error(result: Result) -> str:
    """The last line of the first error text; some failures have none."""
    errors = [line for error in result.errors if (line := error.strip())]
    return errors[0].splitlines()[-1][:300] if errors else ""


def _warm_up_s(stamps: Mapping[str, Any]) -> float | None:
    """From the word to go until the measured load, the wait for the other endpoints included."""
    began, load = stamps.get("taken_up_s"), (stamps.get("before") or {}).get("unix_s")
    return load - began if began is not None and load is not None else None


def _timeline(result: Result, before: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if "unix_s" not in before:
        return None
    line = timeline(result.requests, before["unix_s"] - before["monotonic_s"])
    return line.as_dict() if line else None
