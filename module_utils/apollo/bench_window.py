"""When the tokens of a run came, and what several endpoints gave together while all of them ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ansible.module_utils.apollo.bench_result import Request

STEPS = 240


@dataclass(frozen=True)
class Timeline:
    """Tokens per equal step of a run, on the clock that all nodes share."""

    start_s: float
    step_s: float
    tokens: tuple[float, ...]

    @property
    def end_s(self) -> float:
        return self.start_s + self.step_s * len(self.tokens)

    def between(self, start_s: float, end_s: float) -> float:
        """Tokens inside a window; a step that the window cuts counts by its share."""
        if self.step_s <= 0:
            return sum(self.tokens) if start_s <= self.start_s <= end_s else 0.0
        total = 0.0
        for index, tokens in enumerate(self.tokens):
            left = self.start_s + index * self.step_s
            inside = min(end_s, left + self.step_s) - max(start_s, left)
            total += tokens * max(0.0, inside) / self.step_s
        return total

    def as_dict(self) -> dict[str, Any]:
        return {"start_s": self.start_s, "step_s": self.step_s, "tokens": [round(count, 3) for count in self.tokens]}


@dataclass(frozen=True)
class Together:
    """All endpoints of a point over their common window."""

    start_s: float
    end_s: float
    tokens: float
    start_spread_s: float

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

    @property
    def tok_s(self) -> float | None:
        return self.tokens / self.length_s if self.length_s > 0 else None


def timeline(requests: Sequence[Request], unix_minus_monotonic_s: float) -> Timeline | None:
    """Spread each request's tokens evenly over its chunks: with speculation a chunk holds several."""
    if not requests:
        return None
    first = min(request.start_s for request in requests)
    length = max(request.start_s + request.latency_s for request in requests) - first
    if not isfinite(length):
        return None
    step = length / STEPS
    tokens = [0.0] * STEPS
    for request in requests:
        times = request.chunk_times_s()
        share = request.tokens / len(times)
        for time in times:
            index = int((time - first) / step) if step > 0 else 0
            tokens[min(STEPS - 1, max(0, index))] += share
    return Timeline(first + unix_minus_monotonic_s, step, tuple(tokens))


def read_timeline(data: Mapping[str, Any] | None) -> Timeline | None:
    if not data:
        return None
    return Timeline(float(data["start_s"]), float(data["step_s"]), tuple(float(count) for count in data["tokens"]))


def together(lines: Sequence[Timeline]) -> Together | None:
    """The common window runs from the latest start to the earliest end."""
    if not lines:
        return None
    starts = [line.start_s for line in lines]
    start, end = max(starts), min(line.end_s for line in lines)
    tokens = sum(line.between(start, end) for line in lines) if end > start else 0.0
    return Together(start, end, tokens, max(starts) - min(starts))
