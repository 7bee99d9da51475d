"""Questions to the gateway of this scenario: two endpoints, two places at each, a queue of two, four seconds in it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from statistics import median

import pytest
import requests

URL = os.environ["GATEWAY_URL"]
KEY = os.environ["GATEWAY_KEY"]
TOKEN_S = 0.05
PLACES = 4
QUEUE = 2
QUEUE_TIMEOUT_S = 4


def ask(seconds: float, key: str | None = KEY, timeout: float = 60) -> requests.Response:
    """A request whose answer takes this long."""
    return requests.post(
        f"{URL}/v1/completions",
        json={"model": "stub", "prompt": "x", "max_tokens": round(seconds / TOKEN_S)},
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=timeout,
    )


@contextmanager
def requests_in_flight(number: int, seconds: float) -> Iterator[list[Future[requests.Response]]]:
    """This many requests, sent one after the other, all of them under way, also on a busy computer."""
    with ThreadPoolExecutor(number) as pool:
        asked = []
        for _ in range(number):
            asked.append(pool.submit(ask, seconds))
            time.sleep(0.05)
        time.sleep(0.8)
        yield asked


def statuses(asked: list[Future[requests.Response]]) -> list[int]:
    return [answer.result().status_code for answer in asked]


@pytest.mark.parametrize("key", [None, "a-wrong-key-of-some-length", KEY[:-1], ""])
def test_wrong_key_is_refused(key: str | None) -> None:
    answer = ask(0.1, key)
    assert answer.status_code == 401
    assert answer.json()["error"]["type"] == "authentication_error"


def test_known_key_is_let_in() -> None:
    assert ask(0.1).status_code == 200


def test_models_are_listed_to_those_with_a_key() -> None:
    listed = requests.get(f"{URL}/v1/models", headers={"Authorization": f"Bearer {KEY}"}, timeout=10)
    assert [model["id"] for model in listed.json()["data"]] == ["stub"]
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


def ask_until_let_in(within_s: float) -> requests.Response:
    """Ask again while the queue is full, but not for longer than this: a busy computer frees a place a little later."""
    deadline = time.monotonic() + within_s
    while (answer := ask(0.1)).status_code == 429 and time.monotonic() < deadline:
        time.sleep(0.1)
    return answer


def test_client_that_gives_up_frees_its_place_in_the_queue() -> None:
    with requests_in_flight(PLACES, 5) as asked:
        for _ in range(QUEUE):
            with pytest.raises(requests.exceptions.ReadTimeout):
                ask(1, timeout=0.3)
        let_in = ask_until_let_in(within_s=1.5)
        assert let_in.status_code == 200
        assert statuses(asked) == [200] * PLACES


def test_stream_is_not_held_back() -> None:
    number = 40
    with requests.post(
        f"{URL}/v1/completions",
        json={"model": "stub", "prompt": "x", "max_tokens": number, "stream": True},
        headers={"Authorization": f"Bearer {KEY}"},
        stream=True,
        timeout=30,
    ) as answer:
        arrivals = [time.monotonic() for line in answer.iter_lines(chunk_size=1) if b'"text"' in line]
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    assert len(arrivals) == number
    assert 0.8 * TOKEN_S < median(gaps) < 1.5 * TOKEN_S
    assert sum(gap < 0.2 * TOKEN_S for gap in gaps) <= 2, "tokens came in bursts"
