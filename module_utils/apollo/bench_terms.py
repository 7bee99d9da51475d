"""Every number the benchmark states: its unit, which way is better, and what it means.

Code, limits and report share this one list, so that a name cannot mean two things.
"""

from dataclasses import dataclass

from ansible.module_utils.apollo.bench_terms_machine import ENERGY, FACTS

PERCENTILES = (50, 90, 95, 99)


@dataclass(frozen=True)
class Term:
    name: str
    unit: str
    better: str  # higher, lower, or none where only equality makes sense
    scope: str  # endpoint: one engine's own run; plan: all endpoints of a point together; fact: outside of a run
    meaning: str


LATENCIES = {
    "ttft": "Time to first token: from sending the request to its first chunk with content.",
    "tpot": "Time per output token after the first one: (E2E - TTFT) / (tokens - 1), per request.",
    "icl": "Inter-chunk latency: the gap between two chunks. With speculative decoding one chunk holds "
    "several tokens, so this is not a time per token.",
    "e2el": "End to end latency: from sending the request to its last token.",
}

_ENDPOINT = (
    ("completed_requests", "1", "higher", "Requests that ended with an answer."),
    ("failed_requests", "1", "lower", "Requests that ended with an error."),
    ("incomplete_requests", "1", "lower", "Prompts minus completed requests."),
    ("missing_output_tokens", "1", "none", "Completed x wanted length, minus tokens received."),
    ("unaccounted_server_tokens", "1", "none", "Tokens the server counted minus tokens the client received."),
    ("duration_s", "s", "lower", "From the first request to the last token."),
    ("req_s", "req/s", "higher", "Completed requests per second of the whole run."),
    ("output_tok_s", "tok/s", "higher", "Generated tokens of completed requests per second of the whole run."),
    (
        "per_user_share_tok_s",
        "tok/s",
        "higher",
        "Speed of one of N users as throughput / N: waiting for the first token included.",
    ),
    (
        "per_user_decode_tok_s",
        "tok/s",
        "higher",
        "Speed of one of N users as 1000 / mean TPOT: once the answer runs, first token excluded.",
    ),
    ("ttft_first_wave_ms", "ms", "lower", "Mean TTFT of the first N requests, which all start at once."),
    ("ttft_later_ms", "ms", "lower", "Mean TTFT of all requests after the first N."),
    ("in_flight", "1", "none", "Requests in flight by Little's law: requests per second x mean E2E."),
    ("in_flight_share", "1", "none", "Requests in flight by Little's law / N; 1 where the load is as asked."),
    ("prefix_cache_hit_rate", "1", "lower", "Share of prompt tokens that the server found in its cache."),
    ("spec_acceptance_rate", "1", "higher", "Share of speculated tokens that were accepted."),
    ("spec_acceptance_length", "tok", "higher", "Tokens per engine step with speculation; 1 without a hit."),
    ("requests_running_max", "1", "none", "Most requests that the engine worked on at once, as its gauge showed them."),
    ("requests_waiting_max", "1", "lower", "Most requests that waited inside the engine for a seat."),
    ("kv_cache_usage_max", "1", "lower", "Highest share of the KV cache in use."),
    ("preemptions", "1", "lower", "Requests that were put back for want of KV cache, and computed again."),
)

_PLAN = (
    (
        "total_output_tok_s",
        "tok/s",
        "higher",
        "Tokens of all endpoints inside their common window, per second of that window.",
    ),
    ("sum_output_tok_s", "tok/s", "higher", "Sum of the endpoints' own throughputs."),
    ("node_deviation", "1", "lower", "Endpoints against each other: (max - min) / mean of output tok/s."),
    (
        "scaling_deviation",
        "1",
        "none",
        "All endpoints against one alone: total / (count x single) - 1. Needs a run of one endpoint alone.",
    ),
    ("start_spread_s", "s", "lower", "Between the first request of the first and of the last endpoint."),
    ("clock_offset_s", "s", "lower", "Between the endpoints' clocks at the moment the barrier let all clients go."),
    ("window_s", "s", "none", "Length of the common window: latest start to earliest end."),
)


def _latency_terms() -> list[Term]:
    terms = []
    for name, meaning in LATENCIES.items():
        for which in ("mean", *(f"p{percentile}" for percentile in PERCENTILES)):
            terms.append(Term(f"{name}_{which}_ms", "ms", "lower", "endpoint", f"{which} of: {meaning}"))
    return terms


TERMS: dict[str, Term] = {
    term.name: term
    for term in (
        *(Term(name, unit, better, "endpoint", meaning) for name, unit, better, meaning in _ENDPOINT),
        *_latency_terms(),
        *(Term(name, unit, better, "endpoint", meaning) for name, unit, better, meaning in ENERGY),
        *(Term(name, unit, better, "plan", meaning) for name, unit, better, meaning in _PLAN),
        *(Term(name, unit, better, "fact", meaning) for name, unit, better, meaning in FACTS),
    )
}
