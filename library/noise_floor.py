#!/usr/bin/python
"""Keep how much the same measurement differs from itself on this machine."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import bench_noise, results
from ansible.module_utils.apollo.whole_files import write_files
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: noise_floor
short_description: Keep how much the same measurement differs from itself on this machine
description:
  - Reads a run's repeats and adds the coefficient of variation of each metric to a file. Entries of earlier runs stay;
    the last one that fits plan and hardware is the one that counts.
  - Fails in one line when there are fewer than three valid repeats of a point. Runs on the controller.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: A file of measurements only grows.}
  idempotent: {support: full, details: The same run is kept once.}
options:
  path: {type: path, required: true, description: Directory of the run.}
  file: {type: path, required: true, description: File of all noise floors.}
  sweep_id: {type: str, required: true, description: The sweep of the run whose repeats are read.}
"""

EXAMPLES = r"""
- name: Keep the noise floor
  noise_floor:
    path: results/20261130-27b
    file: results/noise-floor.json
    sweep_id: 27b-00ab12cd
"""

RETURN = r"""
floor: {description: "The entry, with plan, run_id, n, hardware and metrics.", returned: success, type: dict}
"""


def measure(folder: Path, sweep_id: str) -> dict[str, Any]:
    run = results.read_run(folder)
    sweeps = [sweep for sweep in run.sweeps if sweep.id == sweep_id]
    if not sweeps:
        raise ValueError(f"{folder} has no sweep {sweep_id}")
    return bench_noise.floor(sweeps[0], str(run.manifest.get("run_id") or folder.name))


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "file": {"type": "path", "required": True},
            "sweep_id": {"type": "str", "required": True},
        },
        supports_check_mode=True,
    )
    path = Path(module.params["file"])
    try:
        known = results.read_floor_file(path)
        floor = measure(Path(module.params["path"]), module.params["sweep_id"])
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    same = [entry for entry in known if entry.get("run_id") == floor["run_id"] and entry.get("plan") == floor["plan"]]
    is_known = bool(same) and {**same[-1], "at_s": None} == {**floor, "at_s": None}
    if not is_known:
        floors = [*known, {**floor, "at_s": time.time()}]
        write_files(module, path.parent, {path.name: json.dumps(floors, indent=1) + "\n"})
    module.exit_json(changed=not is_known, floor=floor)


if __name__ == "__main__":
    main()
