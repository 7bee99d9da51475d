"""Who may speak to a keeper: a worker that calls the head as a keeper does, or otherwise, over a real connection."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible.module_utils.apollo import seal

from tests.support.keeper_rig import SECRET, Pair, load_program, until

REPORT = {"life": "one", "rank": 1, "phase": "free", "generation": 0}


class Peer:
    """The other end of a connection to a keeper, written by hand."""

    def __init__(self, connection: socket.socket, side: str) -> None:
        connection.settimeout(5)
        self.connection, self.side, self.lines = connection, side, connection.makefile("rb")

    def say(self, line: bytes) -> None:
        self.connection.sendall(line + b"\n")

    def hear(self) -> bytes:
        return self.lines.readline().rstrip(b"\n")

    def greet(self, secret: str = SECRET) -> None:
        own, other = seal.new_secret(), seal.nonce_of(self.hear())
        self.say(seal.greeting(own))
        nonces = (own, other) if self.side == seal.HEAD else (other, own)
        self.written, self.heard = seal.seals(secret, self.side, *nonces)

    def report(self) -> bytes:
        line = self.written.close(json.dumps(REPORT).encode())
        self.say(line)
        return line

    def refusal(self) -> str:
        """What is said before the keeper closes."""
        lines = [line for line in self.lines if line.startswith(b"{")]
        return str(json.loads(lines[-1])["refused"])


def call(pair: Pair) -> Peer:
    return Peer(socket.create_connection(("127.0.0.1", pair.port), timeout=5), seal.WORKER)


def answer(pair: Pair) -> Iterator[Peer]:
    """Be the head for as long as the worker calls."""
    with socket.create_server(("127.0.0.1", pair.port)) as server:
        server.settimeout(5)
        while True:
            yield Peer(server.accept()[0], seal.HEAD)


@pytest.fixture
def program(project: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    program = load_program(project, monkeypatch)
    monkeypatch.setattr(sys.modules["keeper_link"], "GREETING_S", 0.5)
    monkeypatch.setattr(sys.modules["keeper_head"], "REFUSAL_LASTS_S", 0.2)
    return program


@pytest.fixture
def alone(program: ModuleType, tmp_path: Path) -> Iterator[Pair]:
    """A pair of which nobody runs yet."""
    pair = Pair(program, tmp_path)
    yield pair
    for rank in (rank for rank, keeper in enumerate(pair.keepers) if keeper):
        pair.leave(rank)


@pytest.fixture
def head(alone: Pair) -> Pair:
    alone.start(0)
    until(lambda: reached(alone))
    return alone


def reached(pair: Pair) -> bool:
    try:
        call(pair).connection.close()
    except ConnectionRefusedError:
        return False
    return True


def hears_worker(pair: Pair) -> bool:
    return pair.state(0)["ranks"][1] is not None


def test_worker_that_knows_the_secret_is_heard_and_gets_sealed_orders(head: Pair) -> None:
    peer = call(head)
    peer.greet()
    peer.report()
    until(lambda: hears_worker(head))
    order: dict[str, Any] = json.loads(peer.heard.open(peer.hear()))
    assert order["phase"] in ("gathering", "loading")


def test_wrong_secret_is_told_on_both_sides_and_mended_without_a_restart(head: Pair) -> None:
    head.secret_paths[1].write_text("6b" * 32)
    head.start(1)
    until(lambda: head.state(0)["refused"] != "")
    assert "127.0.0.1 is refused: its line 1 is not sealed with the secret of this plan" in head.state(0)["waits_for"]
    assert "rank 0 at 127.0.0.1: its line 1 is not sealed" in head.state(1)["waits_for"]
    assert head.starts() == [0, 0]
    head.secret_paths[1].write_text(SECRET)
    until(lambda: head.state(0)["ready"] and head.state(1)["ready"])
    assert head.state(0)["refused"] == ""


def test_node_without_a_secret_says_so(head: Pair) -> None:
    head.secret_paths[1].unlink()
    head.start(1)
    until(lambda: "secret-1" in head.state(1)["waits_for"])
    assert "holds no secret: run site.yml" in head.state(1)["waits_for"]


def test_replayed_line_ends_the_connection(head: Pair) -> None:
    peer = call(head)
    peer.greet()
    line = peer.report()
    until(lambda: hears_worker(head))
    peer.say(line)
    assert "its line 2 is not sealed" in peer.refusal()
    until(lambda: not hears_worker(head))


def test_line_of_an_earlier_connection_is_refused(head: Pair) -> None:
    first, second = call(head), call(head)
    first.greet()
    line = first.report()
    first.connection.close()
    second.greet()
    second.say(line)
    assert "its line 1 is not sealed" in second.refusal()


def test_worker_takes_none_of_its_own_lines_for_an_order(alone: Pair) -> None:
    alone.start(1)
    peer = next(answer(alone))
    peer.say(seal.greeting(seal.new_secret()))
    peer.hear()
    order = peer.hear()
    peer.say(order)
    assert "its line 1 is not sealed" in peer.refusal()
    assert alone.keepers[1].order == {}


def test_truncated_line_is_not_heard(head: Pair) -> None:
    peer = call(head)
    peer.greet()
    line = peer.written.close(json.dumps(REPORT).encode())
    peer.connection.sendall(line)  # whole, but for the end of the line
    peer.connection.shutdown(socket.SHUT_WR)
    assert peer.lines.read() == b""
    assert not hears_worker(head)


def test_line_without_end_is_cut(head: Pair) -> None:
    peer = call(head)
    peer.connection.sendall(b"x" * 66_000)
    assert "longer than 65536 bytes" in peer.refusal()


def test_silent_strangers_neither_stop_an_engine_nor_hold_the_port(head: Pair) -> None:
    head.start(1)
    until(lambda: head.state(0)["ready"])
    strangers = [call(head) for _ in range(40)]
    began = time.monotonic()
    assert [stranger.lines.read().count(b"\n") for stranger in strangers] == [1] * 40  # the greeting, then the end
    assert time.monotonic() - began < 4
    assert (head.state(0)["ready"], head.state(0)["ends"], head.starts()) == (True, 0, [1, 1])


def test_worker_comes_in_although_strangers_wait(head: Pair) -> None:
    strangers = [call(head) for _ in range(40)]
    head.start(1)
    until(lambda: head.state(0)["ready"])
    assert len(strangers) == 40


def test_stranger_that_drips_is_sent_away(head: Pair) -> None:
    peer = call(head)
    with contextlib.suppress(ConnectionError):
        for _ in range(20):  # each byte well within the limit, the line never
            peer.connection.sendall(b" ")
            time.sleep(0.1)
        pytest.fail("a stranger that says a little now and then holds its connection")


def test_worker_of_the_first_version_is_told_in_its_own_words(head: Pair) -> None:
    peer = call(head)
    peer.say(json.dumps(REPORT).encode())
    assert peer.refusal() == f"it speaks protocol 1 of keepers, 2 wanted: {seal.REMEDY}"
    until(lambda: "127.0.0.1 is refused: it speaks protocol 1" in head.state(0)["waits_for"])
    assert not hears_worker(head)


def test_head_of_the_first_version_is_told(alone: Pair) -> None:
    alone.start(1)
    for peer in answer(alone):
        peer.say(json.dumps({"refused": "rank None is configured for another life of vllm-x-0"}).encode())
        if "rank 0 at 127.0.0.1: it speaks protocol 1 of keepers, 2 wanted" in alone.state(1)["waits_for"]:
            break
