#!/usr/bin/python
"""Start, stop or remove all engines of a node in one step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import engine
from ansible.module_utils.apollo.unit_files import unit_file_states
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: engine_service
short_description: Start, stop or remove the units of engines on this node
description:
  - All units are started or stopped at the same time, where a loop would wait for one after the other.
  - The manager reads its units again only where one that is to run has changed, and before it is started, since a
    reload can take the GPUs from a running container.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: What was changed is in RV(names).}
  idempotent: {support: full}
options:
  names: {type: list, elements: str, required: true, description: "Names of the units, without C(.service)."}
  state:
    type: str
    choices: [started, stopped, absent]
    required: true
    description: C(started) forgets earlier failures, C(absent) removes the files of units that are stopped.
  enabled: {type: bool, default: true, description: Whether the units come back after a reboot.}
  unit_directory: {type: path, default: /etc/systemd/system, description: Where the unit files lie.}
  engine_directory: {type: path, default: /etc/apollo/engines, description: Where the engines' own files lie.}
"""

EXAMPLES = r"""
- name: Stop the heads
  engine_service:
    names: [vllm-27b-0, vllm-27b-1]
    state: stopped
    enabled: false
"""

RETURN = r"""
names: {description: The units that were changed., returned: always, type: list, elements: str}
"""

PROPERTIES = "--property=Id,ActiveState,NeedDaemonReload"
RUNS = ("active", "activating", "reloading")


def systemctl(module: AnsibleModule, *words: str) -> str:
    code, out, err = module.run_command(["systemctl", *words])
    if code != 0:
        module.fail_json(msg=f"systemctl {words[0]}: {' '.join(err.split())[:300] or f'code {code}'}")
    return str(out)


def services(names: list[str]) -> list[str]:
    return [f"{name}.service" for name in names]


def settle(module: AnsibleModule) -> list[str]:
    """Start or stop what is not so yet; all at once."""
    names, wants_run, enabled = module.params["names"], module.params["state"] == "started", module.params["enabled"]
    found = engine.parse_units(systemctl(module, "show", PROPERTIES, *services(names)))
    changed = [name for name in names if wants_run and found.get(name, {}).get("NeedDaemonReload") == "yes"]
    turn = [name for name, state in unit_file_states(module, names).items() if (state == "enabled") != enabled]
    move = [name for name in names if (found.get(name, {}).get("ActiveState") in RUNS) != wants_run]
    if changed and not module.check_mode:
        systemctl(module, "daemon-reload")
    if turn and not module.check_mode:
        systemctl(module, "enable" if enabled else "disable", "--no-reload", "--quiet", *services(turn))
    if move and not module.check_mode:
        if wants_run:
            module.run_command(["systemctl", "reset-failed", *services(move)])  # fails for units never loaded
        systemctl(module, "start" if wants_run else "stop", *services(move))
    return [name for name in names if name in changed + turn + move]


def remove(module: AnsibleModule) -> list[str]:
    units, engines = Path(module.params["unit_directory"]), Path(module.params["engine_directory"])
    files = {
        name: [units / f"{name}.service", engines / f"{name}.env", engines / f"{name}.json"]
        for name in module.params["names"]
    }
    there = [name for name, paths in files.items() if any(path.exists() for path in paths)]
    for path in [] if module.check_mode else [path for name in there for path in files[name]]:
        path.unlink(missing_ok=True)
    return there


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "str", "choices": ["started", "stopped", "absent"], "required": True},
            "enabled": {"type": "bool", "default": True},
            "unit_directory": {"type": "path", "default": "/etc/systemd/system"},
            "engine_directory": {"type": "path", "default": "/etc/apollo/engines"},
        },
        supports_check_mode=True,
    )
    act = remove if module.params["state"] == "absent" else settle
    names = act(module) if module.params["names"] else []
    result: dict[str, Any] = {"changed": bool(names), "names": names}
    module.exit_json(**result)


if __name__ == "__main__":
    main()
