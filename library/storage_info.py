"""Report what the operator's devices hold and what is to be done with them."""

from __future__ import annotations

import stat
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import storage
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: storage_info
short_description: Report what named block devices hold and whether they may become volumes
author: Apollo inference
description:
  - Reads C(lsblk) and C(wipefs --no-act). Changes nothing.
  - A device that is to be refused is no failure. It is a line in RV(faults), with value, limit and remedy.
options:
  volumes:
    description: The volumes that the operator wants.
    type: list
    elements: dict
    required: true
    suboptions:
      path:
        description: Where the volume is mounted.
        type: path
        required: true
      device:
        description: The block device, best by a name below C(/dev/disk/by-id).
        type: path
        required: true
      filesystem:
        description: Its filesystem.
        type: str
        default: xfs
        choices: [ext4, xfs]
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
- name: Read the volumes
  storage_info:
    volumes: [{path: /models, device: /dev/disk/by-id/nvme-example}]
  register: storage

- name: Refuse devices with data
  ansible.builtin.fail:
    msg: "{{ item }}"
  loop: "{{ storage.faults }}"
"""

RETURN = r"""
volumes:
  description: The volumes with their label, size_bytes, signatures and the next step, one of C(mounted), C(mount),
    C(prepare) and C(refuse).
  returned: always
  type: list
  elements: dict
line:
  description: The volumes in one line.
  returned: always
  type: str
  sample: /models 3840.8 GB xfs mounted
faults:
  description: Why volumes are refused, a line each with value, limit and remedy.
  returned: always
  type: list
  elements: str
"""


def run(module: AnsibleModule, *words: str) -> str | None:
    """Run a tool and give what it printed; None when it failed."""
    code, out, _ = module.run_command(list(words))
    return str(out) if code == 0 else None


def inspect(module: AnsibleModule, name: str) -> storage.Device:
    """Read one device."""
    path = Path(name)
    if not path.exists():
        return storage.Device()
    if not stat.S_ISBLK(path.stat().st_mode):
        return storage.Device(exists=True)
    columns = "NAME,TYPE,SIZE,MOUNTPOINTS"
    size, mounts, parts = storage.parse_tree(
        run(module, "lsblk", "--json", "--bytes", "--paths", "-o", columns, name) or ""
    )
    found = run(module, "wipefs", "--no-act", "--json", name)
    return storage.Device(
        exists=True,
        is_block=True,
        size_bytes=size,
        mounted_at=mounts,
        parts=parts,
        signatures=None if found is None else storage.parse_signatures(found),
    )


def report(module: AnsibleModule, volume: storage.Volume) -> tuple[dict[str, Any], str]:
    """Read and judge one volume."""
    device = inspect(module, volume.device)
    verdict = storage.judge(device, volume)
    told = {"label": storage.label_of(volume.path), "step": verdict.step, **asdict(device), **asdict(volume)}
    return told, verdict.reason


def main() -> None:
    """Read, judge, report."""
    entry = {
        "path": {"type": "path", "required": True},
        "device": {"type": "path", "required": True},
        "filesystem": {"type": "str", "default": "xfs", "choices": ["ext4", "xfs"]},
    }
    module = AnsibleModule(
        argument_spec={"volumes": {"type": "list", "elements": "dict", "required": True, "options": entry}},
        supports_check_mode=True,
    )
    volumes = tuple(storage.Volume(**volume) for volume in module.params["volumes"])
    reports = [report(module, volume) for volume in volumes]
    module.exit_json(
        changed=False,
        volumes=[told for told, _ in reports],
        line=storage.line(told for told, _ in reports),
        faults=[*storage.doubles(volumes), *(reason for _, reason in reports if reason)],
    )


if __name__ == "__main__":
    main()
