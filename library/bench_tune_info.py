#!/usr/bin/python
"""Say what a search for the best setting would measure next, and who leads."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import results, tune_overlay, tune_run
from ansible.module_utils.apollo.service_level import Level
from ansible.module_utils.apollo.tune import search
from ansible.module_utils.apollo.tune_space import forecast
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: bench_tune_info
short_description: Say what a search for the best setting would measure next
description:
  - Reads the journal of a run and gives the next point that the search would measure, who leads, why the others ended,
    and what the whole search takes at most. The search is a function of the journal, so it goes on after any
    interruption. It changes nothing. Runs on the controller.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full}
options:
  path:
    description: Directory of the run on the controller. It need not exist yet.
    type: path
    required: true
  space:
    description:
      - What is searched. C(dimensions), each with name, values in order, start and raises_load. The first is C(plan),
        the others are arguments of the engines. C(ladder) of N, whose top must be survived. C(ttft_p95_ms) and
        C(floor_tok_s) that must hold. C(noise) below which a gain is none. C(excluded) settings with a C(why).
    type: dict
    required: true
  margin:
    description: Share by which the service level is to be kept better than owed, for what is let in.
    type: float
    default: 0.1
  catalog:
    description: The catalog, as the filter load_catalog gives it, for the entries that would apply the winner.
    type: dict
    default: {}
  start_minutes:
    description: What one start of the engines takes, for the forecast.
    type: float
    default: 15
  point_minutes:
    description: What one point takes, for the forecast.
    type: float
    default: 5
"""

EXAMPLES = r"""
- name: See what comes next
  bench_tune_info:
    path: results/tune
    space:
      dimensions:
        - {name: plan, values: [397b, 397b-a, 397b-d]}
        - {name: max-num-seqs, values: [32, 64, 128], start: 64, raises_load: true}
      ladder: [32, 64]
      ttft_p95_ms: 8000
      floor_tok_s: 10
"""

RETURN = r"""
next_step: {description: "Setting, N, needs_start and arguments; none at the end.", returned: always, type: dict}
winner: {description: "Setting, tok_s and n of the leader, or none.", returned: always, type: dict}
admission: {description: What the leader's own sweep would let in., returned: always, type: dict}
overlay: {description: Plans and variants of a site's own catalog that apply the winner., returned: always, type: dict}
ended: {description: Why each setting that was tried or ruled out ended., returned: always, type: dict}
starts: {description: Starts of the engines so far., returned: always, type: int}
forecast: {description: What the search takes at most., returned: always, type: dict}
line: {description: The forecast in one line., returned: always, type: str}
"""


def look(params: dict[str, Any]) -> dict[str, Any]:
    folder, space = Path(params["path"]), tune_run.read_space(params["space"])
    run = results.Run(results.read_manifest(folder), results.read_journal(folder).events)
    sweeps = run.sweeps
    standing = search(space, tune_run.observations(space, sweeps, run.events))
    tokens = [sweep.about["settings"]["output_tokens"] for sweep in sweeps]
    level = Level(space.floor_tok_s, tokens[-1] if tokens else 1024, space.ttft_p95_ms, params["margin"])
    said = forecast(space, params["start_minutes"], params["point_minutes"])
    told = tune_run.result(space, standing, sweeps, level)
    chosen = standing.winner.setting if standing.winner else None
    found = tune_overlay.overlay(params["catalog"], chosen, tune_run.arguments(chosen or {}), told["admission"])
    return {**told, "overlay": found, "forecast": asdict(said), "line": said.line}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "space": {"type": "dict", "required": True},
            "margin": {"type": "float", "default": 0.1},
            "catalog": {"type": "dict", "default": {}},
            "start_minutes": {"type": "float", "default": 15},
            "point_minutes": {"type": "float", "default": 5},
        },
        supports_check_mode=True,
    )
    try:
        told = look(module.params)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"cannot search: {error}")
    module.exit_json(changed=False, **told)


if __name__ == "__main__":
    main()
