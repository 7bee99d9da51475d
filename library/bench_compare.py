#!/usr/bin/python
"""Compare benchmark runs with a baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import compare_text, results
from ansible.module_utils.apollo.compare import compare
from ansible.module_utils.apollo.report_words import REAL_KIND
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: bench_compare
short_description: Compare benchmark runs with a baseline
description:
  - Holds each sweep of the runs against the sweep of the same plan in the baseline, or its only one. Gives for each
    figure the ratio with its 95 % interval, and whether it got better or worse beyond noise.
  - Sweeps whose settings differ are refused with the difference named, unless it is allowed by name. It then fails in
    one line and still returns the whole table. It writes nothing. Runs on the controller.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full}
options:
  baseline:
    description: Directory of the run to compare with.
    type: path
    required: true
  runs:
    description: Directories of the runs to compare.
    type: list
    elements: path
    required: true
  allow:
    description: Settings that may differ, such as C(variant) or C(argument max-num-seqs). C(argument *) is all of them.
    type: list
    elements: str
    default: []
  noise_floor:
    description: File with the noise floor of this machine. It gives the interval where a point has one repeat only.
    type: path
"""

EXAMPLES = r"""
- name: See what another variant changed
  bench_compare:
    baseline: results/20261130-397b-a
    runs: [results/20261201-397b]
    allow: [plan, variant, "argument *", "environment *"]
    noise_floor: results/noise-floor.json
"""

RETURN = r"""
comparisons: {description: Each pair of sweeps with its changes., returned: always, type: list, elements: dict}
markdown: {description: The same as text., returned: always, type: str}
summary: {description: The same in one line., returned: always, type: str}
"""


def compare_runs(params: dict[str, Any]) -> dict[str, Any]:
    folders = [Path(params["baseline"]), *map(Path, params["runs"])]
    read = {folder.resolve().name: results.read_run(folder) for folder in folders}
    if len(read) < 2:
        raise ValueError("the baseline is compared with itself: name two runs")
    first, *others = read
    after = {name: read[name].sweeps for name in others}
    found = compare({first: read[first].sweeps}, after, params["allow"], results.read_floors(params["noise_floor"]))
    if not found:
        raise ValueError(f"no run has a plan of {first}: nothing to compare")
    lab = any(run.manifest.get("site_kind") != REAL_KIND for run in read.values())
    return {
        "comparisons": [comparison.as_dict() for comparison in found],
        "markdown": compare_text.markdown(found, lab),
        "summary": compare_text.summary(found),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "baseline": {"type": "path", "required": True},
            "runs": {"type": "list", "elements": "path", "required": True},
            "allow": {"type": "list", "elements": "str", "default": []},
            "noise_floor": {"type": "path"},
        },
        supports_check_mode=True,
    )
    try:
        result = compare_runs(module.params)
    except (OSError, ValueError, KeyError) as error:
        module.fail_json(msg=f"cannot compare: {error}", comparisons=[], markdown="", summary="")
    refused = [line for comparison in result["comparisons"] for line in comparison["refused"]]
    if refused:
        many = f" and {len(refused) - 3} more" if len(refused) > 3 else ""
        msg = f"not comparable: {'; '.join(refused[:3])}{many}: compare equal settings, or allow the difference by name"
        module.fail_json(msg=msg, **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
