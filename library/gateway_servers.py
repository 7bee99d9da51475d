#!/usr/bin/python
"""Bring the engines behind the gateway into or out of service at run time."""

from __future__ import annotations

import socket
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import haproxy
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: gateway_servers
short_description: Bring the engines behind the gateway into or out of service
description:
  - Speaks with HAProxy through its runtime socket. New requests to servers out of service are refused at once,
    running ones go on; the module waits for those as long as O(drain_timeout_s) says.
  - A gateway that does not run has nothing to drain and is no failure.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
  idempotent: {support: full}
options:
  backend:
    type: str
    default: engines
    description: Backend whose servers are meant, and all whose names begin with it and a dash.
  only: {type: list, elements: str, default: [], description: Names of the servers that are meant; none means all.}
  state:
    type: str
    required: true
    choices: [ready, maint]
    description: V(ready) lets requests in, V(maint) takes the servers out of service.
  socket: {type: path, default: /run/haproxy/admin.sock, description: The runtime socket.}
  drain_timeout_s: {type: int, default: 0, description: Seconds that running requests get before V(maint).}
"""

EXAMPLES = r"""
- name: Let running requests end and take the engines out of service
  gateway_servers:
    state: maint
    drain_timeout_s: 60
"""

RETURN = r"""
present: {description: Whether the gateway runs., returned: always, type: bool}
servers:
  description: The servers as they were found, with backend, name, status, sessions, queued and limit.
  returned: always
  type: list
  elements: dict
left: {description: Requests that still ran when the time was up., returned: always, type: int}
"""


def ask(path: str, command: str) -> str:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(10)
        connection.connect(path)
        connection.sendall(f"{command}\n".encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()


def servers(module: AnsibleModule) -> list[haproxy.Server]:
    """Read the servers that are meant."""
    found = haproxy.parse_servers(ask(module.params["socket"], "show stat"), module.params["backend"])
    return [server for server in found if not module.params["only"] or server.name in module.params["only"]]


def bring(module: AnsibleModule, found: list[haproxy.Server], state: str) -> None:
    for command in haproxy.commands(found, state):
        answer = ask(module.params["socket"], command).strip()
        if answer:
            module.fail_json(msg=f"the gateway refuses '{command}': {answer}")


def drain(module: AnsibleModule) -> int:
    """Send nothing new to the servers and wait for what they work on; give the number of requests left."""
    until = time.monotonic() + module.params["drain_timeout_s"]
    bring(module, servers(module), "drain")
    while (left := haproxy.busy(servers(module))) and time.monotonic() < until:
        time.sleep(0.2)
    return left


def apply(module: AnsibleModule) -> dict[str, Any]:
    state = module.params["state"]
    found = servers(module)
    changed = bool(haproxy.commands(found, state))
    left = 0
    if changed and not module.check_mode:
        left = drain(module) if state == "maint" else 0
        bring(module, servers(module), state)
    before = {server.name: server.status for server in found}
    after = {name: state if changed else status for name, status in before.items()}
    return {
        "changed": changed,
        "present": True,
        "servers": [asdict(server) for server in found],
        "left": left,
        "diff": {"before": before, "after": after},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "backend": {"type": "str", "default": "engines"},
            "only": {"type": "list", "elements": "str", "default": []},
            "state": {"type": "str", "required": True, "choices": ["ready", "maint"]},
            "socket": {"type": "path", "default": "/run/haproxy/admin.sock"},
            "drain_timeout_s": {"type": "int", "default": 0},
        },
        supports_check_mode=True,
    )
    if not Path(module.params["socket"]).is_socket():
        module.exit_json(changed=False, present=False, servers=[], left=0)
    try:
        module.exit_json(**apply(module))
    except ConnectionRefusedError:
        module.exit_json(changed=False, present=False, servers=[], left=0)


if __name__ == "__main__":
    main()
