"""What a seal lets through: the next line of the other side of this connection, and nothing else."""

from __future__ import annotations

import json

import pytest
from ansible.module_utils.apollo import seal

SECRET, OTHER = "5a" * 32, "6b" * 32
NONCES = ("0" * 64, "1" * 64)


def ends(head: str = SECRET, worker: str = SECRET) -> tuple[seal.Seal, seal.Seal]:
    """What the worker writes with, and what the head reads with."""
    return seal.seals(worker, seal.WORKER, *NONCES)[0], seal.seals(head, seal.HEAD, *NONCES)[1]


def test_lines_come_through_in_order() -> None:
    worker, head = ends()
    assert [head.open(worker.close(text)) for text in (b"one", b"two words", b"")] == [b"one", b"two words", b""]


def test_secret_is_not_in_a_line() -> None:
    assert SECRET.encode() not in ends()[0].close(b"one")


def test_line_of_another_secret_is_refused() -> None:
    worker, head = ends(worker=OTHER)
    with pytest.raises(seal.RefusedError, match=r"its line 1 is not sealed .*: run site\.yml"):
        head.open(worker.close(b"one"))


def test_changed_line_is_refused() -> None:
    worker, head = ends()
    with pytest.raises(seal.RefusedError):
        head.open(worker.close(b"one").replace(b"one", b"two"))


def test_repeated_line_is_refused() -> None:
    worker, head = ends()
    line = worker.close(b"one")
    head.open(line)
    with pytest.raises(seal.RefusedError):
        head.open(line)


def test_line_after_one_that_was_left_out_is_refused() -> None:
    worker, head = ends()
    worker.close(b"one")
    with pytest.raises(seal.RefusedError):
        head.open(worker.close(b"two"))


def test_line_that_is_sent_back_is_refused() -> None:
    head_writes, head_reads = seal.seals(SECRET, seal.HEAD, *NONCES)
    with pytest.raises(seal.RefusedError):
        head_reads.open(head_writes.close(b"one"))


def test_line_of_an_earlier_connection_is_refused() -> None:
    line = ends()[0].close(b"one")
    _, reads = seal.seals(SECRET, seal.HEAD, seal.new_secret(), NONCES[1])
    with pytest.raises(seal.RefusedError):
        reads.open(line)


@pytest.mark.parametrize("line", [b"", b" ", b"{}", b"no-code", "\N{SNOWMAN} x".encode()])
def test_line_without_a_seal_is_refused(line: bytes) -> None:
    with pytest.raises(seal.RefusedError):
        ends()[1].open(line)


def test_greeting_gives_its_nonce() -> None:
    assert seal.nonce_of(seal.greeting(NONCES[0])) == NONCES[0]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (json.dumps({"life": "one", "rank": 1}), "it speaks protocol 1 of keepers, 2 wanted: run site.yml"),
        (json.dumps({"refused": "another life"}), "it speaks protocol 1"),
        (json.dumps({"keeper": 3, "nonce": NONCES[0]}), "it speaks protocol 3 of keepers, 2 wanted"),
        (json.dumps({"keeper": 2, "nonce": "short"}), "its greeting has no nonce"),
        (json.dumps({"keeper": 2}), "its greeting has no nonce"),
        ("GET / HTTP/1.1", "no greeting of a keeper"),
        ("[2]", "no greeting of a keeper"),
    ],
)
def test_what_is_no_greeting_of_this_version_is_refused_by_name(line: str, told: str) -> None:
    with pytest.raises(seal.RefusedError, match=told):
        seal.nonce_of(line.encode())


def test_secrets_differ_and_are_whole() -> None:
    assert seal.is_secret(seal.new_secret())
    assert seal.new_secret() != seal.new_secret()
    assert not seal.is_secret(SECRET[1:])
    assert not seal.is_secret(SECRET + "\n")
