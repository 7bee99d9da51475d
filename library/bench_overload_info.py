#!/usr/bin/python
"""Say what an overload of a plan's gateway is, from what a run has measured."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import overload, results
from ansible.module_utils.apollo.report_loads import loads
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: bench_overload_info
short_description: Say what an overload of a plan's gateway is
description:
  - The gateway lets in a number of requests per endpoint. From the run's point at that number, or from those around it,
    follows how many requests per second the plan answers; an overload is a multiple of that.
  - A plan of several models has one overload for each, since each has places and a queue of its own.
  - It changes nothing. Runs on the controller.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full}
options:
  path: {type: path, required: true, description: Directory of the run on the controller.}
  layout: {type: dict, required: true, description: "The plan's layout, with endpoints and the limits of its gateway."}
  output_tokens: {type: int, required: true, description: Length of each answer.}
  factor: {type: float, default: 2, description: How many times as much is asked as the plan answers.}
  answers: {type: float, default: 3, description: "How long, in answers that are written one after another."}
"""

EXAMPLES = r"""
- name: See what twice its load is
  bench_overload_info:
    path: results/latest
    layout: "{{ plan_layout }}"
    output_tokens: 1024
"""

RETURN = r"""
offers:
  description:
    - For each model its first endpoint, as the layout has it, and the offer with seats, answer_s, factor, requests,
      request_rate and limit_s.
  returned: always
  type: list
  elements: dict
"""


def look(params: dict[str, Any]) -> list[dict[str, Any]]:
    layout = params["layout"]
    mine = [sweep for sweep in results.read_run(Path(params["path"])).sweeps if sweep.plan == layout["plan"]]
    wanted = params["output_tokens"], params["factor"], params["answers"]
    offers = []
    for model in overload.models(layout):
        endpoints = overload.endpoints_of(layout, model)
        measured = loads(mine[-1], [each["name"] for each in endpoints]) if mine else []
        offers.append(
            {"endpoint": dict(endpoints[0]), "offer": asdict(overload.offer(layout, model, measured, *wanted))}
        )
    return offers


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "layout": {"type": "dict", "required": True},
            "output_tokens": {"type": "int", "required": True},
            "factor": {"type": "float", "default": 2},
            "answers": {"type": "float", "default": 3},
        },
        supports_check_mode=True,
    )
    try:
        found = look(module.params)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"no overload can be sent: {error}")
    module.exit_json(changed=False, offers=found)


if __name__ == "__main__":
    main()
