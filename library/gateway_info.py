#!/usr/bin/python
"""Read what the gateway carries."""

from __future__ import annotations

import socket
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import haproxy
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: gateway_info
short_description: Read what the gateway carries
description:
  - Reads HAProxy's runtime socket. A gateway that does not run is told as such and is no failure.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It only reads.}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full, details: It changes nothing.}
options:
  backend:
    type: str
    default: engines
    description: Backend whose servers are read, and all whose names begin with it and a dash.
  socket: {type: path, default: /run/haproxy/admin.sock, description: The runtime socket.}
"""

EXAMPLES = r"""
- name: Read what the gateway carries
  gateway_info:
"""

RETURN = r"""
present: {description: Whether the gateway runs., returned: always, type: bool}
servers:
  description: The servers with backend, name, status, sessions, queued and limit.
  returned: always
  type: list
  elements: dict
queued: {description: Requests that wait for a server., returned: always, type: int}
queues: {description: Requests that wait, by backend., returned: always, type: dict}
"""


def table(path: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        connection.connect(path)
        connection.sendall(b"show stat\n")
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def read(path: str, backend: str) -> dict[str, Any]:
    if not Path(path).is_socket():
        return {"present": False, "servers": [], "queued": 0, "queues": {}}
    try:
        told = table(path)
    except ConnectionRefusedError:
        return {"present": False, "servers": [], "queued": 0, "queues": {}}
    servers = [asdict(server) for server in haproxy.parse_servers(told, backend)]
    queues = haproxy.parse_queues(told, backend)
    return {"present": True, "servers": servers, "queued": sum(queues.values()), "queues": queues}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "backend": {"type": "str", "default": "engines"},
            "socket": {"type": "path", "default": "/run/haproxy/admin.sock"},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, **read(module.params["socket"], module.params["backend"]))


if __name__ == "__main__":
    main()
