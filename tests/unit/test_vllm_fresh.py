"""An engine that has answered its probes and nothing else need not be started once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
from ansible.module_utils.apollo.bench_counters import freshness

PAGE = 'vllm:generation_tokens_total{engine="0"} '


@pytest.mark.parametrize(
    ("page", "tokens", "fresh"),
    [
        (f"{PAGE}1.0", 1, True),
        (f"{PAGE}16.0", 16, True),
        (f"{PAGE}17.0", 17, False),
        (f"{PAGE}9.0\n{PAGE}9.0", 18, False),
        (f"{PAGE}0.0", 0, False),
        ("vllm:other_total 1", None, False),
        (None, None, False),
    ],
)
def test_fresh_is_proved_to_answer_and_unused(page: str | None, tokens: int | None, fresh: bool) -> None:
    assert freshness(page, probe_tokens_max=16) == (tokens, fresh)


@contextmanager
def metrics(text: str) -> Iterator[str]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/metrics" else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *words: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Page)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


@pytest.mark.parametrize("check", [False, True])
def test_module_reads_the_counters(run_module: Callable[..., dict[str, Any]], check: bool) -> None:
    with metrics(f"{PAGE}2.0") as url:
        found = run_module("vllm_fresh", check=check, urls=[url])
    assert (found["fresh"], found["generated_tokens"], found["changed"]) == (True, [2], False)


def test_engine_that_is_gone_is_not_fresh(run_module: Callable[..., dict[str, Any]]) -> None:
    with metrics("") as gone:
        pass
    with metrics(f"{PAGE}2.0") as here:
        found = run_module("vllm_fresh", urls=[here, gone], timeout_s=1)
    assert (found["fresh"], found["generated_tokens"]) == (False, [2, None])
