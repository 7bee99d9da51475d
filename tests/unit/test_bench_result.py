"""The client's result file, also a broken one, a cut one and one of a dead server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.module_utils.apollo.bench_result import NEEDED, ResultError, read_result
from ansible.module_utils.apollo.bench_run import evaluate
from hypothesis import given
from hypothesis import strategies as st

from tests.support import bench_samples as samples

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def test_a_real_file_of_vllm_is_read() -> None:
    result = read_result(samples.text("valid.json"))
    assert (result.prompts, result.completed, result.failed) == (10, 10, 0)
    assert result.output_tokens == 320
    assert len(result.requests) == 10
    assert result.has_detail


def test_a_file_of_a_dead_server_states_nothing_although_it_says_zero() -> None:
    result = read_result(samples.text("all-failed.json"))
    assert result.completed == 0
    assert result.raw["mean_ttft_ms"] == 0.0
    assert result.stated("mean_ttft_ms") is None
    assert result.requests == ()


def test_a_cut_file_is_refused_in_one_line() -> None:
    whole = samples.text("valid.json")
    with pytest.raises(ResultError, match="no JSON document") as told:
        read_result(whole[: len(whole) // 2])
    assert "\n" not in str(told.value)


def test_two_appended_results_are_refused() -> None:
    whole = samples.text("valid.json")
    with pytest.raises(ResultError, match="no JSON document"):
        read_result(whole + whole)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused(constant: str) -> None:
    with pytest.raises(ResultError, match="which is no number"):
        read_result(f'{{"duration": {constant}}}')


@pytest.mark.parametrize("name", NEEDED)
def test_a_missing_field_is_named(name: str) -> None:
    raw = samples.result()
    del raw[name]
    with pytest.raises(ResultError, match=f"lacks {name}"):
        read_result(json.dumps(raw))


@pytest.mark.parametrize("value", [None, True, "12", [1]])
def test_a_field_that_is_no_number_is_missing(value: Any) -> None:
    with pytest.raises(ResultError, match="lacks duration"):
        read_result(json.dumps({**samples.result(), "duration": value}))


def test_a_failed_request_with_an_empty_error_text_is_not_an_answer() -> None:
    raw = samples.result()
    raw["output_lens"][3], raw["ttfts"][3] = 0, 0.0
    assert len(read_result(json.dumps(raw)).requests) == 79


def test_without_details_there_are_no_requests_to_look_at() -> None:
    raw = {key: value for key, value in samples.result().items() if key != "itls"}
    result = read_result(json.dumps(raw))
    assert (result.has_detail, result.requests) == (False, ())


def test_chunks_come_one_gap_after_the_other() -> None:
    request = read_result(json.dumps(samples.result(tokens=4, ttft=0.5, gap=0.25))).requests[0]
    assert request.chunk_times_s() == pytest.approx([100.5, 100.75, 101.0, 101.25])


@given(st.sampled_from(sorted(samples.result())), json_values)
def test_one_odd_field_never_breaks_the_evaluation(name: str, odd: Any) -> None:
    outcome = evaluate(json.dumps({**samples.result(), name: odd}), {}, samples.point(8, 80))
    assert outcome.status in ("valid", "invalid", "failed")
    json.dumps(outcome.as_dict(), allow_nan=False)


@given(json_values)
def test_a_document_that_is_no_result_is_a_failed_run_with_a_reason_of_one_line(document: Any) -> None:
    outcome = evaluate(json.dumps(document), {}, samples.point())
    assert (outcome.status, outcome.reasons) == ("failed", ["bad_result"])
    assert "\n" not in outcome.detail


@pytest.mark.parametrize(
    ("errors", "told"),
    [(1, ""), (None, ""), (["", " \n"], ""), (["", "Traceback\nConnectionReset"], "ConnectionReset")],
)
def test_first_error_is_the_last_line_of_the_first_text(errors: Any, told: str) -> None:
    outcome = evaluate(json.dumps({**samples.result(), "errors": errors}), {}, samples.point(8, 80))
    assert outcome.detail == told
