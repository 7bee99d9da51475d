"""Read the result file of `vllm bench serve`, which writes zeros where it has nothing to say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

NEEDED = ("num_prompts", "completed", "failed", "duration", "total_input_tokens", "total_output_tokens")
DETAIL = ("output_lens", "ttfts", "itls", "latencies", "start_times", "errors")


class ResultError(ValueError):
    """A result file that cannot be used, with the reason in one line."""


@dataclass(frozen=True)
class Request:
    """One request that was answered; times are the client's monotonic clock."""

    start_s: float
    ttft_s: float
    latency_s: float
    tokens: int
    gaps_s: Sequence[float]

    @property
    def tpot_s(self) -> float | None:
        return (self.latency_s - self.ttft_s) / (self.tokens - 1) if self.tokens > 1 else None

    def chunk_times_s(self) -> list[float]:
        return list(accumulate(self.gaps_s, initial=self.start_s + self.ttft_s))


@dataclass(frozen=True)
class Result:
    """The client's figures, with the answered requests apart from the failed ones."""

    raw: Mapping[str, Any]
    requests: tuple[Request, ...]
    has_detail: bool

    @property
    def prompts(self) -> int:
        return int(self.raw["num_prompts"])

    @property
    def completed(self) -> int:
        return int(self.raw["completed"])

    @property
    def failed(self) -> int:
        return int(self.raw["failed"])

    @property
    def output_tokens(self) -> int:
        return int(self.raw["total_output_tokens"])

    @property
    def input_tokens(self) -> int:
        return int(self.raw["total_input_tokens"])

    @property
    def duration_s(self) -> float:
        return float(self.raw["duration"])

    @property
    def errors(self) -> list[str]:
        """The error texts, one for each request and empty for an answered one; none if the client kept none."""
        texts = self.raw.get("errors")
        return [str(text) for text in texts if text] if isinstance(texts, list) else []

    def stated(self, name: str) -> float | None:
        """A figure of the client's own, or None; after a run without any answer nothing is stated."""
        value = self.raw.get(name)
        if self.completed == 0 or isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return float(value)


def read_result(text: str) -> Result:
    """Parse a result file; ResultError says in one line what is wrong with it."""
    try:
        raw = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise ResultError(f"the client's result is no JSON document: {error}") from error
    if not isinstance(raw, dict):
        raise ResultError(f"the client's result is a {type(raw).__name__}, not an object")
    missing = [name for name in NEEDED if isinstance(raw.get(name), bool) or not isinstance(raw.get(name), int | float)]
    if missing:
        raise ResultError(f"the client's result lacks {', '.join(missing)}")
    return Result(raw, _requests(raw), all(isinstance(raw.get(name), list) for name in DETAIL))


def _refuse(constant: str) -> float:
    raise ResultError(f"it states {constant}, which is no number")


def _requests(raw: Mapping[str, Any]) -> tuple[Request, ...]:
    """The answered ones: a failed request stands in the arrays with zeros and sometimes without an error text."""
    if not all(isinstance(raw.get(name), list) for name in DETAIL):
        return ()
    rows = zip(*(raw[name] for name in DETAIL), strict=False)
    try:
        return tuple(_request(*row) for row in rows if row[0] and not row[-1])
    except (TypeError, ValueError) as error:
        raise ResultError(f"the client's details are no numbers: {error}") from error


def _request(tokens: Any, ttft: Any, gaps: Any, latency: Any, start: Any, _error: Any) -> Request:
    return Request(float(start), float(ttft), float(latency), int(tokens), [float(gap) for gap in gaps])
