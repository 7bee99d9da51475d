"""The server's own counters, read from a Prometheus text page before and after a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{.*\})?\s+(\S+)(?:\s+\d+)?$")

# Our names for the counters we use. A page of another release may lack one: then it is missing, not 0.
COUNTERS = {
    "generation_tokens": "vllm:generation_tokens_total",
    "prompt_tokens": "vllm:prompt_tokens_total",
    "requests": "vllm:request_success_total",
    "preemptions": "vllm:num_preemptions_total",
    "prefix_cache_queries": "vllm:prefix_cache_queries_total",
    "prefix_cache_hits": "vllm:prefix_cache_hits_total",
    "spec_drafts": "vllm:spec_decode_num_drafts_total",
    "spec_draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
    "spec_accepted_tokens": "vllm:spec_decode_num_accepted_tokens_total",
}
STARTED = "process_start_time_seconds"


@dataclass(frozen=True)
class Ledger:
    """What the server counted during a run; None where it has no such counter."""

    counted: Mapping[str, int | None]
    same_process: bool | None

    def __getitem__(self, name: str) -> int | None:
        return self.counted[name]

    @property
    def prefix_cache_hit_rate(self) -> float | None:
        return _share(self["prefix_cache_hits"], self["prefix_cache_queries"])

    @property
    def missing(self) -> list[str]:
        return [COUNTERS[name] for name, value in self.counted.items() if value is None]


def read_page(text: str) -> dict[str, float]:
    """Sum each metric over its label sets; lines that are no sample are left out."""
    totals: dict[str, float] = {}
    for line in text.splitlines():
        sample = SAMPLE.match(line.strip())
        if sample:
            name, value = sample.groups()
            totals[name] = totals.get(name, 0.0) + _number(value)
    return totals


def ledger(before: str | None, after: str | None) -> Ledger:
    """Compare two pages; no page at all makes every counter missing."""
    if before is None or after is None:
        return Ledger(dict.fromkeys(COUNTERS), None)
    first, last = read_page(before), read_page(after)
    counted = {
        ours: round(last[theirs] - first[theirs]) if theirs in first and theirs in last else None
        for ours, theirs in COUNTERS.items()
    }
    started = first.get(STARTED), last.get(STARTED)
    return Ledger(counted, started[0] == started[1] if None not in started else None)


def freshness(page: str | None, probe_tokens_max: int) -> tuple[int | None, bool]:
    """Give the tokens generated since the engine's start, and whether only probes can have asked for them.

    No token at all is no proof that the engine answers, so it is not fresh either.
    """
    counted = read_page(page or "").get(COUNTERS["generation_tokens"])
    if counted is None:
        return None, False
    return round(counted), 1 <= counted <= probe_tokens_max


def _share(part: int | None, whole: int | None) -> float | None:
    return part / whole if part is not None and whole else None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
