#!/usr/bin/python
"""Tell what was measured on a node outside of any benchmark run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import bench_spool, machine_facts, ready
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: machine_facts_info
short_description: Tell what was measured on a node outside of any benchmark run
description:
  - How long the GPUs took to initialise at the last boot, and what acceptance has measured and left on the node.
  - Each is a line for the journal of a run, see M(bench_journal). What was not measured is null.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It only reads.}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full, details: It changes nothing.}
options:
  node: {type: str, required: true, description: Name of this node in the inventory.}
  unit: {type: str, default: gpu-ready, description: Name of the unit that waits for the GPUs at boot.}
  accepted: {type: path, default: /var/lib/apollo/accepted.json, description: What acceptance has left.}
"""

EXAMPLES = r"""
- name: Read what was measured before
  machine_facts_info:
    node: "{{ inventory_hostname }}"
"""

RETURN = r"""
facts:
  description: Each with metric, subject, value, unit, measured_s and made_with.
  returned: always
  type: list
  elements: dict
"""

PROPERTIES = "Result,ExecMainStartTimestampMonotonic,ExecMainExitTimestampMonotonic,ExecMainExitTimestamp"


def read(module: AnsibleModule) -> list[dict[str, Any]]:
    params = module.params
    command = ["systemctl", "show", "--timestamp=unix", f"--property={PROPERTIES}", params["unit"]]
    initialised = machine_facts.gpu_init(ready.properties(module.run_command(command)[1]), params["node"])
    return [initialised, *machine_facts.accepted(bench_spool.read_json(Path(params["accepted"])))]


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "node": {"type": "str", "required": True},
            "unit": {"type": "str", "default": "gpu-ready"},
            "accepted": {"type": "path", "default": "/var/lib/apollo/accepted.json"},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, facts=read(module))


if __name__ == "__main__":
    main()
