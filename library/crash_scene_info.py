#!/usr/bin/python
"""Tell what is left on a node after an engine has died: last words, the GPUs, what the kernel said of them."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: crash_scene_info
short_description: Tell what is left on a node after an engine has died
description:
  - Reads the last lines of each engine's journal, what each GPU says of itself, and what the kernel's log says of the
    driver, before the plan is brought back and all of it is gone.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It only reads.}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full, details: It changes nothing.}
options:
  node: {type: str, required: true, description: Name of this node in the inventory.}
  engines: {type: list, elements: str, required: true, description: Names of this node's engines.}
  since_s: {type: float, default: 0, description: Only what was logged since this Unix time.}
  lines: {type: int, default: 40, description: Most lines of each log.}
"""

EXAMPLES = r"""
- name: Look at what is left
  crash_scene_info:
    node: node1
    engines: [vllm-397b-0]
"""

RETURN = r"""
scene:
  description: "The node, last lines of engines by name, a row for each of gpus, and lines of the kernel."
  returned: always
  type: dict
"""

GPU_FIELDS = (
    "index,memory.used,utilization.gpu,temperature.gpu,power.draw,clocks.sm,clocks_event_reasons.active,"
    "ecc.errors.uncorrected.volatile.total"
)


def lines_of(module: AnsibleModule, *command: str) -> list[str]:
    """What a command prints; nothing, where there is no such command."""
    program = module.get_bin_path(command[0])
    if program is None:
        return []
    out: str = module.run_command(["timeout", "60", program, *command[1:]])[1]
    return out.splitlines()[-module.params["lines"] :]


def gpus(module: AnsibleModule) -> list[dict[str, str]]:
    names = GPU_FIELDS.split(",")
    rows = lines_of(module, "nvidia-smi", f"--query-gpu={GPU_FIELDS}", "--format=csv,noheader,nounits")
    cells = [[cell.strip() for cell in row.split(",")] for row in rows]
    return [dict(zip(names, row, strict=False)) for row in cells]


def scene(module: AnsibleModule) -> dict[str, Any]:
    params = module.params
    said = ["--no-pager", "--output=cat", f"--since=@{params['since_s']:.0f}"]
    last = [f"--lines={params['lines']}", *said]
    return {
        "node": params["node"],
        "engines": {
            name: lines_of(module, "journalctl", f"--unit={name}.service", *last) for name in params["engines"]
        },
        "gpus": gpus(module),
        "kernel": lines_of(module, "journalctl", "--dmesg", "--grep=NVRM|mlx5|Out of memory", *said),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "node": {"type": "str", "required": True},
            "engines": {"type": "list", "elements": "str", "required": True},
            "since_s": {"type": "float", "default": 0},
            "lines": {"type": "int", "default": 40},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, scene=scene(module))


if __name__ == "__main__":
    main()
