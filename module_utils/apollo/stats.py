"""Statistics that a benchmark of few repeats needs, and no more than the sample carries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

# Two-sided 95 % points of Student's t for 1, 2, 3 … degrees of freedom.
T_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
T_95_MANY = 2.042  # beyond the table its last value: a little wider than needed, never narrower

STRONG_SAMPLES_BEYOND = 10


@dataclass(frozen=True)
class Summary:
    """Mean over repeats; spread and interval are None where a single repeat cannot give them."""

    count: int
    mean: float
    sd: float | None
    cv: float | None
    low: float | None
    high: float | None

    def as_dict(self) -> dict[str, float | int | None]:
        """Under the names that result files use."""
        interval = {"ci95_low": self.low, "ci95_high": self.high}
        return {"mean": self.mean, "std": self.sd, "cv": self.cv, **interval, "n": self.count}


def summarize(values: Sequence[float]) -> Summary | None:
    """Mean, sample standard deviation and 95 % t-interval; None for no values at all."""
    count = len(values)
    if count == 0:
        return None
    mean = sum(values) / count
    if count == 1:
        return Summary(count, mean, None, None, None, None)
    sd = sqrt(sum((value - mean) ** 2 for value in values) / (count - 1))
    half = t_95(count - 1) * sd / sqrt(count)
    return Summary(count, mean, sd, sd / abs(mean) if mean else None, mean - half, mean + half)


def t_95(degrees: int) -> float:
    return T_95[degrees - 1] if degrees <= len(T_95) else T_95_MANY


def samples_beyond(percentile: int, count: int) -> float:
    """How many of `count` samples lie beyond a percentile: n(1 - p)."""
    return count * (100 - percentile) / 100


def is_carried(percentile: int, count: int) -> bool:
    """A percentile may be stated only where at least one sample lies beyond it."""
    return count * (100 - percentile) >= 100


def is_strong(percentile: int, count: int) -> bool:
    return samples_beyond(percentile, count) >= STRONG_SAMPLES_BEYOND


def spread(values: Sequence[float]) -> float | None:
    """(max - min) / mean: how far several endpoints lie apart."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return (max(values) - min(values)) / mean if mean else None


def scaling(total: float, single: float | None, count: int) -> float | None:
    """total / (count x one alone) - 1: what running side by side costs or gains."""
    if single is None or single <= 0 or count < 1:
        return None
    return total / (count * single) - 1
