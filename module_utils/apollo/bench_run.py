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
from ansible.module_utils.apollo.bench_window import timeline

VALID, INVALID, FAILED = "valid", "invalid", "failed"
EXIT_REASONS = {42: "barrier", 124: "client_timeout", 137: "client_timeout"}
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

    def as_dict(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "reasons": list(self.reasons),
            "detail": self.detail,
            "figures": {name: _finite(value) for name, value in self.figures.items()},
            "weak": list(self.weak),
            "checks": [check.as_dict() for check in self.checks],
            "server_counters": dict(self.ledger.counted) if self.ledger else NOTHING,
            "missing_counters": self.ledger.missing if self.ledger else list(COUNTERS.values()),
            "timeline": self.timeline,
            "barrier_s": self.barrier_s,
        }


def _finite(value: float | None) -> float | None:
    """What overflowed is not measured."""
    return value if value is None or isfinite(value) else None


def failed(reason: str, detail: str) -> Outcome:
    return Outcome(FAILED, [reason], detail)


def evaluate(text: str, stamps: Mapping[str, Any], point: Point) -> Outcome:
    """Judge what the client left behind."""
    try:
        result = read_result(text)
    except ValueError as error:
        return failed("bad_result", str(error))
    before, after = stamps.get("before") or {}, stamps.get("after") or {}
    counted = ledger(before.get("counters"), after.get("counters"))
    if result.completed == 0:
        return _all_failed(result, point, counted, stamps)
    measured = figures(result, point, counted)
    found = checks(result, point, counted, measured, stamps)
    reasons = broken(found)
    return Outcome(
        INVALID if reasons else VALID,
        reasons,
        _first_error(result),
        measured,
        weak_figures(result),
        found,
        counted,
        _timeline(result, before),
        before.get("unix_s"),
    )


def without_result(code: int, log: str) -> Outcome:
    """The client ended and left nothing: its exit code says why, its last line what."""
    lines = [line for line in log.strip().splitlines() if line and not line.startswith("nanobind")]
    last = next((line for line in reversed(lines) if not line.startswith(" - ")), "it wrote nothing")
    return failed(EXIT_REASONS.get(code, "client_failed"), f"exit code {code}: {last.strip()[:300]}")


def read_point(data: Mapping[str, Any]) -> Point:
    """The settings of a point, as numbers."""
    return Point(**{setting.name: int(data[setting.name]) for setting in fields(Point)})


def after_a_crash(outcome: Outcome, detail: str) -> Outcome:
    """The engine is gone after the run: whatever was measured, this point is its end."""
    reasons = ["server_died", *outcome.reasons]
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


def _timeline(result: Result, before: Mapping[str, Any]) -> Mapping[str, Any] | None:
    if "unix_s" not in before:
        return None
    line = timeline(result.requests, before["unix_s"] - before["monotonic_s"])
    return line.as_dict() if line else None
