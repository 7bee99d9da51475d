"""Where the time of a turn went is told with it, and adds up."""

from __future__ import annotations

import pytest
from ansible.module_utils.apollo import bench_spent as core

HASH = "00000000000000ab"
BEGAN = {"event": "point_started", "hash": HASH, "attempt": 1, "at_s": 1000.0}
RUN = {
    **{"event": "run", "hash": HASH, "attempt": 1, "barrier_s": 1040.0, "load_ended_s": 1050.0, "warm_up_s": 2.0},
    "engine_start": {"start_s": 30.0, "ready_at_s": 1036.0},
}
LATER = {**RUN, "barrier_s": 1040.5, "load_ended_s": 1051.0, "engine_start": {"start_s": 28.0, "ready_at_s": 1034.0}}
ENDED = {"event": "point_ended", "hash": HASH, "attempt": 1, "idle_s": 3.0}


def test_the_parts_add_up_to_the_whole() -> None:
    told = core.spent([BEGAN, RUN, LATER], ENDED, 1053.0)
    parts = {"load_s": 11.0, "warm_up_s": 2.0, "server_start_s": 30.0, "idle_s": 3.0, "outside_s": 7.0}
    assert told == {"total_s": 53.0, **parts}
    assert sum(parts.values()) == told["total_s"]


def test_engines_that_served_before_took_no_time_of_this_turn() -> None:
    early = {**RUN, "engine_start": {"start_s": 30.0, "ready_at_s": 990.0}}
    assert core.spent([BEGAN, early], ENDED, 1053.0)["server_start_s"] == 0
    assert core.spent([BEGAN, {**RUN, "engine_start": None}], ENDED, 1053.0)["server_start_s"] == 0


def test_a_turn_without_a_load_has_no_split() -> None:
    failed = {**RUN, "barrier_s": None, "load_ended_s": None}
    told = core.spent([BEGAN, failed], ENDED, 1053.0)
    assert (told["total_s"], told["load_s"], told["outside_s"]) == (53.0, None, None)
    assert core.spent([], ENDED, 1053.0)["total_s"] is None


def test_only_this_attempt_counts() -> None:
    earlier = {**RUN, "barrier_s": 1.0, "load_ended_s": 900.0, "attempt": 0}
    assert core.spent([earlier, BEGAN, RUN], ENDED, 1053.0)["load_s"] == 10.0


def test_the_line_tells_turns_with_and_without_a_start_apart() -> None:
    with_start = {**ENDED, "spent": core.spent([BEGAN, RUN], ENDED, 1053.0)}
    split = core.spent([BEGAN, RUN], ENDED, 1053.0)
    repeat = {**ENDED, "spent": {**split, "server_start_s": 0.0, "outside_s": 2.0}}
    told = core.summary([with_start, repeat, repeat, {"event": "point_ended"}])
    assert told.startswith("3 runs: 30.0 s of load, 6.0 s of warm-up, 30.0 s of engines' starts, 9.0 s of idleness;")
    assert told.endswith("8.0 s with a start of engines (1), 2.0 s without (2)")
    assert core.summary([{"event": "point_ended"}]) == ""


@pytest.mark.parametrize("key", ["barrier_s", "load_ended_s"])
def test_a_run_without_a_window_is_left_out(key: str) -> None:
    assert core.spent([BEGAN, {**RUN, key: None}, LATER], ENDED, 1053.0)["load_s"] == 10.5
