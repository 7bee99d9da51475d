"""Does a run count? Every check has a code, a value and a limit; a run with a broken check counts for nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ansible.module_utils.apollo.bench_counters import Ledger
from ansible.module_utils.apollo.bench_figures import Figures, Point, mean_ms
from ansible.module_utils.apollo.bench_result import Result

PREFIX_HITS_LIMIT = 0.01
LITTLE_LOW, LITTLE_HIGH = 0.85, 1.02
INPUT_TOLERANCE = 0.05
ARITHMETIC_TOLERANCE = 1e-3
CLOCK_STEP_S = 0.05
CLIENT_BUSY_LIMIT = 0.95

# What each code says when its check is broken. The report prints this list; docs may quote it.
REASONS = {
    "requests_lost": "completed and failed requests do not add up to those sent",
    "requests_failed": "not every request was answered",
    "all_failed": "no request was answered: the client's zeros are no measurement",
    "output_tokens": "received tokens are not completed requests x wanted length: streams were cut or ran over",
    "input_tokens": "prompts were not as long as asked for",
    "server_tokens": "the server generated another number of tokens than the client received",
    "server_requests": "the server finished another number of requests than the client completed",
    "prefix_cache": "too many prompt tokens came from the prefix cache instead of being computed",
    "little_low": "fewer requests in flight than asked for: the client, or the tail of the run, was the limit",
    "little_high": "more requests in flight than possible: times or counts are wrong",
    "arithmetic": "the client's mean differs from the mean of its own details",
    "same_server": "the server's process is not the one that was there before the run",
    "clock_step": "the node's clock was set during the run",
    "client_busy": "the client was busy for nearly all of the time: it may have been the bottleneck",
    "server_not_ready": "the engine did not answer before the run",
    "wrong_server": "another model answers on this port",
    "client_failed": "the client ended without a result",
    "client_timeout": "the client did not end within its limit",
    "barrier": "the clients of the other endpoints did not come within the limit",
    "bad_result": "the client's result cannot be read",
    "server_died": "the engine does not answer after the run",
    "server_frozen": "the engine went silent during the run: no token and no change of its counters",
    "energy_window": "the power samples do not enclose the run",
    "energy_gap": "power samples are missing for longer than the limit",
    "energy_gpus": "a GPU of the endpoint is missing from the power samples",
    "energy_counter": "an energy counter ran backwards: the driver was loaded anew or a GPU was reset",
    "throttled": "a GPU was slowed down by heat, by the power brake or by a fault of its hardware",
    "clock_sync": "a node's clock is not in step with its time source",
    "no_record": "an endpoint left no record: its node was lost during the run",
    "start_spread": "the endpoints did not start together, so their common window is not what was asked for",
    "clock_offset": "the clocks of the endpoints' nodes differ, so their common window is not known",
}


@dataclass(frozen=True)
class Check:
    """ok is None where a check could not be made: that is said, and neither helps nor harms."""

    code: str
    ok: bool | None
    value: float | None
    limit: str

    def as_dict(self) -> dict[str, Any]:
        value = self.value if self.value is None or isfinite(self.value) else None
        return {"code": self.code, "ok": self.ok, "value": value, "limit": self.limit}


def checks(result: Result, point: Point, ledger: Ledger, figures: Figures, stamps: Mapping[str, Any]) -> list[Check]:
    """Every check of one run, in the order in which they explain each other."""
    if result.completed == 0:
        return [Check("all_failed", False, float(result.failed), "at least 1 answered")]
    return [
        *_requests(result, point),
        *_tokens(result, point),
        *_server(result, ledger),
        *_flow(result, figures),
        *_clocks(stamps),
    ]


def broken(found: Sequence[Check]) -> list[str]:
    return [check.code for check in found if check.ok is False]


def _requests(result: Result, point: Point) -> list[Check]:
    sent = result.completed + result.failed
    return [
        _equal("requests_lost", sent, point.prompts),
        Check("requests_failed", result.failed == 0, result.failed, "0"),
    ]


def _tokens(result: Result, point: Point) -> list[Check]:
    share = result.input_tokens / (result.completed * point.input_tokens)
    return [
        _output_tokens(result, point),
        Check("input_tokens", abs(share - 1) <= INPUT_TOLERANCE, share, f"1 ± {INPUT_TOLERANCE}"),
    ]


def _output_tokens(result: Result, point: Point) -> Check:
    """Random tokens: exactly what was asked for. Text: at most that, since the model ends its answers itself."""
    wanted = result.completed * point.output_tokens
    if point.is_text:
        return _at_most("output_tokens", result.output_tokens, wanted)
    return _equal("output_tokens", result.output_tokens, wanted)


def _server(result: Result, ledger: Ledger) -> list[Check]:
    same = ledger.same_process
    return [
        _equal("server_tokens", ledger["generation_tokens"], result.output_tokens),
        _equal("server_requests", ledger["requests"], result.completed),
        _at_most("prefix_cache", ledger.prefix_cache_hit_rate, PREFIX_HITS_LIMIT),
        Check("same_server", same, None if same is None else float(same), "1"),
    ]


def _flow(result: Result, figures: Figures) -> list[Check]:
    share = figures["in_flight_share"]
    mean = mean_ms(request.ttft_s for request in result.requests)
    stated = result.stated("mean_ttft_ms")
    error = abs(stated / mean - 1) if stated is not None and mean else None
    return [
        Check("little_low", None if share is None else share >= LITTLE_LOW, share, f"≥ {LITTLE_LOW}"),
        Check("little_high", None if share is None else share <= LITTLE_HIGH, share, f"≤ {LITTLE_HIGH}"),
        Check(
            "arithmetic", None if error is None else error <= ARITHMETIC_TOLERANCE, error, f"≤ {ARITHMETIC_TOLERANCE}"
        ),
    ]


def _clocks(stamps: Mapping[str, Any]) -> list[Check]:
    before, after = stamps.get("before"), stamps.get("after")
    if not before or not after:
        return [_at_most("clock_step", None, CLOCK_STEP_S)]
    elapsed = after["monotonic_s"] - before["monotonic_s"]
    step = abs(after["unix_s"] - before["unix_s"] - elapsed)
    busy = (after["cpu_s"] - before["cpu_s"]) / elapsed if elapsed > 0 else None
    return [
        _at_most("clock_step", step, CLOCK_STEP_S),
        _at_most("client_busy", busy, CLIENT_BUSY_LIMIT),
    ]


def _equal(code: str, value: int | None, wanted: int) -> Check:
    return Check(code, None if value is None else value == wanted, value, str(wanted))


def _at_most(code: str, value: float | None, limit: float) -> Check:
    return Check(code, None if value is None else value <= limit, value, f"≤ {limit}")
