"""How many people a plan serves, and what a million tokens of it cost: the first question of whoever pays for it.

People think between two answers, so more of them share a plan than it has seats: S = N (R + Z) / R, with N answers
being written at once, R seconds for one, and Z seconds of thinking after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ansible.module_utils.apollo.service_level import Level, Load, at, largest_n

HOURS_PER_MONTH = 730.0


@dataclass(frozen=True)
class People:
    """What people do: how long they think between answers, how long answers are, how fast these must come."""

    think_time_s: float
    answer_tokens: int
    floor_tok_s: float


@dataclass(frozen=True)
class Prices:
    """What a site pays; None is a price that nobody stated."""

    currency: str = "EUR"
    hardware_per_month: float | None = None  # for all nodes of the plan
    electricity_per_kwh: float | None = None
    cloud_per_million_tokens: float | None = None
    utilisation: float = 1.0  # share of the month in which the plan is loaded as at the stated point


@dataclass(frozen=True)
class Supply:
    """What serves: endpoints that are alike, their sweep, and the power of all nodes of the plan."""

    plan: str
    endpoints: int
    loads: Sequence[Load]
    load_w: float | None = None
    idle_w: float | None = None


@dataclass(frozen=True)
class Capacity:
    """One row of the answer; None where something that it needs was not measured or not stated."""

    plan: str
    seats: int | None
    people: int | None
    open_ended: bool
    ended_by: str
    speed_tok_s: float | None = None
    answer_s: float | None = None
    tok_s: float | None = None
    hardware_per_million: float | None = None
    electricity_per_million: float | None = None
    first_s: float | None = None  # mean time to the first token there

    @property
    def cost_per_million(self) -> float | None:
        if self.hardware_per_million is None or self.electricity_per_million is None:
            return None
        return self.hardware_per_million + self.electricity_per_million


def capacity(supply: Supply, people: People, prices: Prices) -> Capacity:
    """The largest load that keeps everyone above the floor, as people and as money."""
    carried = largest_n(supply.loads, Level(people.floor_tok_s, people.answer_tokens))
    point = at(supply.loads, carried.n) if carried.n else None
    seconds = point.answer_s(people.answer_tokens) if point else None
    if point is None or carried.n is None or seconds is None:
        nobody = 0 if carried.n == 0 else None
        return Capacity(supply.plan, nobody, nobody, carried.open_ended, carried.ended_by)
    seats = carried.n * supply.endpoints
    tok_s = seats * people.answer_tokens / seconds
    return Capacity(
        supply.plan,
        seats,
        int(seats * (seconds + people.think_time_s) / seconds),
        carried.open_ended,
        carried.ended_by,
        point.speed_tok_s(people.answer_tokens),
        seconds,
        tok_s,
        _hardware(tok_s, prices),
        _electricity(tok_s, supply, prices),
        None if point.ttft_mean_ms is None else point.ttft_mean_ms / 1000,
    )


def million_tokens_per_month(tok_s: float, prices: Prices) -> float:
    return tok_s * 3600 * HOURS_PER_MONTH * prices.utilisation / 1e6


def _hardware(tok_s: float, prices: Prices) -> float | None:
    millions = million_tokens_per_month(tok_s, prices)
    return None if prices.hardware_per_month is None or not millions else prices.hardware_per_month / millions


def _electricity(tok_s: float, supply: Supply, prices: Prices) -> float | None:
    """Loaded for a share of the month, idle for the rest of it."""
    idle_share, millions = 1 - prices.utilisation, million_tokens_per_month(tok_s, prices)
    if prices.electricity_per_kwh is None or supply.load_w is None or not millions:
        return None
    if idle_share > 0 and supply.idle_w is None:
        return None
    watts = prices.utilisation * supply.load_w + idle_share * (supply.idle_w or 0.0)
    return watts / 1000 * HOURS_PER_MONTH * prices.electricity_per_kwh / millions
