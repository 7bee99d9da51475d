"""Two measurements of the same points: by which factor each figure changed, and whether that is more than noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import exp, sqrt
from typing import Any

from ansible.module_utils.apollo import stats
from ansible.module_utils.apollo.bench_rows import Row, Sweep
from ansible.module_utils.apollo.bench_terms import TERMS
from ansible.module_utils.apollo.judge_noise import NoiseFloor, find_noise
from ansible.module_utils.apollo.judge_settings import differences, is_allowed, settings_of

METRICS = (
    *("total_output_tok_s", "output_tok_s", "ttft_mean_ms", "ttft_p95_ms", "tpot_mean_ms"),
    *("spec_acceptance_length", "joules_per_token_gross"),
)
BETTER, WORSE, SAME, OPEN = "better", "worse", "same", "open"


@dataclass(frozen=True)
class Change:
    """One figure at one point, in the baseline and in the other run."""

    plan: str
    n: int
    metric: str
    before: float
    after: float
    ratio: float
    low: float | None
    high: float | None
    verdict: str

    @property
    def line(self) -> str:
        interval = f" [{self.low:.3f}, {self.high:.3f}]" if self.low is not None and self.high is not None else ""
        return f"{self.plan} N={self.n} {self.metric}: x {self.ratio:.3f}{interval}, {self.verdict}"


@dataclass(frozen=True)
class Comparison:
    """A sweep of the baseline and one of another run; refused where settings differ that may not."""

    before: str
    after: str
    refused: Sequence[str] = ()
    allowed: Sequence[str] = ()
    changes: Sequence[Change] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "changes": [{**asdict(change), "line": change.line} for change in self.changes]}


def compare(
    before: Mapping[str, Sequence[Sweep]],
    after: Mapping[str, Sequence[Sweep]],
    allow: Sequence[str],
    floors: Sequence[NoiseFloor] = (),
) -> list[Comparison]:
    """Each sweep of the other runs against the baseline's sweep of the same plan, or its only one."""
    [(baseline, known)] = before.items()
    found = []
    for name, sweeps in after.items():
        for sweep in sweeps:
            partner = _partner(sweep, known)
            if partner is not None:
                labels = (f"{baseline} {partner.plan}", f"{name} {sweep.plan}")
                found.append(_compare(partner, sweep, labels, allow, floors))
    return found


def judge_ratio(before: Sequence[float], after: Sequence[float], noise_cv: float) -> tuple[float, float, float] | None:
    """Ratio and its 95 % interval; repeats give it, or the noise floor where there are none. None without either."""
    left, right = stats.summarize(before), stats.summarize(after)
    if left is None or right is None or left.mean <= 0 or right.mean <= 0:
        return None
    ratio = right.mean / left.mean
    parts = [((noise_cv if side.cv is None else max(side.cv, noise_cv)) ** 2 / side.count) for side in (left, right)]
    repeats = min(left.count, right.count)
    if repeats < 2 and not noise_cv:
        return None
    factor = stats.t_95(left.count + right.count - 2) if repeats >= 2 else 2.0
    half = factor * sqrt(sum(parts))
    return ratio, ratio * exp(-half), ratio * exp(half)


def _partner(sweep: Sweep, known: Sequence[Sweep]) -> Sweep | None:
    same = next((other for other in known if other.plan == sweep.plan), None)
    return same or (known[0] if len(known) == 1 else None)


def _compare(
    before: Sweep, after: Sweep, labels: tuple[str, str], allow: Sequence[str], floors: Sequence[NoiseFloor]
) -> Comparison:
    unequal = differences(settings_of(before), settings_of(after))
    told = {name: f"{name} is {left} there and {right} here" for name, (left, right) in unequal.items()}
    refused = [line for name, line in told.items() if not is_allowed(name, allow)]
    allowed = [line for name, line in told.items() if is_allowed(name, allow)]
    changes = [] if refused else list(_changes(before, after, floors))
    return Comparison(*labels, refused, allowed, changes)


def _changes(before: Sweep, after: Sweep, floors: Sequence[NoiseFloor]) -> Iterator[Change]:
    floor = find_noise(floors, before.plan, before.about.get("hardware") or {})
    rows = {row.concurrency: row for row in before.rows}
    for row in after.rows:
        for metric in METRICS:
            partner = rows.get(row.concurrency)
            left = _samples(before, partner, metric) if partner else []
            right = _samples(after, row, metric)
            if left and right:
                cv = floor.cv.get(metric, 0.0) if floor else 0.0
                yield _change(after.plan, row.concurrency, metric, left, right, cv)


def _change(plan: str, n: int, metric: str, left: Sequence[float], right: Sequence[float], cv: float) -> Change:
    means = sum(left) / len(left), sum(right) / len(right)
    judged = judge_ratio(left, right, cv)
    if judged is None:
        ratio = means[1] / means[0] if means[0] else 0.0
        return Change(plan, n, metric, *means, ratio, None, None, OPEN)
    return Change(plan, n, metric, *means, *judged, _verdict(metric, judged[1], judged[2]))


def _verdict(metric: str, low: float, high: float) -> str:
    if low <= 1 <= high:
        return SAME
    grew = low > 1
    return BETTER if grew == (TERMS[metric].better == "higher") else WORSE


def _samples(sweep: Sweep, row: Row, metric: str) -> list[float]:
    """One value per valid attempt: of the plan, or the mean of its endpoints."""
    if TERMS[metric].scope == "plan":
        return row.samples(metric)
    table = [row.samples(metric, endpoint) for endpoint in sweep.endpoints]
    whole = len({len(values) for values in table}) == 1
    return [sum(values) / len(values) for values in zip(*table, strict=True)] if whole else []
