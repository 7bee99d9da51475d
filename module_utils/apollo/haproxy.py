"""HAProxy's runtime socket: what its tables say, and which commands bring servers into a state."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

_PSEUDO = ("FRONTEND", "BACKEND")


@dataclass(frozen=True)
class Server:
    """One server of a backend as the gateway sees it now."""

    backend: str
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
    """Read the servers from ``show stat``: of this backend, and of those that its name and a dash begin."""
    return [_server(row) for row in _rows(table, backend) if row["svname"] not in _PSEUDO]


def parse_queues(table: str, backend: str) -> dict[str, int]:
    """Read from ``show stat`` how many requests wait for each of these backends."""
    return {row["pxname"]: int(row["qcur"] or 0) for row in _rows(table, backend) if row["svname"] == "BACKEND"}


def commands(servers: Sequence[Server], state: str) -> list[str]:
    """Give the commands that bring all servers into ``ready``, ``drain`` or ``maint``; none when they are there."""
    return [
        f"set server {server.backend}/{server.name} state {state}" for server in servers if not is_in(server, state)
    ]


def is_in(server: Server, state: str) -> bool:
    if state == "ready":
        return not server.maintained
    return server.status.startswith(state.upper())


def busy(servers: Sequence[Server]) -> int:
    """Count the requests that servers still work on."""
    return sum(server.sessions for server in servers)


def _rows(table: str, backend: str) -> list[dict[str, str]]:
    rows = csv.DictReader(table.removeprefix("# ").splitlines())
    return [row for row in rows if f"{row['pxname']}-".startswith(f"{backend}-")]


def _server(row: dict[str, str]) -> Server:
    return Server(
        backend=row["pxname"],
        name=row["svname"],
        status=row["status"],
        sessions=int(row["scur"] or 0),
        queued=int(row["qcur"] or 0),
        limit=int(row["slim"]) if row["slim"] else None,
        check=row["check_status"],
    )
