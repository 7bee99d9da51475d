"""How keepers of one replica hear of each other: lines of JSON over the fabric, and silence that counts as a loss."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

SILENCE_S = 15.0
RETRY_S = 1.0
LONGEST_LINE = 65536

Message = dict[str, Any]


class Link:
    """One connection. Its iteration ends when the other side is gone or silent."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.rank = -1
        connection.settimeout(SILENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one line; a failure shows as the end of the iteration."""
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def __iter__(self) -> Iterator[Message]:
        try:
            with self.connection.makefile("rb") as lines:
                while line := lines.readline(LONGEST_LINE):
                    message = json.loads(line)
                    if isinstance(message, dict):
                        yield message
        except (OSError, ValueError):
            return
        finally:
            self.close()


def in_background(function: Callable[..., None], *arguments: Any) -> None:
    threading.Thread(target=function, args=arguments, daemon=True).start()


def listen(address: str, port: int, heard: Callable[[Link, Message], None], lost: Callable[[Link], None]) -> None:
    """Accept connections for ever; the address may appear after the program has started."""
    while True:
        try:
            server = socket.create_server((address, port), backlog=64)
        except OSError as error:
            print(f"keeper: {address}:{port} cannot be listened on yet: {error}", flush=True)
            time.sleep(RETRY_S * 2)
            continue
        while True:
            connection, _ = server.accept()
            in_background(_follow, Link(connection), heard, lost)


def connect(
    address: str,
    port: int,
    met: Callable[[Link], None],
    heard: Callable[[Link, Message], None],
    lost: Callable[[Link], None],
) -> None:
    """Keep a connection to the head for ever."""
    while True:
        with contextlib.suppress(OSError):
            link = Link(socket.create_connection((address, port), timeout=5))
            met(link)
            _follow(link, heard, lost)
        time.sleep(RETRY_S)


def _follow(link: Link, heard: Callable[[Link, Message], None], lost: Callable[[Link], None]) -> None:
    for message in link:
        heard(link, message)
    lost(link)
