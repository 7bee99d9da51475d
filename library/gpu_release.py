#!/usr/bin/python
"""Prove that GPUs are free, and free them of what the toolkit itself left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import engine, gpu, release, sockets
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: gpu_release
short_description: Prove that GPUs are free, and free them of what is ours
author: [Apollo inference]
description:
  - Waits until no process and no memory is left on any GPU, but for the containers that are to be kept.
  - Removes containers that carry our label and ends processes of our units. A holder that is not ours is named
    and left alone, and the module fails.
  - Memory without a process is given back by a reset of the GPUs, where O(reset) allows it, or by a reboot.
  - A node without C(nvidia-smi) has no GPU to free and is no failure.
options:
  keep: {type: list, elements: str, default: [], description: Ids of containers that may hold GPUs.}
  idle_memory_max_mib: {type: int, default: 500, description: "Memory that a free GPU may show, in MiB."}
  timeout_s: {type: int, default: 60, description: Seconds to wait for holders to go by themselves.}
  reset: {type: bool, default: false, description: Whether GPUs may be reset. It needs all clients of all GPUs gone.}
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: What was freed is in RV(freed).}
  idempotent: {support: full}
"""

EXAMPLES = r"""
- name: Prove that the GPUs are free
  gpu_release:
    keep: "{{ engines | map(attribute='container_id') }}"
"""

RETURN = r"""
present: {description: Whether C(nvidia-smi) is installed., returned: always, type: bool}
freed: {description: What was ours and was ended., returned: always, type: list, elements: dict}
holders: {description: "Who still holds GPUs, with pid and name.", returned: always, type: list, elements: dict}
reset: {description: Whether the GPUs were reset., returned: always, type: bool}
reboot_needed: {description: Whether only a reboot is left., returned: always, type: bool}
faults: {description: A line for each thing in the way., returned: always, type: list, elements: str}
"""

PROC = Path("/proc")
END_S = 10.0


@dataclass(frozen=True)
class Look:
    """Who holds GPUs now, and which memory nobody holds."""

    holders: list[release.Holder]
    leaks: list[gpu.Gpu]

    @property
    def free(self) -> bool:
        return not self.holders and not self.leaks


def smi(module: AnsibleModule, *words: str) -> str:
    return str(module.run_command(["nvidia-smi", *words])[1])


def owner(pid: int) -> release.Owner:
    try:
        text = (PROC / str(pid) / "cgroup").read_text(encoding="utf-8")
    except OSError:
        return release.Owner()
    found = sockets.process(pid, "", text)
    return release.Owner(found.container_id, found.unit)


def our_containers(module: AnsibleModule) -> list[str]:
    if not module.get_bin_path("docker"):
        return []
    command = ["docker", "ps", "--all", "--quiet", "--no-trunc", f"--filter=label={engine.REVISION_LABEL}"]
    return str(module.run_command(command)[1]).split()


def look(module: AnsibleModule) -> Look:
    layout = "--format=csv,noheader,nounits"
    gpus = gpu.parse_gpus(smi(module, f"--query-gpu={','.join(gpu.GPU_FIELDS)}", layout))
    processes = gpu.parse_processes(smi(module, f"--query-compute-apps={','.join(gpu.PROCESS_FIELDS)}", layout))
    owners = {process.pid: owner(process.pid) for process in processes}
    held = release.holders(gpus, processes, owners, module.params["keep"], our_containers(module))
    return Look(held, release.leaks(gpus, processes, module.params["idle_memory_max_mib"]))


def wait(module: AnsibleModule, seconds: float) -> Look:
    """Look until the GPUs are free, or only what is ours or the time is left."""
    end = time.monotonic() + seconds
    while not (seen := look(module)).free and time.monotonic() < end:
        if any(holder.ours for holder in seen.holders):
            break
        time.sleep(0.5)
    return seen


def send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if (PROC / str(pid)).exists()]


def free(module: AnsibleModule, ours: list[release.Holder]) -> None:
    """Remove our containers; ask our processes to end, then make them."""
    for container in sorted({holder.container for holder in ours if holder.container}):
        module.run_command(["docker", "rm", "--force", container])
    pids = [holder.pid for holder in ours if not holder.container]
    for number in (signal.SIGTERM, signal.SIGKILL):
        send(alive(pids), number)
        end = time.monotonic() + END_S
        while alive(pids) and time.monotonic() < end:
            time.sleep(0.2)


def reset(module: AnsibleModule) -> str:
    """Reset all GPUs, with the daemon that keeps them awake out of the way; give the refusal, if any."""
    module.run_command(["systemctl", "stop", "nvidia-persistenced.service"])
    code, out, err = module.run_command(["nvidia-smi", "--gpu-reset"])
    module.run_command(["systemctl", "start", "nvidia-persistenced.service"])
    return "" if code == 0 else " ".join(f"{out} {err}".split())[:200] or f"code {code}"


def act(module: AnsibleModule) -> dict[str, Any]:
    params = module.params
    seen = wait(module, params["timeout_s"])
    ours = [holder for holder in seen.holders if holder.ours]
    if ours and not module.check_mode:
        free(module, ours)
        seen = wait(module, params["timeout_s"])
    wants_reset = bool(seen.leaks) and not seen.holders and params["reset"]
    refusal = ""
    if wants_reset and not module.check_mode:
        refusal = reset(module)
        seen = look(module)
    left = [holder for holder in seen.holders if not (holder.ours and module.check_mode)]
    leaking = [] if wants_reset and module.check_mode else seen.leaks
    limit = params["idle_memory_max_mib"]
    faults = [release.holder_fault(holder) for holder in left]
    faults += [release.leak_fault(found, limit, refusal) for found in leaking]
    return {
        "changed": bool(ours) or wants_reset,
        "freed": [asdict(holder) for holder in ours],
        "holders": [asdict(holder) for holder in seen.holders],
        "reset": wants_reset and not refusal,
        "reboot_needed": bool(leaking) and (bool(refusal) or not params["reset"]),
        "faults": faults,
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "keep": {"type": "list", "elements": "str", "default": []},
            "idle_memory_max_mib": {"type": "int", "default": 500},
            "timeout_s": {"type": "int", "default": 60},
            "reset": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    if not module.get_bin_path("nvidia-smi"):
        told = {"changed": False, "freed": [], "holders": [], "reset": False, "reboot_needed": False, "faults": []}
        module.exit_json(present=False, **told)
    result = act(module)
    if result["faults"]:
        module.fail_json(msg="; ".join(result["faults"]), present=True, **result)
    module.exit_json(present=True, **result)


if __name__ == "__main__":
    main()
