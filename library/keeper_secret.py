#!/usr/bin/python
"""The secret that the keepers of engines share, on this node."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import seal
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: keeper_secret
short_description: Read, offer or write the secret that the keepers of engines share
description:
  - Without O(secret), gives the secret of this node, or a new one that is written nowhere yet, so that one can be
    chosen for all nodes. Tasks that do so need C(no_log), since the secret is in what they return.
  - With O(secret), writes it, readable by root alone.
  - What the file holds is neither in a diff nor in a message.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: It would show the secret.}
  idempotent: {support: full, details: A new one is offered as long as none is written.}
options:
  path: {type: path, default: /etc/apollo/keeper.secret, description: File that holds the secret.}
  secret: {type: str, description: The secret to write.}
"""

EXAMPLES = r"""
- name: Read the secret of each node, or have one offered
  keeper_secret:
  register: offered
  no_log: true

- name: Give all nodes the first node's
  keeper_secret:
    secret: "{{ hostvars[ansible_play_hosts | first].offered.secret }}"
"""

RETURN = r"""
known: {description: Whether this node had a secret., returned: always, type: bool}
secret: {description: The secret of this node or a new one., returned: without O(secret), type: str}
"""


def known(path: Path) -> str:
    """The secret of this node; empty without a whole one."""
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
    return text if seal.is_secret(text) else ""


def as_wanted(path: Path, secret: str) -> bool:
    if known(path) != secret:
        return False
    state = path.stat()
    return (state.st_mode & 0o777, state.st_uid, state.st_gid) == (0o600, os.geteuid(), os.getegid())


def write(path: Path, secret: str) -> None:
    """Put it in place whole, in a file that is its owner's alone from the beginning."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle, new = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{secret}\n")
    Path(new).replace(path)


def act(module: AnsibleModule) -> dict[str, Any]:
    path, secret = Path(module.params["path"]), module.params["secret"]
    had = known(path)
    if secret is None:
        return {"changed": False, "known": bool(had), "secret": had or seal.new_secret()}
    if not seal.is_secret(secret):
        module.fail_json(msg="secret is not 64 hexadecimal digits: give what keeper_secret returns on one of the nodes")
    changed = not as_wanted(path, secret)
    if changed and not module.check_mode:
        write(path, secret)
    return {"changed": changed, "known": bool(had)}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "default": "/etc/apollo/keeper.secret"},
            "secret": {"type": "str", "no_log": True},
        },
        supports_check_mode=True,
    )
    module.exit_json(**act(module))


if __name__ == "__main__":
    main()
