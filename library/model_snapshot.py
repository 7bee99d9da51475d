#!/usr/bin/python
"""Have a model's complete files in a directory."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import snapshot
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: model_snapshot
short_description: Have a model's complete files in a directory
description:
  - Copies what is missing from O(source), if there is one, and then checks that nothing is missing or cut short, since
    an engine may serve such a model without a word.
  - What was found complete is written to C(.complete). As long as that agrees with sizes and times of all files,
    nothing is read again.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: Weights have no readable difference.}
  idempotent: {support: full}
options:
  path: {type: path, required: true, description: Directory of the model on this host.}
  source: {type: path, description: "Directory on this host to copy from; without one, the files must be there."}
  repository: {type: str, default: "", description: "Where the model comes from, for the record."}
  revision: {type: str, default: "", description: "Commit of the repository, for the record."}
  weights: {type: bool, default: true, description: "Whether weights must be there; a stand-in has none."}
  reserve_gb: {type: float, default: 20, description: Space in GB that must stay free.}
"""

EXAMPLES = r"""
- name: Have the weights on this node
  model_snapshot:
    path: /models/Qwen3.6-27B
    source: /mnt/weights/Qwen3.6-27B
    repository: Qwen/Qwen3.6-27B
"""

RETURN = r"""
copied: {description: Files that were copied., returned: always, type: list, elements: str}
size_gb: {description: Size of the model., returned: always, type: float}
verified: {description: Whether files were read to check them in this run., returned: always, type: bool}
"""


def listing(directory: Path, read: bool = False) -> dict[str, snapshot.File]:
    """List a model's files; with ``read`` also what each shard's header says of its size."""
    if not directory.is_dir():
        return {}
    paths = {str(path.relative_to(directory)): path for path in directory.rglob("*") if path.is_file()}
    return {name: entry(path, read) for name, path in paths.items() if snapshot.is_part(name)}


def entry(path: Path, read: bool) -> snapshot.File:
    stat = path.stat()
    size = header_size(path) if read and path.suffix == ".safetensors" else None
    return snapshot.File(stat.st_size, stat.st_mtime_ns, size)


def header_size(path: Path) -> int:
    """Ask a safetensors file how long it should be; 0 where it has no readable header."""
    with path.open("rb") as file:
        length = file.read(8)
        if int.from_bytes(length, "little") > snapshot.HEADER_LIMIT:
            return 0
        try:
            return snapshot.true_size(length, file.read(int.from_bytes(length, "little")))
        except (ValueError, KeyError, TypeError, IndexError):
            return 0


def require_complete(module: AnsibleModule, directory: Path, remedy: str) -> dict[str, snapshot.File]:
    files = listing(directory, read=True)
    index = directory / snapshot.INDEX
    text = index.read_text(encoding="utf-8") if index.is_file() else None
    found = snapshot.faults(str(directory), files, text, module.params["weights"])
    if found:
        module.fail_json(msg=f"{snapshot.summary(found)}: {remedy}", faults=found)
    return files


def require_space(module: AnsibleModule, target: Path, missing: list[snapshot.File]) -> None:
    existing = next(parent for parent in (target, *target.parents) if parent.exists())
    fault = snapshot.space_fault(str(target), missing, shutil.disk_usage(existing).free, module.params["reserve_gb"])
    if fault:
        module.fail_json(msg=fault)


def copy(source: Path, target: Path, names: list[str]) -> None:
    """Copy file by file; each appears under its name only when it is whole."""
    for name in names:
        final = target / name
        final.parent.mkdir(parents=True, exist_ok=True)
        partial = final.with_name(f"{final.name}.partial")
        shutil.copyfile(source / name, partial)
        shutil.copystat(source / name, partial)
        partial.chmod(0o644)
        partial.replace(final)


def vouched_for(target: Path, now: dict[str, Any]) -> bool:
    try:
        told = json.loads((target / snapshot.MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return snapshot.is_vouched_for(told, now)


def vouch(target: Path, now: dict[str, Any]) -> None:
    partial = target / f"{snapshot.MANIFEST}.partial"
    partial.write_text(json.dumps(now, indent=1), encoding="utf-8")
    partial.chmod(0o644)
    os.sync()
    partial.replace(target / snapshot.MANIFEST)


def have(module: AnsibleModule) -> dict[str, Any]:
    params = module.params
    target, source = Path(params["path"]), Path(params["source"]) if params["source"] else None
    names: list[str] = []
    if source:
        offered = listing(source)
        names = snapshot.to_copy(offered, listing(target))
        if names:
            require_complete(module, source, "complete the source, model_store_source names it")
            require_space(module, target, [offered[name] for name in names])
    if names and source:
        if module.check_mode:
            return {"changed": True, "copied": names, "verified": False, "size_gb": 0.0}
        try:
            copy(source, target, names)
        except OSError as error:
            module.fail_json(
                msg=f"{target}: {error.strerror}: make room or mend it; the next run goes on with what is copied"
            )
    return settle(module, target, names)


def settle(module: AnsibleModule, target: Path, copied: list[str]) -> dict[str, Any]:
    """Make sure of what lies there now, and write that down."""
    files = listing(target)
    size_gb = round(sum(file.size for file in files.values()) / 1e9, 3)
    now = snapshot.manifest(module.params["repository"], module.params["revision"], files)
    if vouched_for(target, now):
        return {"changed": bool(copied), "copied": copied, "verified": False, "size_gb": size_gb}
    require_complete(module, target, "put the weights there or set model_store_source")
    if not module.check_mode:
        vouch(target, now)
    return {"changed": True, "copied": copied, "verified": True, "size_gb": size_gb}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "source": {"type": "path"},
            "repository": {"type": "str", "default": ""},
            "revision": {"type": "str", "default": ""},
            "weights": {"type": "bool", "default": True},
            "reserve_gb": {"type": "float", "default": 20},
        },
        supports_check_mode=True,
    )
    module.exit_json(**have(module))


if __name__ == "__main__":
    main()
