"""HAProxy's runtime socket: what its tables say, and which commands bring servers into a state."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

_PSEUDO = ("FRONTEND", "BACKEND")


@dataclass(frozen=True)
class Server:
    """One server of a backend as the gateway sees it now."""

    name: str
    status: str
    sessions: int
    queued: int
    limit: int | None
    check: str

    @property
    def maintained(self) -> bool:
        """Whether an operator took it out of service."""
        return self.status.startswith(("MAINT", "DRAIN"))

    @property
    def up(self) -> bool:
        return self.status.startswith("UP")


def parse_servers(table: str, backend: str) -> list[Server]:
    """Read the servers of a backend from ``show stat``."""
    rows = csv.DictReader(table.removeprefix("# ").splitlines())
    return [_server(row) for row in rows if row["pxname"] == backend and row["svname"] not in _PSEUDO]


def parse_queue(table: str, backend: str) -> int:
    """Read how many requests wait for a backend from ``show stat``."""
    rows = csv.DictReader(table.removeprefix("# ").splitlines())
    waiting = (int(row["qcur"] or 0) for row in rows if row["pxname"] == backend and row["svname"] == "BACKEND")
    return sum(waiting)


def commands(servers: Sequence[Server], backend: str, state: str) -> list[str]:
    """Give the commands that bring all servers into ``ready``, ``drain`` or ``maint``; none when they are there."""
    return [f"set server {backend}/{server.name} state {state}" for server in servers if not is_in(server, state)]


def is_in(server: Server, state: str) -> bool:
    if state == "ready":
        return not server.maintained
    return server.status.startswith(state.upper())


def busy(servers: Sequence[Server]) -> int:
    """Count the requests that servers still work on."""
    return sum(server.sessions for server in servers)


def _server(row: dict[str, str]) -> Server:
    return Server(
        name=row["svname"],
        status=row["status"],
        sessions=int(row["scur"] or 0),
        queued=int(row["qcur"] or 0),
        limit=int(row["slim"]) if row["slim"] else None,
        check=row["check_status"],
    )
