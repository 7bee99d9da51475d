"""A busy engine must make progress, an idle one is asked now and then."""

from __future__ import annotations

import pytest
from ansible.module_utils.apollo import pulse
from ansible.module_utils.apollo.pulse import Look, Pulse


def felt(look: Look | None, now: float, before: Pulse | None = None) -> str:
    return pulse.feel(before or Pulse(5, 100), look, now, idle_s=60, stall_s=300)[1]


@pytest.mark.parametrize(
    ("look", "now", "told"),
    [
        (None, 101, pulse.ASK),
        (Look(0, 6), 900, pulse.REST),
        (Look(0, 5), 159, pulse.REST),
        (Look(0, 5), 160, pulse.ASK),
        (Look(1, 5), 400, pulse.REST),
        (Look(1, 5), 401, pulse.STALLED),
        (Look(1, 6), 401, pulse.REST),
    ],
)
def test_what_the_counters_ask_for(look: Look | None, now: float, told: str) -> None:
    assert felt(look, now) == told


def test_an_idle_engine_is_left_alone_after_each_token() -> None:
    asked, _ = pulse.feel(Pulse(5, 100), Look(0, 5), 160, idle_s=60, stall_s=300)
    after, told = pulse.feel(asked, Look(0, 6), 170, idle_s=60, stall_s=300)
    assert (after, told) == (Pulse(6, 170), pulse.REST)
