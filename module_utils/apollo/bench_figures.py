"""The figures of one run of one endpoint, each None where the run does not carry it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ansible.module_utils.apollo import stats
from ansible.module_utils.apollo.bench_counters import Ledger
from ansible.module_utils.apollo.bench_result import Request, Result
from ansible.module_utils.apollo.bench_terms import LATENCIES, PERCENTILES
from ansible.module_utils.apollo.bench_watched import GAUGES

# The client's word for each latency of ours: its "itl" is a gap between chunks, not between tokens.
CLIENT_WORDS = {"ttft": "ttft", "tpot": "tpot", "icl": "itl", "e2el": "e2el"}

Figures = dict[str, float | None]


@dataclass(frozen=True)
class Point:
    """What a run was asked for."""

    concurrency: int
    prompts: int
    input_tokens: int
    output_tokens: int
    warmups: int
    seed: int
    dataset: str = "random"

    @property
    def is_text(self) -> bool:
        return self.dataset == "text"


def figures(result: Result, point: Point, ledger: Ledger, gauges: Mapping[str, float | None] | None = None) -> Figures:
    """All terms of scope endpoint for one run, but those of its energy."""
    latencies = _latencies(result)
    tok_s = _rate(result.output_tokens, result)
    flying = in_flight(_rate(result.completed, result), latencies["e2el_mean_ms"])
    return {
        "completed_requests": result.completed,
        "failed_requests": result.failed,
        "incomplete_requests": point.prompts - result.completed,
        "missing_output_tokens": missing_tokens(result, point),
        "unaccounted_server_tokens": _difference(ledger["generation_tokens"], result.output_tokens),
        "duration_s": result.duration_s,
        "req_s": _rate(result.completed, result),
        "output_tok_s": tok_s,
        "per_user_share_tok_s": _per_user(tok_s, point),
        "per_user_decode_tok_s": _inverse_ms(latencies["tpot_mean_ms"]),
        **_waves(result.requests, point.concurrency),
        "in_flight": flying,
        "in_flight_share": _per_user(flying, point),
        "prefix_cache_hit_rate": ledger.prefix_cache_hit_rate,
        **_speculation(result),
        "preemptions": ledger["preemptions"],
        **(gauges or dict.fromkeys(GAUGES.values())),
        **latencies,
    }


def missing_tokens(result: Result, point: Point) -> int | None:
    """An answer of text ends where the model ends it, so nothing is missing from it."""
    return None if point.is_text else result.completed * point.output_tokens - result.output_tokens


def weak_figures(result: Result) -> list[str]:
    """Percentiles that the sample carries, but with fewer than ten values beyond them."""
    counts = _counts(result)
    return [
        f"{name}_p{percentile}_ms"
        for name in LATENCIES
        for percentile in PERCENTILES
        if stats.is_carried(percentile, counts[name]) and not stats.is_strong(percentile, counts[name])
    ]


def in_flight(req_s: float | None, e2el_mean_ms: float | None) -> float | None:
    """Little's law: the mean number of requests in flight."""
    return req_s * e2el_mean_ms / 1000 if req_s is not None and e2el_mean_ms is not None else None


def mean_ms(values_s: Iterable[float]) -> float | None:
    values = list(values_s)
    return 1000 * sum(values) / len(values) if values else None


def _latencies(result: Result) -> Figures:
    """The client's own means and percentiles, the latter only where the sample carries them."""
    counts, found = _counts(result), {}
    for ours, theirs in CLIENT_WORDS.items():
        found[f"{ours}_mean_ms"] = result.stated(f"mean_{theirs}_ms") if counts[ours] else None
        for percentile in PERCENTILES:
            carried = stats.is_carried(percentile, counts[ours])
            found[f"{ours}_p{percentile}_ms"] = result.stated(f"p{percentile}_{theirs}_ms") if carried else None
    return found


def _counts(result: Result) -> dict[str, int]:
    """How many values stand behind each latency; without details, the answered requests."""
    if not result.has_detail:
        return {"ttft": result.completed, "tpot": result.completed, "icl": 0, "e2el": result.completed}
    requests = result.requests
    return {
        "ttft": len(requests),
        "tpot": sum(request.tokens > 1 for request in requests),
        "icl": sum(len(request.gaps_s) for request in requests),
        "e2el": len(requests),
    }


def _waves(requests: tuple[Request, ...], concurrency: int) -> Figures:
    """The first N requests all start at once; those after them meet a running batch."""
    ordered = sorted(requests, key=lambda request: request.start_s)
    return {
        "ttft_first_wave_ms": mean_ms(request.ttft_s for request in ordered[:concurrency]),
        "ttft_later_ms": mean_ms(request.ttft_s for request in ordered[concurrency:]),
    }


def _speculation(result: Result) -> Figures:
    percent = result.stated("spec_decode_acceptance_rate")
    return {
        "spec_acceptance_rate": percent / 100 if percent is not None else None,
        "spec_acceptance_length": result.stated("spec_decode_acceptance_length"),
    }


def _rate(count: int, result: Result) -> float | None:
    return count / result.duration_s if result.completed > 0 and result.duration_s > 0 else None


def _per_user(value: float | None, point: Point) -> float | None:
    return value / point.concurrency if value is not None else None


def _difference(left: int | None, right: int) -> int | None:
    return left - right if left is not None else None


def _inverse_ms(milliseconds: float | None) -> float | None:
    return 1000 / milliseconds if milliseconds else None
