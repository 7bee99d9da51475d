#!/usr/bin/python
"""Say whether a run still lacks something of a plan, before the plan is served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import bench_schedule, results
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: bench_left_info
short_description: Say whether a run still lacks something of a plan
description:
  - Compares what a run holds with what is wanted of a plan, so that engines are not started for points that are there.
    A point counts as there with enough valid attempts, or where an engine has died at it or below it.
  - It changes nothing. Runs on the controller.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full}
options:
  path: {type: path, required: true, description: Directory of the run on the controller; there may be none yet.}
  layout: {type: dict, required: true, description: The plan's layout.}
  settings: {type: dict, required: true, description: "The settings of its sweep, with concurrency."}
  image: {type: str, default: "", description: Name of the image that would serve; empty where it is not known.}
  repeats: {type: int, default: 1, description: Valid attempts that each point needs.}
  redo: {type: bool, default: false, description: Measure all again.}
  retry_crashes: {type: bool, default: false, description: Try points again at which an engine has died.}
"""

EXAMPLES = r"""
- name: See whether anything is left to measure
  bench_left_info:
    path: results/reproduce
    layout: "{{ plan_layout }}"
    settings: {concurrency: [1, 32], input_tokens: 2048, output_tokens: 1024}
    repeats: 3
"""

RETURN = r"""
done: {description: Whether nothing is left., returned: always, type: bool}
"""


def look(params: dict[str, Any]) -> bool:
    folder = Path(params["path"])
    run = results.Run(results.read_manifest(folder), results.read_journal(folder).events)
    wish = bench_schedule.Wish(repeats=params["repeats"], redo=params["redo"], retry_crashes=params["retry_crashes"])
    return bench_schedule.is_done(run.sweeps, params, wish)


def main() -> None:
    flag = {"type": "bool", "default": False}
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "layout": {"type": "dict", "required": True},
            "settings": {"type": "dict", "required": True},
            "image": {"type": "str", "default": ""},
            "repeats": {"type": "int", "default": 1},
            **{"redo": flag, "retry_crashes": flag},
        },
        supports_check_mode=True,
    )
    try:
        done = look(module.params)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, done=done)


if __name__ == "__main__":
    main()
