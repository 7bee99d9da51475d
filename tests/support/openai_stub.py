"""A small OpenAI-like server for tests: streams tokens at a set pace and counts what runs at once.

Run it as ``python3 openai_stub.py --port 8000 --model m --token-delay-s 0.03``. Beside the usual paths it answers
``/stub`` with the requests seen, the most that ran at once and those broken off by the client, and a POST to
``/stub`` changes its behaviour: ``{"healthy": false, "fail": true, "token_delay_s": 1.0}``.

Its faults, each at the request of the number given: ``die_at`` ends the server, ``cut_at`` ends a stream half-way
without a word, ``error_at`` puts an error event into a stream, ``freeze_at`` leaves everything unanswered from then
on, its health page too. ``empty_reason`` makes a failure say nothing; ``without`` names a counter that is gone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

REASONS = {200: "OK", 404: "Not Found", 500: "Internal Server Error", 503: "Service Unavailable"}


@dataclass
class Behaviour:
    """What the server does, and what it has seen."""

    model: str = "stub"
    tokens: int = 4
    token_delay_s: float = 0.03
    healthy: bool = True
    fail: bool = False
    seen: int = 0
    running: int = 0
    most_running: int = 0
    broken_off: int = 0
    prompt_tokens: int = 64
    die_at: int = 0
    cut_at: int = 0
    error_at: int = 0
    freeze_at: int = 0
    empty_reason: bool = False
    without: str = ""
    generated: int = 0
    answered: int = 0
    started_s: float = 1.8e9

    def is_frozen(self) -> bool:
        return 0 < self.freeze_at <= self.seen


@dataclass(frozen=True)
class Request:
    """One parsed request."""

    method: str
    path: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Opened:
    """A server that listens: its port, and how to end it from another thread."""

    port: int
    stop: Callable[[], object]


class Stub:
    """The server."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests, one after the other."""
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while request := await read_request(reader):
                    await self.answer(request, reader, writer)
        finally:
            writer.close()

    async def answer(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behaviour = self.behaviour
        if request.path == "/stub":
            for name, value in request.body.items():
                setattr(behaviour, name, value)
            await send(writer, 200, asdict(behaviour))
        elif behaviour.is_frozen():
            await self.freeze()
        elif request.path == "/metrics":
            await send_text(writer, metrics_page(behaviour))
        elif request.path == "/version":
            await send(writer, 200, {"version": "stub"})
        elif request.path == "/health":
            await send(writer, 200 if behaviour.healthy else 503, {})
        elif request.path == "/v1/models":
            await send(writer, 200, {"object": "list", "data": [{"id": behaviour.model, "object": "model"}]})
        elif request.path in ("/v1/completions", "/v1/chat/completions"):
            await self.generate(request, reader, writer)
        else:
            await send(writer, 404, {"error": {"message": f"no path {request.path}"}})

    async def freeze(self) -> None:
        """Answer nothing for as long as the server is there."""
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    async def generate(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behaviour = self.behaviour
        behaviour.seen += 1
        behaviour.running += 1
        behaviour.most_running = max(behaviour.most_running, behaviour.running)
        try:
            if behaviour.seen == behaviour.die_at:
                os._exit(137)  # as a kill does: nobody is told
            if behaviour.fail:
                await send(writer, 500, {"error": {"message": "the engine is dead"}}, behaviour.empty_reason)
            elif request.body.get("stream"):
                await self.stream(request, reader, writer)
            else:
                for _ in range(self.length(request)):
                    await self.token(reader)
                await send(writer, 200, completion(behaviour.model, self.length(request)))
        except ConnectionError:
            behaviour.broken_off += 1
            raise
        finally:
            behaviour.running -= 1

    def length(self, request: Request) -> int:
        return int(request.body.get("max_tokens") or self.behaviour.tokens)

    async def token(self, reader: asyncio.StreamReader) -> None:
        """Take the time of one token, and end as an engine does when its client has left."""
        await asyncio.sleep(self.behaviour.token_delay_s)
        if reader.at_eof():
            raise ConnectionResetError("the client has left")

    async def stream(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send one chunk per token, as server-sent events, and what was used in the end."""
        mine, length = self.behaviour.seen, self.length(request)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(length):
            await self.token(reader)
            self.behaviour.generated += 1
            if mine in (self.behaviour.cut_at, self.behaviour.error_at) and number == length // 2:
                await self.break_off(writer, mine == self.behaviour.error_at)
                return
            await write_event(writer, {"choices": [{"text": f" t{number}"}]})
        usage = {"prompt_tokens": self.behaviour.prompt_tokens, "completion_tokens": length}
        await write_event(writer, {"choices": [], "usage": usage})
        await write_chunk(writer, "data: [DONE]\n\n")
        self.behaviour.answered += 1
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def break_off(self, writer: asyncio.StreamWriter, with_error: bool) -> None:
        """End a stream half-way, as if all were well."""
        if with_error:
            await write_event(writer, {"error": {"message": "the engine is dead", "code": 500}})
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def metrics_page(behaviour: Behaviour) -> str:
    """The counters of an engine, as far as the benchmark reads them."""
    values = {
        "process_start_time_seconds": behaviour.started_s,
        "vllm:generation_tokens_total": behaviour.generated,
        "vllm:prompt_tokens_total": behaviour.answered * behaviour.prompt_tokens,
        "vllm:request_success_total": behaviour.answered,
        "vllm:num_requests_running": behaviour.running,
        "vllm:num_requests_waiting": 0,
        "vllm:kv_cache_usage_perc": min(1.0, behaviour.running / 100),
        "vllm:num_preemptions_total": 0,
        "vllm:prefix_cache_queries_total": behaviour.answered * behaviour.prompt_tokens,
        "vllm:prefix_cache_hits_total": 0,
    }
    shown = {name: value for name, value in values.items() if name != behaviour.without}
    return "".join(f'{name}{{engine="0"}} {value}\n' for name, value in shown.items())


def completion(model: str, tokens: int) -> dict[str, Any]:
    usage = {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}
    return {"model": model, "choices": [{"index": 0, "text": " t" * tokens, "finish_reason": "length"}], "usage": usage}


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    head = await reader.readline()
    if not head:
        return None
    method, path, _ = head.decode().split()
    length = 0
    while (line := (await reader.readline()).decode().strip()) != "":
        name, _, value = line.partition(":")
        length = int(value) if name.lower() == "content-length" else length
    body = await reader.readexactly(length)
    return Request(method, path, json.loads(body) if body else {})


async def send(writer: asyncio.StreamWriter, status: int, body: dict[str, Any], silent: bool = False) -> None:
    """Answer with a document; a silent answer has neither reason nor document."""
    text = b"" if silent else json.dumps(body).encode()
    reason = "" if silent else REASONS[status]
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
    writer.write(head.encode() + text)
    await writer.drain()


async def send_text(writer: asyncio.StreamWriter, page: str) -> None:
    text = page.encode()
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
    await writer.drain()


async def write_event(writer: asyncio.StreamWriter, event: dict[str, Any]) -> None:
    await write_chunk(writer, f"data: {json.dumps(event)}\n\n")


async def write_chunk(writer: asyncio.StreamWriter, text: str) -> None:
    data = text.encode()
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


async def run(host: str, port: int, behaviour: Behaviour, opened: Callable[[Opened], None]) -> None:
    """Serve until told to stop; ``opened`` learns the port and how to tell."""
    server = await asyncio.start_server(Stub(behaviour).serve, host, port)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    opened(Opened(server.sockets[0].getsockname()[1], lambda: loop.call_soon_threadsafe(stop.set)))
    await stop.wait()
    server.close()


@contextmanager
def running(behaviour: Behaviour) -> Iterator[str]:
    """Serve in a thread of this process; gives the address."""
    told: queue.Queue[Opened] = queue.Queue()
    thread = threading.Thread(target=lambda: asyncio.run(run("127.0.0.1", 0, behaviour, told.put)))
    thread.start()
    opened = told.get(timeout=10)
    try:
        yield f"http://127.0.0.1:{opened.port}"
    finally:
        opened.stop()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", default="stub")
    parser.add_argument("--tokens", type=int, default=4)
    parser.add_argument("--token-delay-s", type=float, default=0.03)
    options = parser.parse_args()
    behaviour = Behaviour(options.model, options.tokens, options.token_delay_s)
    asyncio.run(run(options.host, options.port, behaviour, lambda opened: None))


if __name__ == "__main__":
    main()
