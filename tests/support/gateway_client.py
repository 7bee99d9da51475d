"""Questions to a gateway as its users ask them, to stand-ins of 20 tokens a second."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from itertools import pairwise
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import requests

URL = os.environ["GATEWAY_URL"]
KEY = os.environ["GATEWAY_KEY"]
TOKEN_S = 0.05


def ask(
    seconds: float, key: str | None = KEY, timeout: float = 60, model: str | None = "stub", **body: Any
) -> requests.Response:
    """A request whose answer takes this long."""
    named = {"model": model} if model is not None else {}
    return requests.post(
        f"{URL}/v1/completions",
        json={"prompt": "x", "max_tokens": round(seconds / TOKEN_S), **body, **named},
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=timeout,
    )


@contextmanager
def requests_in_flight(number: int, seconds: float, model: str = "stub") -> Iterator[list[Future[requests.Response]]]:
    """This many requests, sent one after the other, all of them under way, also on a busy computer."""
    with ThreadPoolExecutor(number) as pool:
        asked = []
        for _ in range(number):
            asked.append(pool.submit(ask, seconds, model=model))
            time.sleep(0.05)
        time.sleep(0.8)
        yield asked


def leave_the_queue(prompt: str, model: str = "stub") -> None:
    """A request waits, its body in a segment after its headers as many clients send it, and its client goes."""
    address = urlsplit(URL)
    connection = HTTPConnection(str(address.hostname), address.port, timeout=10)
    body = json.dumps({"model": model, "prompt": prompt, "max_tokens": 20}).encode()
    connection.putrequest("POST", "/v1/completions")
    for name, value in {"Authorization": f"Bearer {KEY}", "Content-Length": str(len(body))}.items():
        connection.putheader(name, value)
    connection.endheaders()
    time.sleep(0.05)
    connection.send(body)
    time.sleep(0.25)
    connection.close()


def ask_until_let_in(within_s: float, model: str = "stub") -> requests.Response:
    """Ask again while the queue is full, but not for longer than this: a busy computer frees a place a little later."""
    deadline = time.monotonic() + within_s
    while (answer := ask(0.1, model=model)).status_code == 429 and time.monotonic() < deadline:
        time.sleep(0.1)
    return answer


def statuses(asked: list[Future[requests.Response]]) -> list[int]:
    return [answer.result().status_code for answer in asked]


def listed() -> list[str]:
    answer = requests.get(f"{URL}/v1/models", headers={"Authorization": f"Bearer {KEY}"}, timeout=10)
    return [model["id"] for model in answer.json()["data"]]


def expect_an_even_stream(model: str) -> None:
    """Ask for a stream, and require that each token arrives when it was sent."""
    number = 40
    with requests.post(
        f"{URL}/v1/completions",
        json={"model": model, "prompt": "x", "max_tokens": number, "stream": True},
        headers={"Authorization": f"Bearer {KEY}"},
        stream=True,
        timeout=30,
    ) as answer:
        arrivals = [time.monotonic() for line in answer.iter_lines(chunk_size=1) if b'"text"' in line]
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    assert len(arrivals) == number
    assert 0.8 * TOKEN_S < median(gaps) < 1.5 * TOKEN_S
    assert sum(gap < 0.2 * TOKEN_S for gap in gaps) <= 2, "tokens came in bursts"
