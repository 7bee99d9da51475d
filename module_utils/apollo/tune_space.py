"""What is searched: dimensions with their values, the ladder of N, and what a setting must hold to count at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

Setting = Mapping[str, Any]
Rule = Callable[[Setting], str]  # why a setting cannot work, by fit or physics; empty where it may


def nothing_excluded(_: Setting) -> str:
    return ""


@dataclass(frozen=True)
class Dimension:
    """One thing to choose, values in order; `raises_load` says that a larger one strains the engine more."""

    name: str
    values: Sequence[Any]
    start: Any
    raises_load: bool = False


@dataclass(frozen=True)
class Space:
    """The first dimension is tried in full, the others are climbed from its winner, one after another.

    Every setting climbs the whole ladder before it may win: its top is the load that the service must survive, so it
    should be about twice the N that is to be admitted.
    """

    dimensions: Sequence[Dimension]
    ladder: Sequence[int]
    ttft_p95_ms: float
    floor_tok_s: float
    noise: float = 0.02  # a gain within it is none
    rule: Rule = field(default=nothing_excluded)

    @property
    def start(self) -> dict[str, Any]:
        return {dimension.name: dimension.start for dimension in self.dimensions}

    @property
    def full_grid(self) -> int:
        """How many settings there are, each of which a full grid would start an engine for."""
        return prod(len(dimension.values) for dimension in self.dimensions)

    def first(self) -> Iterator[dict[str, Any]]:
        """The first dimension's values, what stands now before all others: a good incumbent stops many early."""
        dimension = self.dimensions[0]
        others = [value for value in dimension.values if value != dimension.start]
        for value in (dimension.start, *others):
            yield {**self.start, dimension.name: value}


def key(setting: Setting) -> str:
    """A setting as one word, the same for the same values."""
    return ", ".join(f"{name}={value}" for name, value in sorted(setting.items()))


def strains_at_least(space: Space, one: Setting, other: Setting) -> bool:
    """Whether the first setting is the second one or differs from it only by straining the engine more."""
    raising = {dimension.name: list(dimension.values) for dimension in space.dimensions if dimension.raises_load}
    return all(
        raising[name].index(value) >= raising[name].index(other[name]) if name in raising else value == other[name]
        for name, value in one.items()
    )


@dataclass(frozen=True)
class Forecast:
    """What a search would do at most, said before it starts."""

    starts: int
    points: int
    minutes: float
    full_grid_starts: int
    excluded: Mapping[str, str]

    @property
    def line(self) -> str:
        return (
            f"at most {self.starts} engine starts and {self.points} points, about {self.minutes:.0f} minutes; "
            f"a full grid would start {self.full_grid_starts} times"
        )


def forecast(space: Space, start_minutes: float, point_minutes: float) -> Forecast:
    """The worst case: nothing can be stopped early, and every climb goes to the end."""
    told = {key(setting): space.rule(setting) for setting in space.first()}
    excluded = {name: why for name, why in told.items() if why}
    starts = len(told) - len(excluded) + sum(len(dimension.values) - 1 for dimension in space.dimensions[1:])
    points = starts * len(space.ladder)
    minutes = starts * start_minutes + points * point_minutes
    return Forecast(starts, points, minutes, space.full_grid, excluded)
