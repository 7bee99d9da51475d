"""What the gateway lets in follows from what was measured, never from what was not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible.module_utils.apollo.admission import admission
from ansible.module_utils.apollo.service_level import Level, Load

LOADS = [
    Load(1, 69, 300, 400, 14.2),
    Load(32, 1306, 1500, 2500, 23.1),
    Load(64, 2093, 2600, 4500, 28.1),
    Load(128, 2589, 5400, 9000, 44.2),
]
LEVEL = Level(floor_tok_s=10, answer_tokens=1024, ttft_p95_ms=5000, margin=0.1)


def test_the_largest_n_that_holds_the_level_with_a_margin_is_let_in() -> None:
    told = admission(LOADS, LEVEL)
    assert told.cap_per_endpoint == told.max_num_seqs == 64
    assert told.why == "N=64 holds the level with a margin of 10 %; beyond it: first token"


def test_towards_a_breakdown_nothing_is_added_however_well_it_was_served_until_then() -> None:
    broken = replace(LOADS[2], tok_s=9000, ttft_p95_ms=100, holds=False)
    assert admission([*LOADS[:2], broken], LEVEL).cap_per_endpoint == 32


def test_a_wider_margin_lets_in_fewer() -> None:
    told = admission(LOADS, replace(LEVEL, margin=0.5))
    assert told.cap_per_endpoint is not None
    assert 32 < told.cap_per_endpoint < 64


def test_the_queue_drains_within_the_wait() -> None:
    free = replace(LEVEL, ttft_p95_ms=None)
    assert admission(LOADS[:3], free, waiting_s=10).queue_limit == 20
    assert admission(LOADS[:3], free, waiting_s=60).queue_limit == 122


def test_who_waits_at_the_gateway_still_gets_the_first_token_in_time() -> None:
    assert admission(LOADS[:3], replace(LEVEL, ttft_p95_ms=8000)).queue_limit == 3  # half of 3.5 s
    assert admission(LOADS, LEVEL).queue_limit == 1


def test_all_endpoints_drain_the_one_queue() -> None:
    assert admission(LOADS[:3], replace(LEVEL, ttft_p95_ms=8000), endpoints=2).queue_limit == 7


def test_more_than_was_measured_is_not_let_in() -> None:
    told = admission(LOADS[:2], LEVEL)
    assert (told.cap_per_endpoint, told.why.split("; ")[1]) == (32, "more was not measured, so more is not let in")


def test_a_breakdown_is_a_bound() -> None:
    told = admission([*LOADS[:2], Load(64, holds=False)], LEVEL)
    assert (told.cap_per_endpoint, told.why.split("; ")[1]) == (32, "beyond it: breakdown")


@pytest.mark.parametrize(
    "loads", [[], [Load(1, holds=False)], [Load(1, 69, 300, None, 14.2)], [Load(1, 5, 300, 400, 200)]]
)
def test_nobody_is_let_in_where_nothing_holds(loads: list[Load]) -> None:
    told = admission(loads, LEVEL)
    assert (told.cap_per_endpoint, told.max_num_seqs, told.queue_limit) == (None, None, None)
    assert told.why.startswith("nobody can be let in: ")
