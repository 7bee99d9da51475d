"""More requests than a plan carries, through its gateway: what is sent, and what came of it.

`vllm bench serve` tells of a refused request only the reason phrase of its status, such as "Too Many Requests".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from math import ceil
from statistics import quantiles
from typing import Any

from ansible.module_utils.apollo import bench_command, stats
from ansible.module_utils.apollo.bench_figures import Point
from ansible.module_utils.apollo.bench_result import Result
from ansible.module_utils.apollo.machine_facts import Event, fact
from ansible.module_utils.apollo.service_level import Load, at

EVENT = "overload"
MADE_WITH = "vllm bench serve, through the gateway"
LEAST_REQUESTS = 60  # once all is full, so that of the let in and of the refused there is a 95th percentile
HANGS_AFTER_ANSWERS, HANGS_AFTER_S = 10, 60
NO_TEXT = "without a reason"
CODES = {status.phrase: str(status.value) for status in HTTPStatus}
CLOSED_LOOP = ("--base-url=", "--max-concurrency=", "--request-rate=")  # what an open loop through the gateway replaces
REFUSED = str(HTTPStatus.TOO_MANY_REQUESTS.value)
# Name, metric, direction, unit, key of the level or the value itself, remark.
LIMITS = (
    ("Overload: somebody is refused", "overload_refused", "at_least", "1", 1, "Without a refusal it was no overload."),
    (
        "Overload: answer or 429, nothing else",
        "overload_errors",
        "at_most",
        "1",
        0,
        "A request that hangs is an error too.",
    ),
    ("Overload: 429 comes soon", "overload_refused_p95_ms", "at_most", "ms", "refused_p95_ms", ""),
    ("Overload: first token of those let in", "overload_ttft_p95_ms", "at_most", "ms", "ttft_p95_ms", ""),
    ("Overload: speed of those let in", "overload_user_p05_tok_s", "at_least", "tok/s", "floor_tok_s", ""),
)


@dataclass(frozen=True)
class Offer:
    """What is sent: requests at random moments, `factor` times as many per second as the seats can answer."""

    seats: int
    answer_s: float
    factor: float
    requests: int
    request_rate: float
    limit_s: float  # after which a request that has not ended hangs


def seats(layout: Mapping[str, Any], model: str) -> tuple[int, int]:
    """How many answers of this model the gateway has written at once, and the largest cap of one of its endpoints."""
    common = layout["gateway"]["cap_per_endpoint"]
    caps = [each.get("cap") or common for each in endpoints_of(layout, model)]
    return sum(caps), max(caps)


def models(layout: Mapping[str, Any]) -> list[str]:
    """What the gateway serves, each with places and a queue of its own."""
    return list(dict.fromkeys(str(each["served_name"]) for each in layout["endpoints"]))


def endpoints_of(layout: Mapping[str, Any], model: str) -> list[Mapping[str, Any]]:
    return [each for each in layout["endpoints"] if each["served_name"] == model]


def offer(
    layout: Mapping[str, Any], model: str, loads: Sequence[Load], tokens: int, factor: float, answers: float
) -> Offer:
    """Until places and queue are full, and then for as long as `answers` answers take one after another."""
    if factor <= 1:
        raise ValueError(f"bench_overload_factor is {factor:g}: an overload is more than the plan answers, so above 1")
    places, cap = seats(layout, model)
    full = at(loads, cap)
    seconds = full.answer_s(tokens) if full else None
    if not seconds:
        raise ValueError(
            f"the gateway lets in {cap} per endpoint of {model}, but this run has no point that counts at N={cap} or "
            f"around it: add {cap} to bench_concurrency"
        )
    rate = factor * places / seconds
    until_full = (places + layout["gateway"]["queue_limit"]) * factor / (factor - 1)
    requests = ceil(until_full + max(LEAST_REQUESTS, factor * answers * places))
    limit = requests / rate + HANGS_AFTER_ANSWERS * seconds + layout["gateway"]["queue_timeout_s"] + HANGS_AFTER_S
    return Offer(places, seconds, factor, requests, rate, limit)


def told(result: Result, sent: Mapping[str, Any]) -> dict[str, Any]:
    """The journal's event."""
    errors = reasons(result)
    return {
        "event": EVENT,
        "status": "measured",
        "offer": dict(sent),
        "sent": result.prompts,
        "let_in": len(result.requests),
        "refused": errors.get(REFUSED, 0),
        "errors": {code: count for code, count in errors.items() if code != REFUSED},
        "figures": figures(result),
    }


def reasons(result: Result) -> dict[str, int]:
    """Unanswered requests by the code of their status or the name of their error."""
    found = Counter(_code(str(error)) for tokens, _, error in _outcomes(result) if error or not tokens)
    return dict(sorted(found.items()))


def figures(result: Result) -> dict[str, float | None]:
    """A percentile is stated only where the sample carries it."""
    refused = [float(took) for tokens, took, error in _outcomes(result) if _code(str(error)) == REFUSED]
    slow = [-request.tokens / request.latency_s for request in result.requests if request.latency_s > 0]
    slowest = percentile(slow, 95)
    return {
        "overload_refused": len(refused),
        "overload_errors": result.prompts - len(result.requests) - len(refused),
        "overload_refused_p95_ms": _ms(percentile(refused, 95)),
        "overload_ttft_p95_ms": _ms(percentile([request.ttft_s for request in result.requests], 95)),
        "overload_user_p05_tok_s": None if slowest is None else -slowest,
    }


def facts(event: Mapping[str, Any], measured_s: float) -> list[Event]:
    """The same as facts that limits can be about; what was not measured is null, so its limit is missing."""
    subject = f"gateway {event['model']}"
    return [
        {**fact(name, subject, event["figures"].get(name), measured_s, MADE_WITH), "plan": event["plan"]}
        for name in dict.fromkeys(metric for _, metric, *_ in LIMITS)
    ]


def failed(detail: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    return {"event": EVENT, "status": "failed", "detail": detail, "offer": dict(sent), "figures": {}}


def summary(event: Mapping[str, Any]) -> str:
    """One line, for people who wait."""
    if event["status"] == "failed":
        return f"failed: {event['detail']}"
    others = ", ".join(f"{count} x {code}" for code, count in event["errors"].items())
    return f"{event['let_in']} of {event['sent']} let in, {event['refused']} got 429, others: {others or 'none'}"


def task(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A job for the resident client: it asks the gateway, while the engine itself is watched."""
    offered = asked["offer"]
    point = Point(
        offered["seats"], offered["requests"], asked["input_tokens"], asked["output_tokens"], 0, asked["seed"]
    )
    alone = bench_command.Barrier("", 0, 0, 1, 0)
    watched = bench_command.Watched(1.0, offered["limit_s"])
    endpoint = {**asked["endpoint"], "name": EVENT}
    job = bench_command.task(endpoint, point, 1, alone, watched, asked["work_path"])
    kept = [word for word in job["arguments"] if not word.startswith(CLOSED_LOOP)]
    return {**job, "arguments": [*kept, f"--base-url={asked['url']}", f"--request-rate={offered['request_rate']:.6g}"]}


def percentile(values: Sequence[float], share: int) -> float | None:
    """Straight between the two values around it, as the image's client has it."""
    return quantiles(values, n=100, method="inclusive")[share - 1] if stats.is_carried(share, len(values)) else None


def _outcomes(result: Result) -> list[tuple[Any, Any, Any]]:
    return list(zip(result.raw["output_lens"], result.raw["latencies"], result.raw["errors"], strict=True))


def _code(error: str) -> str:
    """429 for "Too Many Requests"; of a traceback the name of what was raised."""
    last = (error.strip().splitlines() or [NO_TEXT])[-1]
    return CODES.get(last) or last.split(":")[0].split(".")[-1][:60]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1000 * seconds


def overload_limits(level: Mapping[str, float], plan: str) -> list[dict[str, Any]]:
    """The service level as limits on an overload's facts; ValueError names what the level lacks."""
    lacking = [value for *_, value, _ in LIMITS if isinstance(value, str) and level.get(value) is None]
    if lacking:
        raise ValueError(f"bench_overload_level lacks {', '.join(lacking)}")
    return [
        {
            **{"name": name, "metric": metric, "direction": direction, "unit": unit, "plan": plan, "n": "*"},
            "value": float(level[value]) if isinstance(value, str) else value,
            "source": "the service level, bench_overload_level",
            "remark": remark,
        }
        for name, metric, direction, unit, value, remark in LIMITS
    ]
