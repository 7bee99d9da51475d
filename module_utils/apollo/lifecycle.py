"""One life for all ranks of a replica: what each rank does, and what the head wants of all of them.

Pure: no clock, no network. Standard library only, since the keeper on the nodes uses this file too.

The head states again and again which start (``generation``) it wants to run, or none; a rank obeys
what it heard last, and nothing once it hears nothing. A lost message therefore changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

CLEARING, BLOCKED, FREE, RUNNING = "clearing", "blocked", "free", "running"
GATHERING, LOADING, READY, FAILED = "gathering", "loading", "ready", "failed"
ALIVE = (LOADING, READY)
RUN, CLEAR = "run", "clear"
NOTHING = 0


@dataclass(frozen=True)
class Rules:
    """How long and how often."""

    start_timeout_s: float = 1800
    restart_limit: int = 5
    restart_window_s: float = 3600
    # An engine that served for so long did not end because of how it is started.
    stable_s: float = 600
    delay_s: float = 5
    longest_delay_s: float = 40
    failed_tokens_limit: int = 3


@dataclass(frozen=True)
class Rank:
    """What one rank does. ``generation`` is the start that it runs, or ran last."""

    phase: str = CLEARING
    generation: int = NOTHING
    reason: str = ""


@dataclass(frozen=True)
class Replica:
    """What the head knows of the whole: its phase since when, its starts, its unplanned ends."""

    phase: str = GATHERING
    since: float = 0.0
    generation: int = NOTHING
    starts: int = 0
    not_before: float = 0.0
    ends: tuple[float, ...] = ()
    failed_tokens: int = 0
    reason: str = ""


def obey(rank: Rank, wanted: int) -> tuple[Rank, str]:
    """Give what the rank does next when the head wants this start, and the action that brings it there."""
    if rank.phase == RUNNING and wanted != rank.generation:
        return replace(rank, phase=CLEARING), CLEAR
    if rank.phase == FREE and wanted > rank.generation:
        return Rank(RUNNING, wanted), RUN
    return rank, ""


def ended(rank: Rank, generation: int, reason: str) -> tuple[Rank, str]:
    """The engine of this start has ended by itself; its exit code is of no interest."""
    if rank.phase == RUNNING and rank.generation == generation:
        return Rank(CLEARING, generation, reason), CLEAR
    return rank, ""


def cleared(rank: Rank, faults: Sequence[str]) -> Rank:
    """Nothing of the engine is left and its GPUs are proved free, or these faults say why not."""
    if rank.phase not in (CLEARING, BLOCKED):
        return rank
    return replace(rank, phase=BLOCKED, reason="; ".join(faults)) if faults else replace(rank, phase=FREE)


def decide(replica: Replica, ranks: Sequence[Rank | None], now: float, rules: Rules) -> Replica:
    """Start when every rank is free, end everything as soon as one rank is not as it should be.

    ``ranks`` are in order, the head's own first; None is a rank that nothing is heard of.
    """
    if replica.phase == GATHERING:
        return _gather(replica, ranks, now)
    if replica.phase not in ALIVE:
        return replica
    lost = next((fault for number, rank in enumerate(ranks) if (fault := _fault(replica, number, rank))), "")
    if lost:
        return end(replica, lost, now, rules)
    if replica.phase == LOADING and now - replica.since > rules.start_timeout_s:
        return end(replica, f"no token within {rules.start_timeout_s:.0f} s", now, rules)
    return replica


def wanted(replica: Replica, ranks: Sequence[Rank | None], number: int) -> int:
    """Give the start that this rank shall run. The head's own engine waits for all workers'."""
    if replica.phase not in ALIVE:
        return NOTHING
    workers = ranks[1:]
    if number == 0 and not all(_runs(rank, replica.generation) for rank in workers):
        return NOTHING
    return replica.generation


def answered(replica: Replica, generation: int, now: float) -> Replica:
    """The head has generated a token."""
    if generation != replica.generation or replica.phase not in ALIVE:
        return replica
    if replica.phase == LOADING:
        return replace(replica, phase=READY, since=now, failed_tokens=0, reason="")
    return replace(replica, failed_tokens=0)


def failed_token(replica: Replica, generation: int, why: str, now: float, rules: Rules) -> Replica:
    """A healthy head has failed a request; a second and a third time ends it."""
    if generation != replica.generation or replica.phase not in ALIVE:
        return replica
    failed = replica.failed_tokens + 1
    if failed >= rules.failed_tokens_limit:
        return end(replica, f"{failed} requests for one token failed: {why}", now, rules)
    return replace(replica, failed_tokens=failed)


def end(replica: Replica, reason: str, now: float, rules: Rules) -> Replica:
    """End this start: gather anew after a pause, or give up after too many of them."""
    stable = replica.phase == READY and now - replica.since >= rules.stable_s
    recent = () if stable else tuple(time for time in replica.ends if now - time < rules.restart_window_s)
    ends = (*recent, now)
    over = replace(replica, since=now, ends=ends, failed_tokens=0, reason=reason)
    if len(ends) >= rules.restart_limit:
        told = (
            f"{len(ends)} ends within {rules.restart_window_s:.0f} s, {rules.restart_limit} allowed; the last: {reason}"
        )
        return replace(over, phase=FAILED, reason=told)
    return replace(over, phase=GATHERING, not_before=now + delay_s(len(ends), rules))


def delay_s(ends: int, rules: Rules) -> float:
    """The first return is immediate, the next ones wait longer each time."""
    return 0.0 if ends <= 1 else min(rules.delay_s * 2.0 ** (ends - 2), rules.longest_delay_s)


def waits_for(ranks: Sequence[Rank | None]) -> str:
    """Say which ranks keep a replica from starting, and why; empty when none does."""
    told = [
        f"rank {number} " + ("does not answer" if rank is None else f"is {rank.phase} {rank.reason}".strip())
        for number, rank in enumerate(ranks)
        if rank is None or rank.phase != FREE
    ]
    return ", ".join(told)


def _gather(replica: Replica, ranks: Sequence[Rank | None], now: float) -> Replica:
    if now < replica.not_before or not all(rank is not None and rank.phase == FREE for rank in ranks):
        return replica
    following = max(replica.generation, *(rank.generation for rank in ranks if rank)) + 1
    return replace(replica, phase=LOADING, since=now, generation=following, starts=replica.starts + 1)


def _fault(replica: Replica, number: int, rank: Rank | None) -> str:
    if rank is None:
        return f"rank {number} does not answer"
    if _runs(rank, replica.generation):
        return ""
    if rank.phase == FREE and rank.generation < replica.generation and replica.phase == LOADING:
        return ""  # it has not heard of this start yet, or waits for the workers
    return f"rank {number} ended: {rank.reason or 'its keeper started over'}"


def _runs(rank: Rank | None, generation: int) -> bool:
    return rank is not None and rank.phase == RUNNING and rank.generation == generation
