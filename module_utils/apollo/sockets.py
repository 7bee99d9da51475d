"""Who listens on a port, read from what the kernel shows under /proc."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LISTEN = "0A"
_CONTAINER = re.compile(r"[0-9a-f]{64}")
_UNIT = re.compile(r"/([^/]+)\.service(?:/|$)")


@dataclass(frozen=True)
class Process:
    """A process that holds a socket, with the unit or container it belongs to."""

    pid: int
    name: str
    unit: str = ""
    container_id: str = ""


@dataclass(frozen=True)
class Holder:
    """A listening port and its process; pid 0 where the process could not be told."""

    port: int
    process: Process


def listeners(tables: Sequence[str], ports: Sequence[int]) -> dict[str, int]:
    """Give inode -> port of the listening sockets of ``/proc/net/tcp`` and ``tcp6`` on these ports."""
    rows = (line.split() for table in tables for line in table.splitlines())
    sockets = ((row[9], int(row[1].rpartition(":")[2], 16)) for row in rows if len(row) > 9 and row[3] == _LISTEN)
    return {inode: port for inode, port in sockets if port in ports}


def process(pid: int, name: str, cgroup: str) -> Process:
    """Read where a process belongs from ``/proc/<pid>/cgroup``; the innermost container and unit count."""
    units, containers = _UNIT.findall(cgroup), _CONTAINER.findall(cgroup)
    return Process(pid, name.strip(), units[-1] if units else "", containers[-1] if containers else "")


def holders(ports: Mapping[str, int], owners: Mapping[str, Process]) -> list[Holder]:
    """Join sockets and processes, one line per port."""
    unknown = Process(0, "unknown")
    found = {port: owners.get(inode, unknown) for inode, port in sorted(ports.items())}
    return [Holder(port, found[port]) for port in sorted(found)]
