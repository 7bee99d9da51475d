"""Report the settings of a server that cost speed."""

from __future__ import annotations

import resource
from dataclasses import asdict
from pathlib import Path

from ansible.module_utils.apollo import host
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: platform_info
short_description: Report CPU governor, IOMMU, ACS and the limit of locked memory, with advice
author: Apollo inference
description:
  - Reads the kernel's files and C(lspci). Changes nothing.
  - Advice is no fault; a node serves without it, but slower.
options: {}
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
- name: Read what costs speed
  platform_info:
  register: platform
"""

RETURN = r"""
governors:
  description: The governors of the CPUs, each once; null where the kernel shows none.
  returned: always
  type: list
  elements: str
iommu_units:
  description: Number of IOMMU units in use; null where the kernel does not tell.
  returned: always
  type: int
iommu_passthrough:
  description: Whether the kernel leaves the devices' addresses alone.
  returned: always
  type: bool
acs_bridges:
  description: Number of PCI bridges that redirect peer-to-peer traffic; null without lspci.
  returned: always
  type: int
memlock_kib:
  description: Memory that this session may lock, in KiB; null when there is no limit.
  returned: always
  type: int
line:
  description: The same in one line; what the kernel does not tell is unknown there.
  returned: always
  type: str
  sample: CPU governor performance, IOMMU passes through, ACS redirects on 0 bridges, locked memory unlimited
advice:
  description: What costs speed, a line each with value, limit and remedy.
  returned: always
  type: list
  elements: str
"""

CPUS = Path("/sys/devices/system/cpu")
IOMMU = Path("/sys/class/iommu")
COMMAND_LINE = Path("/proc/cmdline")


def acs_bridges(module: AnsibleModule) -> int | None:
    """Ask lspci; None where it is not installed or fails."""
    program = module.get_bin_path("lspci")
    code, out, _ = module.run_command([program, "-vvv"]) if program else (1, "", "")
    return host.count_acs(out) if code == 0 else None


def inspect(module: AnsibleModule) -> host.Host:
    """Read everything from the node."""
    governors = [path.read_text().strip() for path in CPUS.glob("cpu[0-9]*/cpufreq/scaling_governor")]
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    return host.Host(
        governors=host.unique(governors),
        iommu_units=len(list(IOMMU.iterdir())) if IOMMU.is_dir() else None,
        iommu_passthrough=host.passes_through(COMMAND_LINE.read_text() if COMMAND_LINE.is_file() else ""),
        acs_bridges=acs_bridges(module),
        memlock_kib=None if limit == resource.RLIM_INFINITY else limit // 1024,
    )


def main() -> None:
    """Read, advise, report."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    seen = inspect(module)
    module.exit_json(changed=False, line=host.line(seen), advice=host.advice(seen), **asdict(seen))


if __name__ == "__main__":
    main()
