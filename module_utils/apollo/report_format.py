"""Numbers as people read them. What was not measured is a dash, never a zero."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

NOTHING = "\u2013"  # a dash
THIN_SPACE = "\u202f"


def number(value: float | None, digits: int = 3) -> str:
    """Significant digits, never an exponent: 0.0636, 0.200, 1.51, 21.0, 1 306."""
    if value is None:
        return NOTHING
    if value == 0:
        return "0"
    magnitude = floor(log10(abs(float(f"{value:.{digits - 1}e}"))))  # of the rounded value: 99.96 is 100
    return fixed(value, min(6, max(0, digits - 1 - magnitude)))


def fixed(value: float, decimals: int) -> str:
    """A fixed number of decimals, with a thin space between thousands."""
    return f"{value:,.{decimals}f}".replace(",", THIN_SPACE)


def count(value: float | None) -> str:
    return NOTHING if value is None else f"{round(value):,}".replace(",", THIN_SPACE)


def seconds(milliseconds: float | None) -> str:
    return NOTHING if milliseconds is None else number(milliseconds / 1000)


def percent(value: float | None) -> str:
    return NOTHING if value is None else f"{100 * value:.1f} %"


def mean(values: Sequence[float | None]) -> float | None:
    """Mean of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def largest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
