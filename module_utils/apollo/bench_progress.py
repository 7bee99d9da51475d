"""How far a measurement is, in one line for people who wait."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PHASES = {
    "prepare": "makes its prompts",
    "warm_up": "warms up",
    "barrier": "waits for the other endpoints",
    "done": "is done",
}


@dataclass(frozen=True)
class Rest:
    """What the sweep has still to do after this point."""

    waves: float = 0.0
    restarts: int = 0
    restart_s: float | None = None

    @staticmethod
    def read(shown: Mapping[str, Any], now_s: float) -> Rest:
        """The time since this point began is what starting engines anew takes, where it did so."""
        began = float(shown.get("began_s") or 0)
        known = now_s - began if shown.get("restarted") and began else None
        return Rest(float(shown.get("waves_after") or 0), int(shown.get("restarts_after") or 0), known)

    def left_s(self, wave_s: float) -> float | None:
        """An estimate: as if every later wave took as long as one of this point."""
        if self.restarts and self.restart_s is None:
            return None
        return self.waves * wave_s + self.restarts * (self.restart_s or 0.0)


@dataclass
class Teller:
    """Says a line when the phase changes, and now and then during the load."""

    label: str
    every_s: float
    rest: Rest = field(default_factory=Rest)
    said_s: float = float("-inf")
    phases: tuple[str, ...] = ()

    def line(self, seen: Mapping[str, Mapping[str, Any]], now_s: float) -> str | None:
        phases = tuple(str(progress.get("phase", "prepare")) for progress in seen.values())
        if phases == self.phases and now_s - self.said_s < self.every_s:
            return None
        self.phases, self.said_s = phases, now_s
        parts = [f"{name} {describe(progress)}" for name, progress in seen.items()]
        left = [point_left_s(progress) for progress in seen.values()]
        known = [seconds for seconds in left if seconds is not None]
        return f"{self.label}: {'; '.join(parts)}{self.ends(seen, max(known)) if len(known) == len(left) else ''}"

    def ends(self, seen: Mapping[str, Mapping[str, Any]], left_s: float) -> str:
        wave_s = max(wave(progress) or 0.0 for progress in seen.values())
        rest = self.rest.left_s(wave_s)
        sweep = f", about {clock(left_s + rest)} for the sweep" if rest is not None else ""
        return f"; {clock(left_s)} left for the point{sweep}"


def read(text: str) -> dict[str, Any]:
    """A progress file; one that is not there yet, or not whole, says nothing."""
    try:
        told = json.loads(text.strip() or "{}")
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def is_over(answer: str) -> bool:
    """Whether the file of a background job says that it has ended; an unreadable one is asked again."""
    told = read(answer)
    return bool(told) and told.get("finished", 1) not in (0, False)


def describe(progress: Mapping[str, Any]) -> str:
    phase = str(progress.get("phase", "prepare"))
    if phase != "load":
        return PHASES.get(phase, phase)
    done, speed = progress.get("requests"), tok_s(progress)
    requests = f"{done:.0f}" if done is not None else "?"
    shown = f"{speed:.0f}" if speed is not None else "?"
    return f"{requests} of {progress['prompts']} requests, {shown} tok/s so far"


def tok_s(progress: Mapping[str, Any]) -> float | None:
    tokens, elapsed = progress.get("tokens"), progress.get("elapsed_s")
    return tokens / elapsed if tokens is not None and elapsed else None


def share(progress: Mapping[str, Any]) -> float | None:
    """How much of the load is done, by requests; a part of a request counts by nothing we know."""
    done, prompts = progress.get("requests"), progress.get("prompts")
    return done / prompts if done and prompts else None


def point_left_s(progress: Mapping[str, Any]) -> float | None:
    done, elapsed = share(progress), progress.get("elapsed_s")
    return elapsed * (1 - done) / done if done and elapsed and progress.get("phase") == "load" else None


def wave(progress: Mapping[str, Any]) -> float | None:
    """Seconds that one request of each user takes."""
    done, elapsed, users = progress.get("requests"), progress.get("elapsed_s"), progress.get("concurrency")
    return elapsed * users / done if done and elapsed and users else None


def clock(seconds: float) -> str:
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60}:{rest % 60:02d}"
