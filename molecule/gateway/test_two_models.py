"""Questions to the gateway of a plan with two models: one place for the large, two for the small, a queue of one."""

from __future__ import annotations

import time

import pytest

from tests.support.gateway_client import (
    ask,
    ask_until_let_in,
    expect_an_even_stream,
    leave_the_queue,
    listed,
    requests_in_flight,
    statuses,
)

ENDPOINTS = {"large": "large-0", "small": "small-0"}
PLACES, QUEUE = 1, 1


@pytest.mark.parametrize("model", ENDPOINTS)
def test_model_that_a_request_names_answers_it(model: str) -> None:
    answer = ask(0.1, model=model)
    assert (answer.status_code, answer.headers["X-Apollo-Endpoint"]) == (200, ENDPOINTS[model])


def test_all_models_are_listed() -> None:
    assert listed() == list(ENDPOINTS)


@pytest.mark.parametrize(
    ("model", "status", "kind"), [("larger", 404, "not_found_error"), (None, 400, "invalid_request_error")]
)
def test_request_for_no_known_model_is_refused(model: str | None, status: int, kind: str) -> None:
    answer = ask(0.1, model=model)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["type"]) == (status, status, kind)


def test_long_prompt_may_stand_before_its_model() -> None:
    answer = ask(0.1, model="small", prompt="x" * 700_000)
    assert (answer.status_code, answer.headers["X-Apollo-Endpoint"]) == (200, "small-0")


def test_full_queue_of_one_model_holds_nobody_up_at_the_other() -> None:
    with requests_in_flight(PLACES + QUEUE, 2, model="large") as asked:
        refused = ask(2, model="large")
        start = time.monotonic()
        other = ask(0.1, model="small")
        waited = time.monotonic() - start
        assert statuses(asked) == [200] * (PLACES + QUEUE)
    assert (refused.status_code, refused.headers["Retry-After"].isdecimal()) == (429, True)
    assert (other.status_code, waited < 1) == (200, True)


def test_client_that_gives_up_frees_its_place_in_the_queue() -> None:
    with requests_in_flight(PLACES, 3, model="large") as asked:
        leave_the_queue("x", model="large")
        let_in = ask_until_let_in(within_s=1.5, model="large")
        assert let_in.status_code == 200
        assert statuses(asked) == [200] * PLACES


def test_stream_is_not_held_back() -> None:
    expect_an_even_stream("large")
