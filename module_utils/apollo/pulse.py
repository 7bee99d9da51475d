"""Is a serving engine alive? A busy one makes progress, an idle one is asked for a token now and then.

Pure. Standard library only, since the keeper on the nodes uses this file too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

REST, ASK, STALLED = "rest", "ask", "stalled"


@dataclass(frozen=True)
class Look:
    """What the engine's counters show: requests it works on, tokens it has worked off."""

    busy: int
    tokens: float


@dataclass(frozen=True)
class Pulse:
    """The counters as seen last, and since when they stand still."""

    tokens: float = -1.0
    still_since: float = 0.0


def feel(pulse: Pulse, look: Look | None, now: float, idle_s: float, stall_s: float) -> tuple[Pulse, str]:
    """Say what to do: nothing, ask for a token, or end an engine that works without progress.

    An engine whose counters cannot be read is asked, which tells more. A measurement is never disturbed:
    its requests keep the counters moving, and an idle engine is left alone for ``idle_s`` after each.
    """
    if look is None:
        return pulse, ASK
    if look.tokens != pulse.tokens:
        return Pulse(look.tokens, now), REST
    still_s = now - pulse.still_since
    if look.busy:
        return pulse, STALLED if still_s > stall_s else REST
    return (replace(pulse, still_since=now), ASK) if still_s >= idle_s else (pulse, REST)
