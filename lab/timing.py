"""How long steps took before on this computer, and what that says about the time left. Pure but for two functions."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GROWTH = 1.2


@dataclass(frozen=True)
class Expectation:
    """What a step is expected to take, in seconds, at its first time and when it was done before."""

    first_s: float
    again_s: float


def expected_s(name: str, expectation: Expectation, history: Mapping[str, float], again: bool) -> float:
    """Prefer what was measured here to what was measured elsewhere."""
    known = history.get(history_key(name, again))
    return known if known is not None else (expectation.again_s if again else expectation.first_s)


def history_key(name: str, again: bool) -> str:
    """Keep first times and repetitions apart: they differ by minutes."""
    return f"{name} ({'again' if again else 'first'})"


def time_left_s(expected: Sequence[float], current: int, elapsed_s: float) -> float:
    """Sum what remains; a step that takes longer than expected is taken to need a fifth of what it took."""
    running = expected[current]
    rest = running - elapsed_s if elapsed_s < running else elapsed_s * (GROWTH - 1)
    return rest + sum(expected[current + 1 :])


def clock(seconds: float) -> str:
    """Write a duration as minutes and seconds."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


def rough(seconds: float) -> str:
    """Write a time that nobody knows exactly."""
    if seconds < 45:
        return "less than a minute"
    minutes = max(1, round(seconds / 60))
    return "about a minute" if minutes == 1 else f"about {minutes} minutes"


def read_history(path: Path) -> dict[str, float]:
    """Read the durations of earlier runs; a file that cannot be read counts as none."""
    try:
        return {str(key): float(value) for key, value in json.loads(path.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def write_history(path: Path, history: Mapping[str, float]) -> None:
    """Write the durations for the next run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(dict(sorted(history.items())), indent=1) + "\n", encoding="utf-8")
