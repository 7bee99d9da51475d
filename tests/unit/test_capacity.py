"""How many people a plan serves, checked against the published figures; what is not known is nobody's guess."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible.module_utils.apollo import report_published
from ansible.module_utils.apollo.capacity import Capacity, People, Prices, Supply, capacity
from ansible.module_utils.apollo.service_level import Level, Load, at, largest_n
from hypothesis import given
from hypothesis import strategies as st

from tests.support.published_run import PUBLISHED, dense

PEOPLE = People(think_time_s=0, answer_tokens=1024, floor_tok_s=10)
PRICES = Prices("EUR", 4000.0, 0.30, 1.0)


def load(n: int, tok_s: float, ttft_s: float) -> Load:
    """A point of the published table; its TPOT follows by Little's law."""
    return Load(n, tok_s, 1000 * ttft_s, None, 1000 * (n * 1024 / tok_s - ttft_s) / 1023)


DENSE = [load(*row) for row in dense()]
ROW_C = PUBLISHED["results_397b"][4]
SPARSE = [load(1, ROW_C["single_tok_s"], ROW_C["single_ttft_s"]), load(32, ROW_C["best_tok_s"], ROW_C["best_ttft_s"])]


def people(think_time_s: float, **changed: Any) -> Capacity:
    wanted = replace(PEOPLE, think_time_s=think_time_s, **changed)
    return capacity(Supply("27b", 2, DENSE, 2 * 1731, 2 * 820), wanted, PRICES)


@pytest.mark.parametrize(("think_time_s", "wanted"), [(0, 256), (30, 407), (60, 559)])
def test_published_figures_of_both_nodes_carry_so_many_people(think_time_s: float, wanted: int) -> None:
    told = people(think_time_s)
    assert (told.people, told.seats, told.open_ended) == (wanted, 256, True)


def test_the_reference_of_the_report_says_the_same() -> None:
    told = report_published.rows(PUBLISHED, replace(PEOPLE, think_time_s=30), {"hardware_per_node_month": 2000})
    assert told == [
        ["27b on both nodes", "at least 407", 256, "20.2", "0.29"],
        ["397b, variant c", "at least 51", 32, "20.7", "2.30"],
    ]


def test_a_higher_floor_leaves_fewer_seats_and_says_why() -> None:
    told = people(0, floor_tok_s=30)
    assert told.seats is not None
    assert 2 * 64 < told.seats < 2 * 128
    assert told.ended_by == "speed"
    assert told.speed_tok_s == pytest.approx(30, rel=0.05)


def test_a_floor_above_one_user_serves_nobody() -> None:
    told = people(0, floor_tok_s=100)
    assert (told.people, told.cost_per_million) == (0, None)


def test_throughput_at_the_answer_length_of_the_test_is_the_measured_one() -> None:
    assert people(0).tok_s == pytest.approx(2 * 2589, rel=1e-3)


def test_cost_is_hardware_and_electricity_over_tokens() -> None:
    told = people(0)
    millions = 2 * 2589 * 3600 * 730 / 1e6
    assert told.hardware_per_million == pytest.approx(4000 / millions, rel=1e-3)
    assert told.electricity_per_million == pytest.approx(3.462 * 730 * 0.30 / millions, rel=1e-3)
    assert told.cost_per_million == pytest.approx(0.293 + 0.0557, rel=0.01)


def test_a_plan_that_idles_pays_for_it() -> None:
    supply = Supply("27b", 2, DENSE, 2 * 1731, 2 * 820)
    busy, idle = (capacity(supply, PEOPLE, replace(PRICES, utilisation=share)) for share in (1.0, 0.25))
    assert busy.hardware_per_million is not None
    assert idle.hardware_per_million == pytest.approx(4 * busy.hardware_per_million)
    assert idle.electricity_per_million is not None
    assert busy.electricity_per_million is not None
    assert idle.electricity_per_million > busy.electricity_per_million


@pytest.mark.parametrize(
    ("supply", "prices"),
    [
        (Supply("27b", 2, DENSE), PRICES),
        (Supply("27b", 2, DENSE, 3462.0, None), replace(PRICES, utilisation=0.5)),
        (Supply("27b", 2, DENSE, 3462.0, 1640.0), replace(PRICES, electricity_per_kwh=None)),
        (Supply("27b", 2, DENSE, 3462.0, 1640.0), replace(PRICES, hardware_per_month=None)),
    ],
)
def test_what_was_not_measured_or_stated_makes_no_cost(supply: Supply, prices: Prices) -> None:
    assert capacity(supply, PEOPLE, prices).cost_per_million is None


def test_the_397b_is_carried_as_far_as_it_was_printed() -> None:
    told = capacity(Supply("397b", 1, SPARSE), replace(PEOPLE, think_time_s=30), Prices())
    assert (told.seats, told.open_ended) == (32, True)
    assert told.people == 51


def test_a_point_that_broke_down_is_a_bound_and_no_way_towards_it() -> None:
    crashed = [*SPARSE, Load(64, holds=False)]
    carried = largest_n(crashed, Level(10, 1024))
    assert (carried.n, carried.ended_by, carried.open_ended) == (32, "breakdown", False)


def test_a_margin_admits_fewer() -> None:
    loads = [replace(point, ttft_p95_ms=2 * (point.ttft_mean_ms or 0)) for point in DENSE]
    level = Level(10, 1024, ttft_p95_ms=6000)
    wide, tight = (largest_n(loads, replace(level, margin=margin)) for margin in (0.0, 0.2))
    assert (wide.n, wide.ended_by) == (73, "first_token")
    assert tight.n is not None
    assert tight.n < 64


def test_a_limit_on_what_was_not_measured_does_not_hold() -> None:
    carried = largest_n(DENSE, Level(10, 1024, ttft_p95_ms=5000))
    assert (carried.n, carried.ended_by) == (None, "not_measured")
    assert largest_n([], Level(10, 1024)).n is None


@given(st.floats(1, 80), st.integers(2, 8192))
def test_what_is_carried_holds_the_level_itself(floor_tok_s: float, tokens: int) -> None:
    level = Level(floor_tok_s, tokens)
    carried = largest_n(DENSE, level)
    if carried.n:
        point = at(DENSE, carried.n)
        assert point is not None
        assert (point.speed_tok_s(tokens) or 0) >= floor_tok_s * (1 - 1e-9)


@given(st.floats(0, 600), st.floats(0, 600))
def test_more_thinking_never_means_fewer_people(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert (people(low).people or 0) <= (people(high).people or 0)
