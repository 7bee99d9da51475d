#!/usr/bin/python
"""Sample the power of a node's GPUs, and tell the energy of a window of time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import energy
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: node_energy
short_description: Sample the power of a node's GPUs, and tell the energy of a window of time
description:
  - A small program samples on the node itself, as a transient systemd unit, so that no network and no controller is in
    between. The driver's energy counter is its first source, samples of the power its second.
  - What cannot be measured is null, with the reason; the module does not fail for it.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: Nothing is started or stopped.}
  diff_mode: {support: none, details: A sampler has no content to compare.}
  idempotent: {support: partial, details: "Starting starts anew, with an empty file. Reading changes nothing."}
options:
  state:
    description: Start or stop the sampler, wait and measure without load, or tell about O(windows).
    type: str
    required: true
    choices: [started, stopped, idle, read]
  file: {type: path, required: true, description: File of the samples on the node.}
  program: {type: path, description: The sampler's program on the node; needed for C(started).}
  interval_s: {type: float, default: 0.2, description: Seconds between two samples.}
  host_power_command:
    description: Command that prints the whole node's power in W, such as of its BMC. Empty means that it is not known.
    type: list
    elements: str
    default: []
  idle_s: {type: float, default: 60, description: Seconds of idleness to measure for C(idle).}
  idle_already:
    description: Whether the engines have had nothing to do since the sampler started, so that its samples count.
    type: bool
    default: false
  windows:
    description: "What to tell: endpoint, its gpus on this node, and for C(read) start_s and end_s in Unix time."
    type: list
    elements: dict
    default: []
  idle:
    description: Power without load in W by endpoint, as C(idle) has told it; it is added to what is read.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Start to sample
  node_energy:
    state: started
    file: /var/lib/apollo/bench/power.jsonl
    program: /usr/local/lib/apollo/power_sampler.py

- name: Tell the energy of a run
  node_energy:
    state: read
    file: /var/lib/apollo/bench/power.jsonl
    windows: [{endpoint: vllm-27b-0, gpus: [0, 1, 2, 3], start_s: 1796065999.6, end_s: 1796066099.6}]
"""

RETURN = r"""
energy:
  description: One entry per window with endpoint, source, window_s, energy_j, power, heat, clocks and faults.
  returned: always
  type: list
  elements: dict
waited_s: {description: Seconds that C(idle) took., returned: always, type: float}
source: {description: Where the samples come from; none where there are none., returned: always, type: str}
"""

UNIT = "apollo-power-sampler"
LATE_S = 2.0
FIRST_LOOK = 1  # samples must enclose the window


def start(module: AnsibleModule) -> None:
    """A transient unit: it ends with the node, and nothing is left behind."""
    params, path = module.params, Path(module.params["file"])
    stop(module)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    sampler = ["/usr/bin/python3", params["program"], f"--file={path}", f"--interval={params['interval_s']}"]
    unit = ["systemd-run", f"--unit={UNIT}", "--collect", "--quiet", "--property=RuntimeMaxSec=7d"]
    code, _, err = module.run_command([*unit, *sampler, "--", *params["host_power_command"]])
    if code != 0:
        module.fail_json(msg=f"the power sampler does not start: {err.strip()}: bench_energy false goes without")


def stop(module: AnsibleModule) -> None:
    module.run_command(["systemctl", "stop", f"{UNIT}.service"])


def read_until(path: Path, end_s: float) -> energy.Samples:
    """The samples, once there is one behind the window; a sampler that is gone is not waited for long."""
    samples = load(path)
    gives_up = time.monotonic() + LATE_S + 2 * samples.interval_s
    while samples.source and not (samples.looks and samples.looks[-1].unix_s > end_s) and time.monotonic() < gives_up:
        time.sleep(0.2)
        samples = load(path)
    return samples


def load(path: Path) -> energy.Samples:
    try:
        return energy.read_samples(path.read_text(encoding="utf-8"))
    except OSError:
        return energy.Samples(None, 0.0, [])


def clock_offset_s(module: AnsibleModule) -> float | None:
    """How far the clock is from its time source, as chrony says."""
    chronyc = module.get_bin_path("chronyc")
    if chronyc is None:
        return None
    code, out, _ = module.run_command([chronyc, "-c", "tracking"])
    fields = out.strip().split(",")
    try:
        return abs(float(fields[4])) if code == 0 else None
    except (IndexError, ValueError):
        return None


def idle_windows(module: AnsibleModule) -> list[dict[str, Any]]:
    """From now on, or from the first samples on; at least the last part is waited for, so that it is enclosed."""
    looks = load(Path(module.params["file"])).looks if module.params["idle_already"] else []
    begun = looks[FIRST_LOOK].unix_s if len(looks) > FIRST_LOOK else time.time()
    begun = max(begun, time.time() - module.params["idle_s"])
    time.sleep(max(0.0, begun + module.params["idle_s"] - time.time()))
    return [{**window, "start_s": begun, "end_s": time.time()} for window in module.params["windows"]]


def tell(module: AnsibleModule, windows: list[dict[str, Any]]) -> tuple[str | None, list[dict[str, Any]]]:
    if not windows:
        return None, []
    samples = read_until(Path(module.params["file"]), max(float(window["end_s"]) for window in windows))
    offset, idle, told = clock_offset_s(module), module.params["idle"], []
    for window in windows:
        asked = energy.Window(float(window["start_s"]), float(window["end_s"]), window["gpus"])
        about = {"endpoint": window["endpoint"], "power_idle_w": idle.get(window["endpoint"]), "clock_offset_s": offset}
        told.append({**about, **energy.measure(samples, asked)})
    return samples.source, told


def spec() -> dict[str, Any]:
    """The options."""
    return {
        "state": {"type": "str", "required": True, "choices": ["started", "stopped", "idle", "read"]},
        "file": {"type": "path", "required": True},
        "program": {"type": "path"},
        "interval_s": {"type": "float", "default": 0.2},
        "host_power_command": {"type": "list", "elements": "str", "default": []},
        "idle_s": {"type": "float", "default": 60},
        "idle_already": {"type": "bool", "default": False},
        "windows": {"type": "list", "elements": "dict", "default": []},
        "idle": {"type": "dict", "default": {}},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec=spec(),
        required_if=[("state", "started", ["program"])],
        supports_check_mode=True,
    )
    state = module.params["state"]
    changes = state in ("started", "stopped")
    if module.check_mode and state != "read":
        module.exit_json(changed=changes, energy=[], source=None, waited_s=0.0)
    if changes:
        {"started": start, "stopped": stop}[state](module)
        module.exit_json(changed=True, energy=[], source=None, waited_s=0.0)
    began = time.monotonic()
    source, told = tell(module, idle_windows(module) if state == "idle" else module.params["windows"])
    waited_s = round(time.monotonic() - began, 3)
    module.exit_json(changed=False, energy=told, source=source, waited_s=waited_s)


if __name__ == "__main__":
    main()
