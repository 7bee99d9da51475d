"""The largest number of users at once that a measured sweep carries while every one of them is served well enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Load:
    """One measured point of one endpoint; None is what was not measured. A point that broke down carried nobody."""

    n: int
    tok_s: float | None = None
    ttft_mean_ms: float | None = None
    ttft_p95_ms: float | None = None
    tpot_mean_ms: float | None = None
    holds: bool = True  # the point counts, and no request failed

    def answer_s(self, tokens: int) -> float | None:
        """From asking to the last token of an answer of this length."""
        if self.ttft_mean_ms is None or self.tpot_mean_ms is None:
            return None
        return (self.ttft_mean_ms + self.tpot_mean_ms * (tokens - 1)) / 1000

    def speed_tok_s(self, tokens: int) -> float | None:
        """What one user gets, waiting for the first token included."""
        seconds = self.answer_s(tokens)
        return tokens / seconds if seconds else None


@dataclass(frozen=True)
class Level:
    """What one user is owed. The margin is kept on both: 0.1 asks for a tenth better than owed."""

    floor_tok_s: float
    answer_tokens: int
    ttft_p95_ms: float | None = None
    margin: float = 0.0


@dataclass(frozen=True)
class Carried:
    """The largest N; why it ends there; and whether no measured point says that it ends at all."""

    n: int | None
    ended_by: str
    open_ended: bool = False


SPEED, FIRST_TOKEN, BREAKDOWN, NOT_MEASURED, SWEEP = "speed", "first_token", "breakdown", "not_measured", "sweep"
Slack = Callable[[Load, Level], float | None]


def largest_n(loads: Sequence[Load], level: Level) -> Carried:
    """The last point that holds and, where the next one only just does not, the share of the way to it."""
    ordered = sorted(loads, key=lambda load: load.n)
    if not ordered:
        return Carried(None, NOT_MEASURED)
    first = broken_by(ordered[0], level)
    if first:
        return Carried(None if first == NOT_MEASURED else 0, first)
    for good, bad in pairwise(ordered):
        why = broken_by(bad, level)
        if why:
            return Carried(_between(good, bad, level), why)
    return Carried(ordered[-1].n, SWEEP, open_ended=True)


def broken_by(load: Load, level: Level) -> str:
    """What of the level a point does not hold; empty where it holds all of it."""
    if not load.holds:
        return BREAKDOWN
    for name, slack in SLACKS.items():
        left = slack(load, level)
        if left is None:
            return NOT_MEASURED
        if left < 0:
            return name
    return ""


def _speed_slack(load: Load, level: Level) -> float | None:
    speed = load.speed_tok_s(level.answer_tokens)
    return None if speed is None else speed - level.floor_tok_s * (1 + level.margin)


def _first_token_slack(load: Load, level: Level) -> float | None:
    if level.ttft_p95_ms is None:
        return 0.0
    return None if load.ttft_p95_ms is None else level.ttft_p95_ms / (1 + level.margin) - load.ttft_p95_ms


SLACKS: dict[str, Slack] = {SPEED: _speed_slack, FIRST_TOKEN: _first_token_slack}


def _between(good: Load, bad: Load, level: Level) -> int:
    """Straight between two measured points; towards a breakdown or a gap nothing is known, so nothing is added."""
    if broken_by(bad, level) in (BREAKDOWN, NOT_MEASURED):
        return good.n
    return next(n for n in range(bad.n - 1, good.n - 1, -1) if n == good.n or not broken_by(_mix(good, bad, n), level))


def at(loads: Sequence[Load], n: int) -> Load | None:
    """The sweep at any N within it, straight between measured points."""
    ordered = [load for load in sorted(loads, key=lambda load: load.n) if load.holds]
    exact = next((load for load in ordered if load.n == n), None)
    around = next(((low, high) for low, high in pairwise(ordered) if low.n < n < high.n), None)
    if exact or around is None:
        return exact
    return _mix(*around, n)


def _mix(low: Load, high: Load, n: int) -> Load:
    share = (n - low.n) / (high.n - low.n)

    def straight(name: str) -> float | None:
        left, right = getattr(low, name), getattr(high, name)
        return None if left is None or right is None else left + share * (right - left)

    return Load(
        n, straight("tok_s"), straight("ttft_mean_ms"), straight("ttft_p95_ms"), straight("tpot_mean_ms"), holds=True
    )
