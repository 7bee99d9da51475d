#!/usr/bin/python
"""Hold a benchmark run against limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.apollo import results
from ansible.module_utils.apollo.judge import Verdict, judge
from ansible.module_utils.apollo.judge_facts import read_facts
from ansible.module_utils.apollo.judge_limits import Limit, read_limits
from ansible.module_utils.apollo.judge_noise import NoiseFloor
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: bench_judge
short_description: Hold a benchmark run against limits
description:
  - Reads the manifest and the journal of a run and holds every sweep in it against the limits that are about its plan.
  - Fails in one line when a limit is broken, a limit's measurement is missing, or a point does not count. The whole
    table is returned in every case. It writes nothing.
  - Runs on the controller.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full}
options:
  path:
    description: Directory of the run on the controller.
    type: path
    required: true
  limits:
    description: Files of limits on the controller, see docs/limits.md.
    type: list
    elements: path
    default: []
  stated:
    description: Further limits, each as an entry of such a file, for what a caller knows best.
    type: list
    elements: dict
    default: []
  noise_floor:
    description:
      - File with the noise floor of this machine, as a run of repeats leaves it. A limit's tolerance is then at least
        twice the noise of its metric. Without the file, or for another plan or machine, the stated tolerance holds.
    type: path
"""

EXAMPLES = r"""
- name: Hold the run against the published figures
  bench_judge:
    path: results/latest
    limits: [reference/limits-published.yml]
    noise_floor: results/noise-floor.json
"""

RETURN = r"""
verdict:
  description: The whole table with overall, summary, counts, worst, uncounted_points and findings.
  returned: always
  type: dict
"""


def judge_run(module: AnsibleModule, limits: list[Limit], floors: list[NoiseFloor]) -> Verdict:
    run = results.read_run(Path(module.params["path"]))
    if run.unreadable:
        module.warn(run.unreadable)
    return judge(run.sweeps, limits, read_facts(run.events), floors)


def read_files(paths: list[str]) -> list[Limit]:
    limits = []
    for path in paths:
        try:
            data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise ValueError(f"{path}: is no YAML: {' '.join(str(error).split())}") from error
        limits += read_limits(data if isinstance(data, dict) else {}, path)
    return limits


def message(verdict: Verdict) -> str:
    """One line: the count, and the worst three."""
    broken = sum(verdict.counts[name] for name in ("fail", "missing"))
    parts = [f"{broken} of {len(verdict.findings)} checks of limits are broken"] if broken else []
    parts += [f"{len(verdict.uncounted)} points do not count"] if verdict.uncounted else []
    return f"{' and '.join(parts)}. Worst: {'; '.join(verdict.worst)}"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "limits": {"type": "list", "elements": "path", "default": []},
            "stated": {"type": "list", "elements": "dict", "default": []},
            "noise_floor": {"type": "path"},
        },
        supports_check_mode=True,
    )
    try:
        limits, floors = read_files(module.params["limits"]), results.read_floors(module.params["noise_floor"])
        limits += read_limits({"limits": module.params["stated"]}, "stated limits")
        verdict = judge_run(module, limits, floors)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"cannot judge: {error}", verdict={})
    result: dict[str, Any] = {"verdict": verdict.as_dict()}
    if verdict.overall == "fail":
        module.fail_json(msg=message(verdict), **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
