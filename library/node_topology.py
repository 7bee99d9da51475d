#!/usr/bin/python
"""Report where the GPUs and the fabric's adapter of a node sit: NUMA nodes, cores next to them, RDMA device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import topology
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: node_topology
short_description: Report where the GPUs and the fabric's adapter of a node sit
description:
  - Reads the kernel's own tables and needs no driver, so it answers on a bare node, too.
  - GPUs are in the order of their PCI addresses, which is the order in which C(nvidia-smi) counts them.
  - What the kernel does not tell is empty, and a NUMA node that is not known is -1.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It only reads.}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full, details: It changes nothing.}
options:
  interface: {type: str, default: "", description: "Network interface of the fabric; empty: no adapter is looked for."}
"""

EXAMPLES = r"""
- name: Read where GPUs and adapter sit
  node_topology:
    interface: ibp65s0
"""

RETURN = r"""
ansible_facts:
  description: "apollo_topology, with gpus (bus_id, numa_node, cores: CPUs grouped by core) and hca."
  returned: always
  type: dict
"""

SYSTEM = Path("/sys")
NVIDIA = "0x10de"
DISPLAY_CLASSES = ("0x0300", "0x0302")


def read(path: Path) -> str:
    """Give a file's text, or nothing where the kernel does not show it."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def gpus(system: Path) -> list[dict[str, Any]]:
    """Give each GPU with its place, by PCI address."""
    devices = sorted((system / "bus/pci/devices").glob("*"))
    return [gpu(system, device) for device in devices if is_gpu(device)]


def is_gpu(device: Path) -> bool:
    return read(device / "vendor") == NVIDIA and read(device / "class").startswith(DISPLAY_CLASSES)


def gpu(system: Path, device: Path) -> dict[str, Any]:
    cpus = topology.read_list(read(device / "local_cpulist"))
    siblings = {cpu: read(system / f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in cpus}
    return {
        "bus_id": device.name,
        "numa_node": int(read(device / "numa_node") or -1),
        "cores": topology.group_cores(cpus, siblings),
    }


def adapter(system: Path, interface: str) -> str:
    """Name the RDMA device behind a network interface."""
    found = sorted((system / "class/net" / interface / "device/infiniband").glob("*")) if interface else []
    return found[0].name if found else ""


def main() -> None:
    module = AnsibleModule(
        argument_spec={"interface": {"type": "str", "default": ""}},
        supports_check_mode=True,
    )
    facts = {"gpus": gpus(SYSTEM), "hca": adapter(SYSTEM, module.params["interface"])}
    module.exit_json(changed=False, ansible_facts={"apollo_topology": facts})


if __name__ == "__main__":
    main()
