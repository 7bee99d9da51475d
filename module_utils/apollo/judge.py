"""Hold results against limits. A judge writes nothing: it returns the whole table, also when it fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isinf
from typing import Any

from ansible.module_utils.apollo import stats
from ansible.module_utils.apollo.bench_rows import Sweep
from ansible.module_utils.apollo.judge_facts import FACT, Fact, repeats
from ansible.module_utils.apollo.judge_limits import EVERY, Limit
from ansible.module_utils.apollo.judge_noise import NoiseFloor, find_noise
from ansible.module_utils.apollo.judge_settings import refusal, settings_of

PASS, FAIL, INCONCLUSIVE, MISSING = "pass", "fail", "inconclusive", "missing"
FAILING = (FAIL, MISSING)
WORST = 3


@dataclass(frozen=True)
class Finding:
    """One limit against one point or fact and, for a figure of an endpoint, one endpoint."""

    limit: Limit
    sweep: str
    plan: str
    n: int | None  # none for a fact, which belongs to no point
    endpoint: str | None
    verdict: str
    measured: stats.Summary | None
    excess: float  # how far beyond the limit, as a share of it; infinite where nothing was measured
    refused: str = ""  # why the measurement is not comparable with the limit

    @property
    def line(self) -> str:
        """The finding in one line: value, limit, and where."""
        n = f"N={self.n}" if self.n is not None else ""
        where = " ".join(part for part in (self.plan, n, self.endpoint) if part)
        unit = "" if self.limit.unit == "1" else f" {self.limit.unit}"
        value = "not measured" if self.measured is None else f"{_short(self.measured.mean)}{unit}"
        value = f"not comparable, since {self.refused}" if self.refused else value
        return f"{self.limit.name}: {where}: {value}, wanted {wanted(self.limit)}{unit}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": self.limit.name,
            "metric": self.limit.metric,
            "sweep": self.sweep,
            "plan": self.plan,
            "n": self.n,
            "endpoint": self.endpoint,
            "verdict": self.verdict,
            "measured": asdict(self.measured) if self.measured else None,
            "excess": None if isinf(self.excess) else self.excess,
            "value": self.limit.value,
            "unit": self.limit.unit,
            "direction": self.limit.direction,
            "tolerance": self.limit.tolerance_parts,
            "refused": self.refused,
            "low": self.limit.low,
            "high": self.limit.high,
            "wanted": wanted(self.limit),
            "source": self.limit.source,
            "remark": self.limit.remark,
            "line": self.line,
        }


@dataclass(frozen=True)
class Uncounted:
    """A point that does not count."""

    plan: str
    n: int
    why: str

    @property
    def line(self) -> str:
        return f"{self.plan} N={self.n} does not count: {self.why}"


@dataclass(frozen=True)
class Verdict:
    """The whole table; runs that do not count weigh as much as broken limits."""

    findings: Sequence[Finding]
    uncounted: Sequence[Uncounted]
    out_of_scope: int

    @property
    def counts(self) -> dict[str, int]:
        found = Counter(finding.verdict for finding in self.findings)
        return {verdict: found[verdict] for verdict in (PASS, FAIL, INCONCLUSIVE, MISSING)}

    @property
    def overall(self) -> str:
        if self.uncounted or any(self.counts[verdict] for verdict in FAILING):
            return FAIL
        return PASS if self.findings and not self.counts[INCONCLUSIVE] else INCONCLUSIVE

    @property
    def worst(self) -> list[str]:
        broken = [finding for finding in self.findings if finding.verdict in FAILING]
        broken.sort(key=lambda finding: -finding.excess)
        return [*(point.line for point in self.uncounted), *(finding.line for finding in broken)][:WORST]

    @property
    def summary(self) -> str:
        told = ", ".join(f"{count} {verdict}" for verdict, count in self.counts.items() if count)
        limits = f"{len(self.findings)} checks of limits: {told}" if told else "no limit is about these points"
        points = f"; {len(self.uncounted)} points do not count" if self.uncounted else ""
        return f"{self.overall}: {limits}{points}"

    def as_dict(self) -> dict[str, Any]:
        return {
            "overall": self.overall,
            "summary": self.summary,
            "counts": self.counts,
            "worst": self.worst,
            "uncounted_points": [point.line for point in self.uncounted],
            "uncounted": [asdict(point) for point in self.uncounted],
            "limits_out_of_scope": self.out_of_scope,
            "findings": [finding.as_dict() for finding in self.findings],
        }


def judge(
    sweeps: Sequence[Sweep], limits: Sequence[Limit], facts: Sequence[Fact] = (), floors: Sequence[NoiseFloor] = ()
) -> Verdict:
    """Every limit that is about a plan of this run, against every point or fact it is about."""
    held = [list(_hold(limit, sweeps, facts, floors)) for limit in limits]
    findings = [finding for found in held for finding in found]
    return Verdict(findings, _uncounted(sweeps), sum(found == [] for found in held))


def judge_summary(limit: Limit, measured: stats.Summary | None) -> tuple[str, float]:
    """Verdict and excess of one mean; its interval decides where repeats give one."""
    if measured is None:
        return MISSING, inf
    excess = _excess(limit, measured.mean)
    if measured.low is None or measured.high is None:
        return (PASS if excess <= 0 else FAIL), excess
    inside = [_excess(limit, edge) <= 0 for edge in (measured.low, measured.high)]
    if all(inside):
        return PASS, excess
    if any(inside) or _excess(limit, measured.mean) <= 0:
        return INCONCLUSIVE, excess
    return FAIL, excess


def wanted(limit: Limit) -> str:
    """The limit as people say it, tolerance already in it."""
    if limit.low is not None and limit.high is not None:
        same = limit.low == limit.high
        return f"{_short(limit.low)}" if same else f"{_short(limit.low)} to {_short(limit.high)}"
    return f"≥ {_short(limit.low)}" if limit.low is not None else f"≤ {_short(limit.high or 0.0)}"


def _hold(
    limit: Limit, sweeps: Sequence[Sweep], facts: Sequence[Fact], floors: Sequence[NoiseFloor]
) -> Iterator[Finding]:
    """One limit against all that it is about; nothing, where this run did not measure its plans."""
    about = [sweep for sweep in sweeps if limit.is_about(sweep.plan, sweep.variants)]
    if limit.scope != FACT:
        for sweep in about:
            yield from _hold_sweep(limit, sweep, floors)
    elif about or limit.is_about_every_plan:
        yield from _hold_facts(limit, facts, [sweep.plan for sweep in about])


def _hold_sweep(limit: Limit, sweep: Sweep, floors: Sequence[NoiseFloor]) -> Iterator[Finding]:
    floor = find_noise(floors, sweep.plan, sweep.about.get("hardware") or {})
    known = replace(limit, noise=floor.share(limit.metric)) if floor else limit
    refused = refusal(limit.made_with, settings_of(sweep))
    rows = [row for row in sweep.rows if limit.n in (EVERY, row.concurrency)]
    subjects = sweep.endpoints if limit.scope == "endpoint" else [None]
    for row in rows:
        for endpoint in subjects:
            measured = stats.summarize(row.samples(limit.metric, endpoint))
            yield _finding(known, sweep, row.concurrency, endpoint, measured, refused)
    if not rows and isinstance(limit.n, int):
        yield _finding(known, sweep, limit.n, None, None, refused)


def _finding(
    limit: Limit, sweep: Sweep, n: int, endpoint: str | None, measured: stats.Summary | None, refused: str
) -> Finding:
    verdict, excess = judge_summary(limit, None if refused else measured)
    return Finding(limit, sweep.id, sweep.plan, n, endpoint, verdict, measured, excess, refused)


def _hold_facts(limit: Limit, facts: Sequence[Fact], plans: Sequence[str]) -> Iterator[Finding]:
    """One finding for each plan and subject; several values of one are repeats, and none is missing."""
    for plan in [""] if limit.is_about_every_plan else dict.fromkeys(plans):
        about = [fact for fact in facts if fact.metric == limit.metric and plan in ("", fact.plan)]
        for subject in dict.fromkeys(fact.subject for fact in about) or [None]:
            measured = stats.summarize(repeats(about, subject))
            verdict, excess = judge_summary(limit, measured)
            yield Finding(limit, "", plan, None, subject, verdict, measured, excess)


def _excess(limit: Limit, value: float) -> float:
    """How far a value lies beyond the limit, as a share of it; 0 or below is within."""
    beyond = max(
        limit.low - value if limit.low is not None else -inf,
        value - limit.high if limit.high is not None else -inf,
    )
    return beyond / abs(limit.value) if limit.value else beyond


def _uncounted(sweeps: Sequence[Sweep]) -> list[Uncounted]:
    return [
        Uncounted(sweep.plan, row.concurrency, ", ".join(row.reasons) or row.status)
        for sweep in sweeps
        for row in sweep.rows
        if not row.valid
    ]


def _short(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 10000 else f"{value:.0f}"
