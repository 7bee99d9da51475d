"""Every endpoint of the running plan answers through the gateway."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.lab.conftest import Gateway

MODEL = "qwen3.6-27b"
ENDPOINTS = ("vllm-27b-0", "vllm-27b-1")
CHOSEN = "X-Apollo-Endpoint"


def complete(gateway: Gateway, endpoint: str | None = None) -> requests.Response:
    headers = {"Authorization": f"Bearer {gateway.key}", **({CHOSEN: endpoint} if endpoint else {})}
    body = {"model": MODEL, "prompt": "One", "max_tokens": 4, "ignore_eos": True}
    return requests.post(f"{gateway.url}/v1/completions", json=body, headers=headers, timeout=60)


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_endpoint_answers_through_the_gateway(gateway: Gateway, endpoint: str) -> None:
    answer = complete(gateway, endpoint)
    assert answer.status_code == 200, answer.text
    assert answer.headers[CHOSEN] == endpoint
    assert answer.json()["usage"]["completion_tokens"] == 4


def test_requests_are_shared_among_the_endpoints(gateway: Gateway) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: complete(gateway), range(8)))
    assert {answer.status_code for answer in answers} == {200}
    assert {answer.headers[CHOSEN] for answer in answers} == set(ENDPOINTS)


def test_chat_is_streamed_to_its_end(gateway: Gateway) -> None:
    message = {"role": "user", "content": "Say something."}
    answer = requests.post(
        f"{gateway.url}/v1/chat/completions",
        json={"model": MODEL, "messages": [message], "max_tokens": 4, "stream": True, "ignore_eos": True},
        headers={"Authorization": f"Bearer {gateway.key}"},
        timeout=60,
    )
    events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    assert all(json.loads(event)["model"] == MODEL for event in events[:-1])


def test_request_without_a_key_is_refused(gateway: Gateway) -> None:
    assert requests.get(f"{gateway.url}/v1/models", timeout=10).status_code == 401
