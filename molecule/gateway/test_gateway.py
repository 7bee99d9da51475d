"""Questions to the gateway of this scenario: two endpoints, two places at each, a queue of two, four seconds in it."""

from __future__ import annotations

import time

import pytest
import requests

from tests.support.gateway_client import (
    KEY,
    URL,
    ask,
    ask_until_let_in,
    expect_an_even_stream,
    leave_the_queue,
    listed,
    requests_in_flight,
    statuses,
)

PLACES = 4
QUEUE = 2
QUEUE_TIMEOUT_S = 4


@pytest.mark.parametrize("key", [None, "a-wrong-key-of-some-length", KEY[:-1], ""])
def test_wrong_key_is_refused(key: str | None) -> None:
    answer = ask(0.1, key)
    assert answer.status_code == 401
    assert answer.json()["error"]["type"] == "authentication_error"


def test_known_key_is_let_in() -> None:
    assert ask(0.1).status_code == 200


def test_models_are_listed_to_those_with_a_key() -> None:
    assert listed() == ["stub"]
    assert requests.get(f"{URL}/v1/models", timeout=10).status_code == 401


@pytest.mark.parametrize("path", ["/metrics", "/stub", "/v1/load_lora_adapter"])
def test_other_paths_of_an_engine_are_not_there(path: str) -> None:
    answer = requests.get(f"{URL}{path}", headers={"Authorization": f"Bearer {KEY}"}, timeout=10)
    assert answer.status_code == 404


def test_both_endpoints_share_the_work() -> None:
    with requests_in_flight(PLACES, 1) as asked:
        served = {answer.result().headers["X-Apollo-Endpoint"] for answer in asked}
    assert served == {"stub-0", "stub-1"}


def test_queue_is_served_and_the_next_one_is_told_when_to_come_back() -> None:
    with requests_in_flight(PLACES + QUEUE, 2) as asked:
        start = time.monotonic()
        refused = ask(2)
        waited = time.monotonic() - start
        served = statuses(asked)
    assert served == [200] * (PLACES + QUEUE)
    assert refused.status_code == 429
    assert refused.headers["Retry-After"].isdecimal()
    assert refused.json()["error"]["type"] == "rate_limit_error"
    assert waited < 1


def test_wait_in_the_queue_has_an_end() -> None:
    with requests_in_flight(PLACES, QUEUE_TIMEOUT_S + 3) as asked:
        start = time.monotonic()
        given_up = ask(1)
        waited = time.monotonic() - start
        assert statuses(asked) == [200] * PLACES
    assert given_up.status_code == 503
    assert QUEUE_TIMEOUT_S - 1 < waited < QUEUE_TIMEOUT_S + 2


@pytest.mark.parametrize("prompt", ["x", "x" * 500_000], ids=["short", "long"])
def test_client_that_gives_up_frees_its_place_in_the_queue(prompt: str) -> None:
    with requests_in_flight(PLACES, 4) as asked:
        for _ in range(QUEUE):
            leave_the_queue(prompt)
        let_in = ask_until_let_in(within_s=1.5)
        assert let_in.status_code == 200
        assert statuses(asked) == [200] * PLACES


def test_stream_is_not_held_back() -> None:
    expect_an_even_stream("stub")
