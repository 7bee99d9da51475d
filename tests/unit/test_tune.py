"""On the surface that the published figures imply, the search finds C with few starts, and what crashed never wins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from ansible.module_utils.apollo.tune import Observation, Standing, search
from ansible.module_utils.apollo.tune_space import Dimension, Space, forecast, key
from hypothesis import given
from hypothesis import strategies as st

from tests.support.published_surface import ROWS, observe

VARIANTS = Dimension("variant", ("base", "pp", "a", "b", "c", "d"), "base")
SEATS = Dimension("max-num-seqs", (16, 32, 64, 128), 64, raises_load=True)
SHARE = Dimension("gpu-memory-utilization", (0.86, 0.90, 0.92), 0.90, raises_load=True)
SPACE = Space((VARIANTS, SEATS, SHARE), (32, 64), ttft_p95_ms=8000, floor_tok_s=10)
GRID_OF_THE_PUBLISHED_TEST = len(VARIANTS.values) * 5  # it started the engine anew for each of five N

Measure = Callable[[Mapping[str, Any], int], Observation]


def drive(space: Space, measure: Measure = observe) -> tuple[Standing, list[Observation]]:
    """Ask for a step and measure it, until the search is over."""
    seen: list[Observation] = []
    standing = search(space, seen)
    while standing.next_step is not None:
        seen.append(measure(standing.next_step.setting, standing.next_step.n))
        standing = search(space, seen)
        assert len(seen) < 200
    return standing, seen


def variant(standing: Standing) -> str:
    assert standing.winner is not None
    return str(standing.winner.setting["variant"])


def test_c_is_the_best_stable_setting_in_less_than_half_the_starts_of_a_grid() -> None:
    standing, _ = drive(SPACE)
    assert variant(standing) == "c"
    assert standing.winner is not None
    assert standing.winner.n == 32
    assert standing.winner.tok_s == pytest.approx(661)
    assert standing.starts <= SPACE.full_grid / 2


def test_variants_alone_take_less_than_half_the_starts_of_the_published_test() -> None:
    standing, _ = drive(replace(SPACE, dimensions=(VARIANTS,)))
    assert variant(standing) == "c"
    assert standing.starts <= GRID_OF_THE_PUBLISHED_TEST / 2


@pytest.mark.parametrize("start", VARIANTS.values)
def test_wherever_it_starts_c_wins_and_d_does_not(start: str) -> None:
    space = replace(SPACE, dimensions=(replace(VARIANTS, start=start), SEATS, SHARE))
    standing, _ = drive(space)
    assert variant(standing) == "c"
    assert "broke down at N=64" in standing.ended[key({**space.start, "variant": "d"})]


@given(st.integers(0, 1000), st.sampled_from(VARIANTS.values))
def test_noise_of_one_percent_changes_neither(seed: int, start: str) -> None:
    random = Random(seed)
    space = replace(SPACE, dimensions=(replace(VARIANTS, start=start), SEATS, SHARE))
    standing, _ = drive(space, lambda setting, n: observe(setting, n, random.uniform(-0.01, 0.01)))
    assert variant(standing) == "c"
    assert standing.starts <= SPACE.full_grid / 2


def test_d_is_faster_where_nobody_asks_whether_it_survives() -> None:
    """The ladder is what makes the difference: without its top D would win, as the published 693 shows."""
    standing, _ = drive(replace(SPACE, dimensions=(VARIANTS,), ladder=(32,)))
    assert variant(standing) == "d"


def test_a_setting_that_cannot_win_any_more_is_stopped() -> None:
    """Base gives 119 tok/s to 16 users: four times as many could not make the 661 of C out of that."""
    patient = replace(SPACE, ladder=(16, 32, 64), floor_tok_s=5)
    standing, seen = drive(replace(patient, dimensions=(replace(VARIANTS, start="c"),)))
    assert standing.ended[key({"variant": "base"})] == "cannot win any more"
    assert [point.n for point in seen if point.setting["variant"] == "base"] == [16]


def test_a_setting_that_serves_too_badly_climbs_no_further() -> None:
    standing, seen = drive(replace(SPACE, dimensions=(VARIANTS,)))
    assert standing.ended[key({"variant": "base"})] == "does not hold the service level at any N"
    assert [point.n for point in seen if point.setting["variant"] == "base"] == [32]


def test_what_physics_rules_out_is_never_started() -> None:
    space = replace(SPACE, rule=lambda setting: "does not fit" if setting["variant"] == "pp" else "")
    standing, seen = drive(space)
    assert not [point for point in seen if point.setting["variant"] == "pp"]
    assert "does not fit" in standing.ended.values()
    assert list(forecast(space, 15, 3).excluded.values()) == ["does not fit"]


def test_a_breakdown_is_a_bound_for_whatever_strains_more() -> None:
    def fragile(setting: Mapping[str, Any], n: int) -> Observation:
        crowded = setting["gpu-memory-utilization"] >= 0.92
        return Observation(setting, n, crashed=True) if crowded else observe(setting, n)

    wide = Dimension("gpu-memory-utilization", (0.86, 0.92, 0.95), 0.86, raises_load=True)
    standing, seen = drive(replace(SPACE, dimensions=(VARIANTS, wide)), fragile)
    assert variant(standing) == "c"
    assert not [point for point in seen if point.setting["gpu-memory-utilization"] == 0.95]


def test_what_strains_more_than_what_broke_down_is_ruled_out_unseen() -> None:
    """Of the first dimension every value is tried, unless it strains the engine more than one at which it died."""
    wide = Dimension("gpu-memory-utilization", (0.86, 0.92, 0.95), 0.92, raises_load=True)

    def fragile(setting: Mapping[str, Any], n: int) -> Observation:
        crowded = setting["gpu-memory-utilization"] >= 0.92
        return Observation(setting, n, crashed=True) if crowded else observe(setting, n)

    standing, seen = drive(replace(SPACE, dimensions=(wide, replace(VARIANTS, start="c"))), fragile)
    assert {point.setting["gpu-memory-utilization"] for point in seen} == {0.92, 0.86}
    why = standing.ended[key({"gpu-memory-utilization": 0.95, "variant": "c"})]
    assert why.startswith("strains more than ")
    assert why.endswith("which broke down at N=32")


def test_what_is_better_by_less_than_noise_takes_no_place() -> None:
    space = replace(SPACE, dimensions=(replace(VARIANTS, values=("c",), start="c"), SEATS))

    def with_more_seats(factor: float) -> Measure:
        def measure(setting: Mapping[str, Any], n: int) -> Observation:
            seen = observe({**setting, "max-num-seqs": 64}, n)
            crowded = setting["max-num-seqs"] == 128
            return replace(seen, setting=setting, tok_s=(seen.tok_s or 0.0) * (factor if crowded else 1))

        return measure

    for factor, seats in ((1 + space.noise / 2, 64), (1 + 2 * space.noise, 128)):
        standing, _ = drive(space, with_more_seats(factor))
        assert standing.winner is not None
        assert standing.winner.setting["max-num-seqs"] == seats


def test_an_interrupted_search_goes_on_with_the_very_next_step() -> None:
    _, seen = drive(SPACE)
    for cut in range(len(seen)):
        resumed = search(SPACE, seen[:cut])
        assert resumed.next_step is not None
        assert (key(resumed.next_step.setting), resumed.next_step.n) == (key(seen[cut].setting), seen[cut].n)
    assert search(SPACE, seen).next_step is None


def test_it_never_does_more_than_it_said_before() -> None:
    said = forecast(SPACE, start_minutes=15, point_minutes=4)
    standing, seen = drive(SPACE)
    assert standing.starts <= said.starts
    assert len(seen) <= said.points
    assert said.line == "at most 11 engine starts and 22 points, about 253 minutes; a full grid would start 72 times"


def test_nothing_wins_where_nothing_holds_the_level() -> None:
    standing, _ = drive(replace(SPACE, floor_tok_s=1000))
    assert standing.winner is None
    assert standing.next_step is None


@pytest.mark.parametrize("lost", [{"tok_s": None}, {"failed_requests": 1}, {"crashed": True}])
def test_what_was_not_measured_or_failed_never_wins(lost: dict[str, Any]) -> None:
    standing, _ = drive(
        replace(SPACE, dimensions=(VARIANTS,)),
        lambda setting, n: replace(observe(setting, n), **lost) if setting["variant"] == "c" else observe(setting, n),
    )
    assert variant(standing) == "a"


def test_the_surface_goes_through_the_printed_points() -> None:
    for name, row in ROWS.items():
        assert observe({"variant": name}, 1).tok_s == pytest.approx(row["single_tok_s"])
        assert observe({"variant": name}, row["best_n"]).tok_s == pytest.approx(row["best_tok_s"])
