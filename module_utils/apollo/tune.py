"""Find the setting that serves best, with few engine starts, since each of them takes minutes.

Settings race up a ladder of N. One that cannot win any more is stopped, one that breaks down is a bound for all that
strain the engine more, and only one that survived the whole ladder may win. The search is a function of what was
observed: given the same observations it asks for the same next step, so it resumes wherever it was interrupted.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible.module_utils.apollo.tune_space import Dimension, Setting, Space, key, strains_at_least


@dataclass(frozen=True)
class Step:
    """What to measure next. A new setting needs a start of the engine, a further N of the same one does not."""

    setting: Setting
    n: int
    needs_start: bool


@dataclass(frozen=True)
class Observation:
    """What came of a step; a figure that was not measured is None and holds nothing."""

    setting: Setting
    n: int
    tok_s: float | None = None
    ttft_p95_ms: float | None = None
    user_tok_s: float | None = None
    failed_requests: int = 0
    crashed: bool = False
    ruled_out: str = ""  # why it was not even started

    @property
    def broke(self) -> bool:
        return self.crashed or self.failed_requests > 0 or self.tok_s is None

    def holds(self, space: Space) -> bool:
        known = self.ttft_p95_ms is not None and self.user_tok_s is not None
        fast = (self.ttft_p95_ms or 0.0) <= space.ttft_p95_ms and (self.user_tok_s or 0.0) >= space.floor_tok_s
        return not self.broke and known and fast


@dataclass(frozen=True)
class Winner:
    """The best setting so far, and the point at which it gives that much while everyone is served well enough."""

    setting: Setting
    tok_s: float
    n: int


@dataclass
class Standing:
    """Where the search is: who leads, what each setting came to, how many engine starts that took."""

    winner: Winner | None = None
    ended: dict[str, str] = field(default_factory=dict)
    crashes: list[Observation] = field(default_factory=list)
    starts: int = 0
    next_step: Step | None = None


Search = Generator[Step, Observation, None]


def search(space: Space, observations: Sequence[Observation]) -> Standing:
    """The standing after these observations, with the next step; None for it when the search is over."""
    known = {(key(seen.setting), seen.n): seen for seen in observations}
    standing = Standing()
    steps = _search(space, standing)
    step = next(steps, None)
    while step is not None and (key(step.setting), step.n) in known:
        standing.starts += step.needs_start and not known[key(step.setting), step.n].ruled_out
        step = _send(steps, known[key(step.setting), step.n])
    standing.next_step = step
    return standing


def _send(steps: Search, seen: Observation) -> Step | None:
    try:
        return steps.send(seen)
    except StopIteration:
        return None


def _search(space: Space, standing: Standing) -> Search:
    for setting in space.first():
        yield from _race(space, setting, standing, gain=0.0)
    for dimension in space.dimensions[1:]:
        if standing.winner is not None:
            yield from _climb(space, dimension, standing)


def _climb(space: Space, dimension: Dimension, standing: Standing) -> Search:
    """From the winner's value upwards while that helps; where it did not help at all, downwards."""
    at = list(dimension.values).index(_value(standing, dimension))
    for direction in (1, -1):
        place, climbed = at + direction, False
        while 0 <= place < len(dimension.values):
            before = standing.winner
            setting = {**_setting(standing), dimension.name: dimension.values[place]}
            yield from _race(space, setting, standing, gain=space.noise)
            if standing.winner is before:
                break
            place, climbed = place + direction, True
        if climbed:
            return


def _race(space: Space, setting: Setting, standing: Standing, gain: float) -> Search:
    """Up the ladder until the setting breaks, cannot win any more, or has survived all of it."""
    why = space.rule(setting) or _bound(space, setting, standing)
    if why:
        standing.ended[key(setting)] = why
        return
    seen: list[Observation] = []
    for n in space.ladder:
        if seen and not any(point.holds(space) for point in seen):
            break  # who is served too badly is served no better among more
        if _cannot_win(space, seen, standing.winner):
            standing.ended[key(setting)] = "cannot win any more"
            return
        seen.append((yield Step(setting, n, needs_start=not seen)))
        if seen[-1].broke:
            standing.crashes += [seen[-1]] if seen[-1].crashed else []
            standing.ended[key(setting)] = seen[-1].ruled_out or _how_it_broke(seen[-1])
            return
    _finish(space, setting, seen, standing, gain)


def _how_it_broke(seen: Observation) -> str:
    return f"{'broke down' if seen.crashed else 'does not count'} at N={seen.n}"


def _finish(space: Space, setting: Setting, seen: Sequence[Observation], standing: Standing, gain: float) -> None:
    holding = [point for point in seen if point.holds(space)]
    if not holding:
        standing.ended[key(setting)] = "does not hold the service level at any N"
        return
    most = max(point.tok_s or 0.0 for point in holding)
    best = next(point for point in holding if (point.tok_s or 0.0) >= most * (1 - space.noise))  # the smallest such N
    standing.ended[key(setting)] = f"{best.tok_s:.4g} tok/s at N={best.n}"
    if standing.winner is None or (best.tok_s or 0.0) > standing.winner.tok_s * (1 + gain):
        standing.winner = Winner(setting, best.tok_s or 0.0, best.n)


def _cannot_win(space: Space, seen: Sequence[Observation], winner: Winner | None) -> bool:
    """With more users the throughput grows at best in proportion, and who came too late comes no earlier."""
    if not seen or winner is None:
        return False
    last, top = seen[-1], space.ladder[-1]
    so_far = max((point.tok_s or 0.0 for point in seen if point.holds(space)), default=0.0)
    ahead = (last.tok_s or 0.0) * top / last.n if last.holds(space) else 0.0
    return max(so_far, ahead) * (1 + space.noise) < winner.tok_s


def _bound(space: Space, setting: Setting, standing: Standing) -> str:
    """A breakdown rules out whatever strains the engine at least as much."""
    below = next((crash for crash in standing.crashes if strains_at_least(space, setting, crash.setting)), None)
    if below is None:
        return ""
    how = "does not fit" if below.ruled_out else f"broke down at N={below.n}"
    return f"strains more than {key(below.setting)}, which {how}"


def _value(standing: Standing, dimension: Dimension) -> Any:
    return _setting(standing)[dimension.name]


def _setting(standing: Standing) -> Mapping[str, Any]:
    return standing.winner.setting if standing.winner else {}
