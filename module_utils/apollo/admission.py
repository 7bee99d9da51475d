"""From a sweep to limits: how many requests the gateway lets in, so that those who are let in keep their level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ansible.module_utils.apollo.service_level import SWEEP, Level, Load, at, largest_n

WAIT_SHARE = 0.5  # a full queue is the rule under an overload; the other half is for places that come free unevenly


@dataclass(frozen=True)
class Admission:
    """What a plan's gateway and its engines should carry; None where the measurement gives nothing to admit."""

    cap_per_endpoint: int | None
    max_num_seqs: int | None
    queue_limit: int | None
    why: str


def admission(loads: Sequence[Load], level: Level, endpoints: int = 1, waiting_s: float = 10.0) -> Admission:
    """The largest N that holds the level with its margin; a queue as long as drains before the first token is late."""
    carried = largest_n(loads, level)
    if not carried.n:
        return Admission(None, None, None, f"nobody can be let in: {_told(carried.ended_by)}")
    seconds = _answer_s(loads, carried.n, level.answer_tokens)
    wait = _wait_s(loads, carried.n, level, waiting_s)
    queue = None if seconds is None else max(1, int(endpoints * carried.n * wait / seconds))
    margin = f" with a margin of {100 * level.margin:.0f} %" if level.margin else ""
    return Admission(carried.n, carried.n, queue, f"N={carried.n} holds the level{margin}; {_told(carried.ended_by)}")


def _told(ended_by: str) -> str:
    if ended_by == SWEEP:
        return "more was not measured, so more is not let in"
    return f"beyond it: {ended_by.replace('_', ' ')}"


def _wait_s(loads: Sequence[Load], n: int, level: Level, longest_s: float) -> float:
    """Who waits at the gateway waits for the first token too, so the wait is a part of what the level leaves."""
    full = at(loads, n)
    if level.ttft_p95_ms is None or full is None or full.ttft_p95_ms is None:
        return longest_s
    return max(0.0, min(longest_s, WAIT_SHARE * (level.ttft_p95_ms - full.ttft_p95_ms) / 1000))


def _answer_s(loads: Sequence[Load], n: int, tokens: int) -> float | None:
    """Of the measured point at or above n: an engine at its cap is as slow as that at most."""
    above = sorted((load for load in loads if load.n >= n and load.holds), key=lambda load: load.n)
    return above[0].answer_s(tokens) if above else None
