"""A run counts only when every identity holds; each reason code has a fault that brings it out."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import bench_run
from ansible.module_utils.apollo.bench_validity import REASONS

from tests.support import bench_samples as samples

Raw = dict[str, Any]
Fault = Callable[[Raw, Raw], None]


def evaluate(fault: Fault | None = None) -> bench_run.Outcome:
    """A valid run of 80 requests at N = 8, with one fault in the result or in what surrounds it."""
    raw, stamps = copy.deepcopy(samples.result()), samples.stamps(80 * 32, 80)
    if fault:
        fault(raw, stamps)
    return bench_run.evaluate(json.dumps(raw), stamps, samples.point(8, 80))


def lose_a_request(raw: Raw, _: Raw) -> None:
    raw["num_prompts"] = raw["completed"] = 79


def fail_a_request(raw: Raw, _: Raw) -> None:
    raw.update(completed=79, failed=1, total_output_tokens=79 * 32, total_input_tokens=79 * 64)
    raw["errors"][0] = "Bad Gateway"


def cut_a_stream(raw: Raw, _: Raw) -> None:
    raw["output_lens"][5], raw["total_output_tokens"] = 7, 80 * 32 - 25


def shorten_prompts(raw: Raw, _: Raw) -> None:
    raw["total_input_tokens"] = 80 * 50


def count(stamps: Raw, tokens: int = 80 * 32, requests: int = 80, **others: Any) -> None:
    stamps["after"]["counters"] = samples.counters(7 + tokens, 1 + requests, **others)


def slow_down(raw: Raw, factor: float) -> None:
    raw["duration"] *= factor


FAULTS: dict[str, Fault] = {
    "requests_lost": lose_a_request,
    "requests_failed": fail_a_request,
    "output_tokens": cut_a_stream,
    "input_tokens": shorten_prompts,
    "server_tokens": lambda _, stamps: count(stamps, tokens=80 * 32 + 5),
    "server_requests": lambda _, stamps: count(stamps, requests=81),
    "prefix_cache": lambda _, stamps: count(stamps, hits=200, queries=5000),
    "little_low": lambda raw, _: slow_down(raw, 1.3),
    "little_high": lambda raw, _: slow_down(raw, 0.9),
    "arithmetic": lambda raw, _: raw.update(mean_ttft_ms=101.0),
    "clock_step": lambda _, stamps: stamps["after"].update(unix_s=1061.0),
    "client_busy": lambda _, stamps: stamps["after"].update(cpu_s=60.5),
}


def test_a_run_without_a_fault_counts() -> None:
    outcome = evaluate()
    assert (outcome.status, outcome.reasons) == ("valid", [])


def test_a_real_run_of_vllm_counts() -> None:
    stamps = json.loads(samples.text("valid-stamps.json"))
    outcome = bench_run.evaluate(samples.text("valid.json"), stamps, samples.point())
    assert (outcome.status, outcome.reasons) == ("valid", [])


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_brings_out_its_reason(code: str) -> None:
    outcome = evaluate(FAULTS[code])
    assert outcome.status == "invalid"
    assert code in outcome.reasons


def test_every_check_has_a_fault_that_breaks_it() -> None:
    made = {check.code for check in evaluate().checks}
    assert made == set(FAULTS) | {"same_server"}  # which fails the run: a test of its own


@pytest.mark.parametrize(("tokens", "reasons"), [(32, []), (9, []), (33, ["output_tokens"])])
def test_text_ends_where_the_model_ends_it_and_never_beyond_what_was_asked_for(tokens: int, reasons: list[str]) -> None:
    raw = samples.result(tokens=tokens)
    point = replace(samples.point(8, 80), dataset="text")
    outcome = bench_run.evaluate(json.dumps(raw), samples.stamps(80 * tokens, 80), point)
    assert outcome.reasons == reasons


def test_every_reason_is_brought_out_by_a_test() -> None:
    texts = "".join(
        path.read_text() for path in Path(__file__).parent.glob("test_*.py") if path.name != "test_report.py"
    )
    assert [code for code in REASONS if f'"{code}"' not in texts] == []


def test_every_reason_is_explained() -> None:
    assert {check.code for check in evaluate().checks} <= set(REASONS)
    assert all(text and not text.endswith(".") for text in REASONS.values())


def test_all_requests_failed_is_a_failure_and_not_a_row_of_zeros() -> None:
    outcome = bench_run.evaluate(samples.text("all-failed.json"), samples.stamps(0, 0), samples.point())
    assert (outcome.status, outcome.reasons) == ("failed", ["all_failed"])
    assert outcome.figures == {}
    assert outcome.detail == "Internal Server Error"


def test_what_cannot_be_checked_is_told_and_does_no_harm() -> None:
    outcome = bench_run.evaluate(json.dumps(samples.result()), {}, samples.point(8, 80))
    unmade = {check.code for check in outcome.checks if check.ok is None}
    assert unmade == {"server_tokens", "server_requests", "prefix_cache", "same_server", "clock_step"}
    assert outcome.status == "valid"


@pytest.mark.parametrize(("code", "reason"), [(42, "barrier"), (-11, "client_failed"), (1, "client_failed")])
def test_a_client_without_a_result_says_why_it_ended(code: int, reason: str) -> None:
    outcome = bench_run.without_result(
        code, "one\nValueError: no such model\nnanobind: leaked 4 instances!\n - leaked x\n"
    )
    assert (outcome.status, outcome.reasons) == ("failed", [reason])
    assert outcome.detail == f"exit code {code}: ValueError: no such model"


@pytest.mark.parametrize(
    ("stopped", "reason"), [("timeout: no end after 5 s", "client_timeout"), ("frozen: no token", "server_frozen")]
)
def test_a_client_that_was_stopped_says_for_what(stopped: str, reason: str) -> None:
    outcome = bench_run.without_result(43, "", stopped)
    assert (outcome.status, outcome.reasons) == ("failed", [reason])


def test_an_engine_that_came_back_by_itself_has_died() -> None:
    outcome = evaluate(lambda _, stamps: count(stamps, started=99.0))
    assert outcome.status == "failed"
    assert outcome.reasons == ["server_died", "same_server"]


def test_an_engine_that_is_gone_afterwards_fails_the_run_and_keeps_its_reasons() -> None:
    outcome = bench_run.after_a_crash(evaluate(fail_a_request), "connection refused")
    assert outcome.status == "failed"
    assert outcome.reasons[0] == "server_died"
    assert "requests_failed" in outcome.reasons
    assert outcome.figures == {}


def test_the_summary_of_a_run_is_one_line() -> None:
    record = evaluate().as_dict()
    assert bench_run.summary(record) == "624.4 tok/s, first token 0.10 s, valid"
    assert bench_run.summary(bench_run.failed("barrier", "late").as_dict()) == "failed (barrier)"
