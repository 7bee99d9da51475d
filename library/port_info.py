#!/usr/bin/python
"""Tell who listens on TCP ports of this host."""

from __future__ import annotations

import contextlib
from dataclasses import asdict
from pathlib import Path

from ansible.module_utils.apollo import sockets
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: port_info
short_description: Tell who listens on TCP ports of this host
description:
  - Names process, systemd unit and container of each listener, so that a message can say who is in the way.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It only reads.}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full, details: It changes nothing.}
options:
  ports: {type: list, elements: int, required: true, description: Ports to look at.}
"""

EXAMPLES = r"""
- name: Read who listens on the port
  port_info:
    ports: [8080]
"""

RETURN = r"""
holders:
  description: One entry per port in use, with port, pid, process, unit and container_id.
  returned: always
  type: list
  elements: dict
"""

PROC = Path("/proc")


def read(path: Path) -> str:
    """Read a file of /proc; a process that has just ended gives nothing."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def owners(inodes: set[str]) -> dict[str, sockets.Process]:
    """Find the processes that hold these sockets."""
    wanted = {f"socket:[{inode}]": inode for inode in inodes}
    found: dict[str, sockets.Process] = {}
    for directory in PROC.glob("[0-9]*"):
        for link in links(directory):
            if link in wanted:
                found[wanted[link]] = sockets.process(
                    int(directory.name), read(directory / "comm"), read(directory / "cgroup")
                )
    return found


def links(directory: Path) -> list[str]:
    """What the file descriptors of a process point at."""
    targets: list[str] = []
    with contextlib.suppress(OSError):
        for descriptor in (directory / "fd").iterdir():
            with contextlib.suppress(OSError):
                targets.append(str(descriptor.readlink()))
    return targets


def main() -> None:
    module = AnsibleModule(
        argument_spec={"ports": {"type": "list", "elements": "int", "required": True}},
        supports_check_mode=True,
    )
    tables = [read(PROC / "net" / name) for name in ("tcp", "tcp6")]
    listening = sockets.listeners(tables, module.params["ports"])
    found = sockets.holders(listening, owners(set(listening)) if listening else {})
    rows = [{"port": holder.port, **asdict(holder.process)} for holder in found]
    for row in rows:
        row["process"] = row.pop("name")
    module.exit_json(changed=False, holders=rows)


if __name__ == "__main__":
    main()
