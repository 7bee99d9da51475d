#!/usr/bin/python
"""Check what running engines have logged against what their variant must and must not show."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.apollo import engine
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: vllm_log
short_description: Check what engines have logged against what their variant must and must not show
description:
  - An engine can serve and still not do what its variant promises, such as after a silent fallback to a slow kernel.
    Its log tells.
  - Fails with one line for each pattern that is missing or forbidden.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It only reads.}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full, details: It changes nothing.}
options:
  engines:
    type: list
    elements: dict
    required: true
    description: "Engines to check, each with at least name and log: {must, must_not}, lists of regular expressions."
  lines: {type: int, default: 5000, description: How many lines of each log to read from its start.}
"""

EXAMPLES = r"""
- name: Check that the fast kernel is in use
  vllm_log:
    engines:
      - name: vllm-397b-0
        log: {must: ["Using 'MARLIN' WNA16 MoE backend"], must_not: ["NET/Socket"]}
"""

RETURN = r"""
faults: {description: One line per broken rule., returned: always, type: list, elements: str}
"""


def first_lines(module: AnsibleModule, name: str) -> str:
    code, out, err = module.run_command(["docker", "logs", name])
    if code != 0:
        module.fail_json(msg=f"the log of {name} cannot be read: {err.strip()}")
    return "\n".join(f"{out}\n{err}".splitlines()[: module.params["lines"]])


def faults(module: AnsibleModule, wanted: dict[str, Any]) -> list[str]:
    must, must_not = (wanted["log"].get(rule) or [] for rule in ("must", "must_not"))
    return engine.log_faults(wanted["name"], first_lines(module, wanted["name"]), must, must_not)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "engines": {"type": "list", "elements": "dict", "required": True},
            "lines": {"type": "int", "default": 5000},
        },
        supports_check_mode=True,
    )
    found = [fault for wanted in module.params["engines"] for fault in faults(module, wanted)]
    if found:
        module.fail_json(msg="; ".join(found), faults=found)
    module.exit_json(changed=False, faults=[])


if __name__ == "__main__":
    main()
