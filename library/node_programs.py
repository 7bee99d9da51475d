#!/usr/bin/python
"""A role's own programs on this node, and the modules that they think with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo.whole_files import write_files
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: node_programs
short_description: Install a role's own programs on this node, all in one call
description:
  - Makes the folder and writes what differs, each file in one step. A loop of C(copy) needs two calls for each file.
  - Other files of the folder stay, since roles share it.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
  idempotent: {support: full}
options:
  path: {type: path, required: true, description: "Folder of the programs, which all may read."}
  files: {type: dict, required: true, description: Text of each file by its name.}
  executables:
    description: Names of those that are started; the others are imported.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Install the program that waits, and its parser
  node_programs:
    path: /usr/local/lib/apollo
    files:
      ib-ready: "{{ lookup('ansible.builtin.file', 'ib_ready.py', rstrip=false) }}"
      fabric.py: "{{ lookup('ansible.builtin.file', parser, rstrip=false) }}"
    executables: [ib-ready]
"""

RETURN = r"""
written: {description: Names of the files whose text was not as wanted., returned: always, type: list, elements: str}
"""

FOLDER, PROGRAM, IMPORTED = 0o755, 0o755, 0o644


def text_of(path: Path) -> str | None:
    """What the file holds; nothing where there is none."""
    return path.read_text(encoding="utf-8") if path.is_file() else None


def settle_mode(module: AnsibleModule, path: Path, mode: int) -> bool:
    """Give it to whoever runs this, with this mode; say whether that was to be done."""
    if not path.exists():
        return True
    state = path.stat()
    if (state.st_mode & 0o7777, state.st_uid, state.st_gid) == (mode, os.geteuid(), os.getegid()):
        return False
    if not module.check_mode:
        os.chown(path, os.geteuid(), os.getegid())
        path.chmod(mode)
    return True


def install(module: AnsibleModule, folder: Path, files: dict[str, str], executables: list[str]) -> dict[str, Any]:
    before = {name: text_of(folder / name) for name in files}
    stale = [name for name, text in files.items() if before[name] != text]
    if not module.check_mode:
        folder.mkdir(mode=FOLDER, parents=True, exist_ok=True)
    write_files(module, folder, {name: files[name] for name in stale})
    modes = {folder: FOLDER} | {folder / name: PROGRAM if name in executables else IMPORTED for name in files}
    moved = [settle_mode(module, path, mode) for path, mode in modes.items()]
    shown = [
        {"before": before[name] or "", "after": files[name], "before_header": name, "after_header": str(folder / name)}
        for name in stale
    ]
    return {"changed": bool(stale) or any(moved), "written": stale, "diff": shown}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "files": {"type": "dict", "required": True},
            "executables": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    files, executables = module.params["files"], module.params["executables"]
    if lost := sorted(set(executables) - set(files)):
        module.fail_json(msg=f"executables has {', '.join(lost)}, names in files expected: add or correct them")
    module.exit_json(**install(module, Path(module.params["path"]), files, executables))


if __name__ == "__main__":
    main()
