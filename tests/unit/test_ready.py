"""When an endpoint is ready, and what is said when it is not."""

from __future__ import annotations

import json

import pytest
from ansible.module_utils.apollo import ready
from ansible.module_utils.apollo.ready import Answer

GOOD_TOKEN = Answer(200, json.dumps({"choices": [{"text": " a"}], "usage": {"completion_tokens": 1}}))
METRICS = """# HELP vllm:num_requests_running Number of requests.
vllm:num_requests_running{engine="0",model_name="m"} 2.0
vllm:num_requests_running{engine="1",model_name="m"} 1.0
vllm:num_requests_waiting{engine="0",model_name="m"} 0.0
vllm:num_requests_waiting_by_reason{reason="x"} 9.0
"""


def models(*names: str) -> Answer:
    return Answer(200, json.dumps({"data": [{"id": name} for name in names]}))


def test_questions_come_in_the_order_of_what_they_prove() -> None:
    assert [step.path for step in ready.steps("m", False, {})] == ["/health", "/v1/models", "/v1/completions"]
    assert [step.path for step in ready.steps("m", True, {})][-1] == "/metrics"


def test_refused_connection_is_told_in_its_own_words() -> None:
    assert ready.judge_health(Answer(None, error="Connection refused")) == ready.Finding("health", "Connection refused")


def test_unhealthy_answer_names_its_status() -> None:
    found = ready.judge_health(Answer(503, "  not\n yet "))
    assert found
    assert found.detail == "HTTP 503 not yet"


def test_wanted_model_among_others_is_enough() -> None:
    assert ready.judge_models(models("a", "m"), "m") is None


def test_other_model_is_final_and_names_both() -> None:
    found = ready.judge_models(models("old"), "new")
    assert found == ready.Finding("model", "serves old, wanted new", final=True)


@pytest.mark.parametrize("text", ["", "not json", "[]", "{}"])
def test_model_list_that_cannot_be_read_lacks_the_model(text: str) -> None:
    assert ready.judge_models(Answer(200, text), "m") is not None


def test_wrong_key_is_final() -> None:
    found = ready.judge_models(Answer(401, "{}"), "m")
    assert found
    assert found.final


def test_one_generated_token_is_proof() -> None:
    assert ready.judge_completion(GOOD_TOKEN, {}) is None
    assert ready.generated_text(GOOD_TOKEN) == " a"


def test_token_without_visible_text_counts() -> None:
    silent = Answer(200, json.dumps({"choices": [{"text": ""}], "usage": {"completion_tokens": 1}}))
    assert ready.judge_completion(silent, {}) is None


def test_answer_without_a_token_is_no_proof() -> None:
    empty = Answer(200, json.dumps({"choices": [{"text": ""}], "usage": {"completion_tokens": 0}}))
    assert ready.judge_completion(empty, {}) is not None


def test_answer_of_another_endpoint_is_no_proof() -> None:
    other = Answer(200, GOOD_TOKEN.text, headers={"x-endpoint": "b"})
    found = ready.judge_completion(other, {"X-Endpoint": "a"})
    assert found == ready.Finding("answered by", "b, wanted a")


def test_dead_engine_behind_a_healthy_server_is_given_up_after_three_requests() -> None:
    dead = ready.judge_completion(Answer(500, "EngineDeadError"), {})
    assert dead
    assert not dead.final
    assert not ready.requests_failed_too_often([dead] * 2)
    assert ready.requests_failed_too_often([dead] * 3)


def test_refusal_of_the_request_itself_is_final() -> None:
    refused = ready.judge_completion(Answer(404, "no such model"), {})
    assert refused
    assert refused.final


def test_gauges_are_summed_over_engines_and_not_mixed_up() -> None:
    assert ready.gauge(METRICS, "vllm:num_requests_running") == 3
    assert ready.gauge(METRICS, "vllm:num_requests_waiting") == 0


def test_busy_endpoint_is_not_idle() -> None:
    found = ready.judge_idle(Answer(200, METRICS))
    assert found == ready.Finding("idle", "3 other requests are running or waiting")
    assert ready.judge_idle(Answer(200, "")) is None


@pytest.mark.parametrize(
    ("now", "detail"),
    [
        ({"ActiveState": "failed", "Result": "start-limit-hit"}, "u has failed (start-limit-hit)"),
        ({"ActiveState": "inactive"}, "u is not running"),
        ({"ActiveState": "activating", "SubState": "auto-restart", "NRestarts": "0"}, "u ended while starting"),
        ({"ActiveState": "active", "SubState": "running", "NRestarts": "4"}, "u ended while starting"),
    ],
)
def test_ended_unit_is_not_waited_for(now: dict[str, str], detail: str) -> None:
    found = ready.judge_unit("u", {"NRestarts": "3"}, now)
    assert found == ready.Finding("unit", detail, final=True)


def test_queued_unit_is_waited_for() -> None:
    queued = {"ActiveState": "inactive", "SubState": "dead", "Job": "42"}
    assert ready.judge_unit("u", {}, queued) == ready.Finding("unit", "u waits for its turn", final=False)


def test_restarts_of_the_past_do_not_count() -> None:
    running = {"ActiveState": "active", "SubState": "running", "NRestarts": "3"}
    assert ready.judge_unit("u", running, running) is None


def test_properties_keep_equal_signs_in_values() -> None:
    assert ready.properties("A=1\nB=x=y\n\nnoise") == {"A": "1", "B": "x=y"}


def test_error_is_the_cause_and_not_its_echo() -> None:
    journal = [
        "(EngineCore pid=7) ERROR 11-30 12:00:00 [core.py:1] ValueError: no room for the KV cache",
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above.",
        "vllm-27b-0.service: Main process exited",
    ]
    assert ready.last_error(journal) == "ValueError: no room for the KV cache"


def test_usage_error_is_found() -> None:
    assert ready.last_error(["usage: vllm serve", "vllm serve: error: unrecognized arguments: --foo"]).endswith("--foo")


def test_warning_that_names_an_error_is_no_reason_to_end() -> None:
    warning = "(APIServer pid=6) WARNING 12-01 05:00:00 [utils.py:1] Too low a limit can end in OSError: [Errno 24]"
    assert ready.last_error([warning]) == ""


def test_journal_without_an_error_gives_nothing() -> None:
    assert ready.last_error(["INFO all well", "error"]) == ""
