"""How keepers of one replica hear of each other: sealed lines over the fabric, and silence that counts as a loss.

Whoever else connects is sent away within seconds, and gets neither a word to the keeper nor its port.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import seal  # lies beside this program on a node

SILENCE_S = 15.0
GREETING_S = 5.0
RETRY_S = 0.5
LONGEST_LINE = 65536
STRANGERS = 32  # connections that have not shown yet whose they are

Message = dict[str, Any]


@dataclass(frozen=True)
class Ears:
    """What is called when something is heard; from threads of their own."""

    heard: Callable[[Link, Message], None]
    lost: Callable[[Link], None]
    refused: Callable[[str, str], None]


class Link:
    """One connection of a keeper on this side: HEAD, which was called, or WORKER, which has called."""

    def __init__(self, connection: socket.socket, side: str) -> None:
        self.connection, self.side = connection, side
        self.address = str(connection.getpeername()[0])
        self.rank = -1
        self.unread = b""
        connection.settimeout(SILENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def agree(self, secret_path: Path, ears: Ears) -> bool:
        """Greet and agree on the seals. The secret is read for each connection, since it may have been replaced."""
        with self._refusing(ears):
            secret, own = read_secret(secret_path), seal.new_secret()
            self._write(seal.greeting(own))
            other = seal.nonce_of(self._read(GREETING_S))
            nonces = (own, other) if self.side == seal.HEAD else (other, own)
            self.written, self.heard = seal.seals(secret, self.side, *nonces)
            return True
        return False

    def first(self, ears: Ears) -> Message | None:
        """Give the first message, which has to come soon."""
        with self._refusing(ears):
            return self._receive(GREETING_S)
        return None

    def follow(self, ears: Ears) -> None:
        """Tell what is heard, until the other side is gone, silent or wrong."""
        with self._refusing(ears):
            while True:
                ears.heard(self, self._receive(SILENCE_S))
        ears.lost(self)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one line; a failure shows as the end of what is heard."""
        try:
            self._write(self.written.close(json.dumps(message).encode()))
        except OSError:
            self.close()

    def refuse(self, reason: str) -> None:
        """Say why in plain words, which a keeper of any version shows, and close."""
        with contextlib.suppress(OSError):
            self._write(json.dumps({"refused": reason}).encode())
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    @contextlib.contextmanager
    def _refusing(self, ears: Ears) -> Iterator[None]:
        """Close when the other side is gone; when it is wrong, say so on both sides, too."""
        try:
            yield
        except seal.RefusedError as refusal:
            ears.refused(self.address, str(refusal))
            self.refuse(str(refusal))
        except (OSError, ValueError):
            self.close()

    def _receive(self, within_s: float) -> Message:
        line = self._read(within_s)
        if line.startswith(b"{"):  # no seal: the other side refuses, and says why
            raise seal.RefusedError(str(json.loads(line).get("refused"))[:300])
        return dict(json.loads(self.heard.open(line)))

    def _write(self, line: bytes) -> None:
        self.connection.sendall(line + b"\n")

    def _read(self, within_s: float) -> bytes:
        """Give the next line, which has to be whole and in time."""
        end = time.monotonic() + within_s
        while b"\n" not in self.unread:
            if len(self.unread) > LONGEST_LINE:
                raise seal.RefusedError(f"its line is longer than {LONGEST_LINE} bytes")
            if not select.select([self.connection], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"it says nothing whole within {within_s:.0f} s")
            more = self.connection.recv(4096)
            if not more:
                raise ConnectionError("it has closed the connection")
            self.unread += more
        line, _, self.unread = self.unread.partition(b"\n")
        return line


def read_secret(path: Path) -> str:
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except OSError:
        secret = ""
    if not seal.is_secret(secret):
        raise seal.RefusedError(f"{path} on {socket.gethostname()} holds no secret: {seal.REMEDY}")
    return secret


def in_background(function: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=function, args=arguments, daemon=True).start()


def listen(address: str, port: int, secret_path: Path, ears: Ears) -> None:
    """Accept connections for ever; the address may appear after the program has started."""
    places = threading.Semaphore(STRANGERS)
    while True:
        try:
            with socket.create_server((address, port), backlog=64) as server:
                while True:
                    connection, _ = server.accept()
                    places.acquire()
                    in_background(_welcome, connection, secret_path, ears, places)
        except OSError as error:
            print(f"keeper: {address}:{port} cannot be listened on: {error}", flush=True)
            time.sleep(RETRY_S * 2)


def connect(address: str, port: int, secret_path: Path, met: Callable[[Link], None], ears: Ears) -> None:
    """Keep a connection to the head for ever."""
    while True:
        with contextlib.suppress(OSError):
            link = Link(socket.create_connection((address, port), timeout=GREETING_S), seal.WORKER)
            if link.agree(secret_path, ears):
                met(link)
                link.follow(ears)
        time.sleep(RETRY_S)


def _welcome(connection: socket.socket, secret_path: Path, ears: Ears, places: threading.Semaphore) -> None:
    """Listen to a worker once its first line has shown that it is one. Who is refused keeps its place for a while."""
    first = None
    try:
        link = Link(connection, seal.HEAD)
        first = link.agree(secret_path, ears) and link.first(ears)
        if not first:
            time.sleep(RETRY_S)
    except OSError:
        connection.close()
    finally:
        places.release()
    if first:
        ears.heard(link, first)
        link.follow(ears)
