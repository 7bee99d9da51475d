"""Report the GPUs of a node: what nvidia-smi, the driver and the processes on it say."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import gpu, pci
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: gpu_info
short_description: Report GPUs, their links, their holders and the driver's versions
author: Apollo inference
description:
  - Reads C(nvidia-smi), the loaded kernel module and the package database. Changes nothing.
  - A node without C(nvidia-smi) is no failure, RV(present) is then false; the caller decides.
  - A broken expectation is no failure either. It is a line in RV(faults), with value, limit and remedy.
options:
  timeout_s:
    description: Seconds that one call of C(nvidia-smi) may take; it must exceed the initialisation of one node's GPUs.
    type: int
    default: 120
  expect:
    description: What the node must show. What is left out is not judged.
    type: dict
    default: {}
    suboptions:
      count:
        description: Number of GPUs that answer.
        type: int
      on_bus:
        description: Number of GPUs on the PCI bus, whether a driver knows them or not.
        type: int
      name:
        description: Name of each GPU, exactly.
        type: str
      memory_min_mib:
        description: Least memory of each GPU, in MiB.
        type: int
      nvlinks:
        description: Number of active NVLinks of each GPU.
        type: int
      persistence:
        description: Whether each GPU must stay initialised without a client.
        type: bool
      driver_branch:
        description: First number of the driver's version.
        type: str
      ecc_errors_max:
        description: Most uncorrected memory errors of each GPU since the driver was loaded.
        type: int
      idle_memory_max_mib:
        description: Most memory in use on a GPU without a process, in MiB. Judged together with O(expect.containers).
        type: int
      containers:
        description: Ids of the containers that may hold GPUs; a process elsewhere is a fault.
        type: list
        elements: str
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
    details: Nothing is changed.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Read the GPUs
  gpu_info:
    expect: {count: 4, nvlinks: 12, driver_branch: "580"}
  register: gpus

- name: Require healthy GPUs
  ansible.builtin.fail:
    msg: "{{ item }}"
  loop: "{{ gpus.faults }}"
"""

RETURN = r"""
present:
  description: Whether C(nvidia-smi) is installed.
  returned: always
  type: bool
count:
  description: Number of GPUs that answer.
  returned: always
  type: int
gpus:
  description: The GPUs, with index, uuid, name, bus_id, memory_total_mib, memory_used_mib, persistence_mode (true when
    on), driver_version and ecc_errors. What the driver could not tell is null.
  returned: always
  type: list
  elements: dict
processes:
  description: Processes that compute on a GPU, with pid, name, gpu_uuid, used_memory_mib and the id of their container.
  returned: always
  type: list
  elements: dict
nvlinks:
  description: Active and inactive NVLinks by the GPU's index.
  returned: always
  type: dict
  sample: {"0": {"active": 12, "inactive": 0}}
driver:
  description: Version in use, of the loaded kernel module and of the installed userspace libraries.
  returned: always
  type: dict
  sample: {"version": "580.173.02", "loaded": "580.173.02", "userspace": "580.173.02"}
trouble:
  description: First line that C(nvidia-smi) printed instead of an answer.
  returned: always
  type: str
on_bus:
  description: Number of GPUs on the PCI bus, or null where the kernel shows none of its devices.
  returned: always
  type: int
faults:
  description: What differs from O(expect), a line each with value, limit and remedy.
  returned: always
  type: list
  elements: str
"""

LOADED_VERSION = Path("/sys/module/nvidia/version")
PROCESSES = Path("/proc")
DEVICES = Path("/sys/bus/pci/devices")
EXPECT = {
    "count": {"type": "int"},
    "on_bus": {"type": "int"},
    "name": {"type": "str"},
    "memory_min_mib": {"type": "int"},
    "nvlinks": {"type": "int"},
    "persistence": {"type": "bool"},
    "driver_branch": {"type": "str"},
    "ecc_errors_max": {"type": "int"},
    "idle_memory_max_mib": {"type": "int"},
    "containers": {"type": "list", "elements": "str"},
}


def read(path: Path) -> str:
    """Give a file's text, or nothing where the kernel does not show it."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def on_bus() -> int | None:
    """Count the GPUs on the PCI bus; None where there is no such bus to be seen."""
    if not DEVICES.is_dir():
        return None
    pairs = [(read(folder / "vendor"), read(folder / "class")) for folder in DEVICES.iterdir()]
    return pci.count(pci.parse_device(vendor, kind) for vendor, kind in pairs if vendor and kind).gpus


def run(module: AnsibleModule, *command: str) -> str:
    """Run a command within the time limit and give what it printed; its errors count as an answer, too."""
    limit = module.params["timeout_s"]
    program = module.get_bin_path(command[0], required=True)
    code, out, err = module.run_command(["timeout", str(limit), program, *command[1:]])
    if code == 124:
        module.fail_json(
            msg=f"{command[0]} gave no answer within {limit} s: see `journalctl -k --grep NVRM`, or raise timeout_s"
        )
    return str(out) if code == 0 else f"{out}\n{err}"


def query(module: AnsibleModule, subject: str, fields: tuple[str, ...]) -> str:
    """Ask nvidia-smi for rows."""
    return run(module, "nvidia-smi", f"--query-{subject}={','.join(fields)}", "--format=csv,noheader,nounits")


def userspace_version(module: AnsibleModule) -> str:
    """Give the version of the installed CUDA driver library, as the package database knows it."""
    layout = "--showformat=${db:Status-Abbrev} ${Version}\n"
    code, out, _ = module.run_command(["dpkg-query", "--show", layout, "libnvidia-compute*"])
    installed = [line.split()[1] for line in out.splitlines() if line[1:2] == "i"] if code == 0 else []
    return gpu.upstream_version(installed[0]) if installed else ""


def inspect(module: AnsibleModule) -> gpu.Report:
    """Read everything from the node."""
    text = query(module, "gpu", gpu.GPU_FIELDS)
    gpus = gpu.parse_gpus(text)
    answered = gpus[0].driver_version if gpus else ""
    loaded = read(LOADED_VERSION) or answered
    driver = gpu.Driver(version=answered or loaded, loaded=loaded, userspace=userspace_version(module))
    report = gpu.Report(gpus=gpus, driver=driver, trouble=gpu.parse_trouble(text))
    if not gpus:
        return report
    processes = gpu.parse_processes(query(module, "compute-apps", gpu.PROCESS_FIELDS))
    return replace(
        report,
        processes=tuple(
            replace(process, container=gpu.parse_container(read(PROCESSES / str(process.pid) / "cgroup")))
            for process in processes
        ),
        nvlinks=gpu.parse_nvlinks(run(module, "nvidia-smi", "nvlink", "--status")),
    )


def expectation(params: dict[str, Any]) -> gpu.Expected:
    """Turn the module's option into the core's terms."""
    given = {name: value for name, value in params.items() if value is not None}
    if isinstance(containers := given.get("containers"), list):
        given["containers"] = tuple(containers)
    return gpu.Expected(**given)


def main() -> None:
    """Read, judge, report."""
    module = AnsibleModule(
        argument_spec={
            "timeout_s": {"type": "int", "default": 120},
            "expect": {"type": "dict", "default": {}, "options": EXPECT},
        },
        supports_check_mode=True,
    )
    present = module.get_bin_path("nvidia-smi") is not None
    report = inspect(module) if present else gpu.Report(trouble="nvidia-smi is not installed")
    report = replace(report, on_bus=on_bus())
    module.exit_json(
        changed=False,
        present=present,
        count=len(report.gpus),
        faults=gpu.faults(report, expectation(module.params["expect"])),
        **asdict(report),
    )


if __name__ == "__main__":
    main()
