#!/usr/bin/python
"""Read which engines this node has and whether they run as wanted."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import engine, snapshot
from ansible.module_utils.apollo.unit_files import unit_file_states
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: engine_info
short_description: Read which engines this node has and whether they run as wanted
description:
  - Joins unit files, systemd, the container engine and the records that a passed check left.
  - A node without a container engine is told as such and is no failure.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It only reads.}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full, details: It changes nothing.}
options:
  wanted:
    type: list
    elements: dict
    default: []
    description: The engines that this node should run, each with at least name and revision.
  image: {type: str, default: "", description: Image of the engines.}
  image_archive: {type: str, default: "", description: "Archive on this node that holds the image, if any."}
  models: {type: list, elements: path, default: [], description: Directories of the models that the engines serve.}
  unit_directory: {type: path, default: /etc/systemd/system, description: Where the unit files lie.}
  plan_path: {type: path, default: /etc/apollo/plan, description: File that names the running plan.}
  record_path: {type: path, default: /var/lib/apollo/plan.json, description: Record of the last plan that passed.}
  previous_path: {type: path, default: /var/lib/apollo/plan-before.json, description: Record of the plan before it.}
  state_directory: {type: path, default: /run/apollo, description: Where keepers tell their state.}
  docker_path: {type: path, default: /var/lib/docker, description: Where the container engine keeps images.}
"""

EXAMPLES = r"""
- name: Read the engines of this node
  engine_info:
    wanted: [{name: vllm-27b-0, revision: 0123456789abcdef}]
    image: vllm/vllm-openai:v0.32.0
"""

RETURN = r"""
engines:
  description: Each engine that has a unit file here, with name, plan, rank, systemd's state, what its keeper tells
    (phase, ready, since, restarts, reason, waits_for, load_s, outage_s) and its container.
  returned: always
  type: list
  elements: dict
stale: {description: Names of wanted engines that do not run as wanted., returned: always, type: list, elements: str}
unwanted: {description: Names of engines here that are not wanted., returned: always, type: list, elements: str}
plan: {description: Name of the running plan; empty when none runs., returned: always, type: str}
record: {description: Layout of the last plan that passed; empty without one., returned: always, type: dict}
previous: {description: Layout of the plan that passed before it; empty without one., returned: always, type: dict}
present: {description: Whether a container engine answers., returned: always, type: bool}
image_id: {description: Id of the image; empty when it is not here., returned: always, type: str}
image_current: {description: "Whether the image is here, and is the one in the archive.", returned: always, type: bool}
gone: {description: "The image and the models' files that are not here.", returned: always, type: list, elements: str}
archive_present: {description: Whether the archive is there., returned: always, type: bool}
free_gb: {description: Free space for images., returned: always, type: float}
"""


def unit_files(directory: Path) -> dict[str, dict[str, Any]]:
    paths = sorted(directory.glob(f"{engine.UNIT_PREFIX}*.service"))
    return {path.stem: engine.parse_unit_file(path.read_text(encoding="utf-8")) for path in paths}


def keepers(directory: Path) -> dict[str, dict[str, Any]]:
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in directory.glob("*.json")}


def units(module: AnsibleModule, names: list[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    services = [f"{name}.service" for name in names]
    command = ["systemctl", "show", f"--property={','.join(engine.UNIT_PROPERTIES)}", *services]
    shown, states = engine.parse_units(module.run_command(command)[1]), unit_file_states(module, names)
    return {name: {**unit, "UnitFileState": states.get(name, "")} for name, unit in shown.items()}


def docker(module: AnsibleModule, *words: str) -> str | None:
    """Run a question to the container engine; None when it does not answer."""
    if not module.get_bin_path("docker"):
        return None
    code, out, _ = module.run_command(["docker", *words])
    return out if code == 0 else None


def containers(module: AnsibleModule) -> dict[str, dict[str, Any]]:
    listed = docker(module, "ps", "--all", "--quiet", f"--filter=label={engine.REVISION_LABEL}")
    ids = (listed or "").split()
    return engine.parse_containers(docker(module, "inspect", *ids) or "") if ids else {}


def image_id(module: AnsibleModule) -> str:
    image = module.params["image"]
    found = docker(module, "image", "inspect", "--format={{.Id}}", image) if image else None
    return (found or "").strip()


def archive_ids(path: Path) -> set[str]:
    """Read the image's ids from the archive's own lists, without reading its layers."""
    with tarfile.open(path) as archive:
        names = set(archive.getnames())
        texts = {name: archive.extractfile(name) for name in ("manifest.json", "index.json") if name in names}
        told = {name: stream.read().decode() for name, stream in texts.items() if stream}
    return engine.archive_image_ids(told.get("manifest.json", "[]"), told.get("index.json", ""))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def free_gb(path: Path) -> float:
    existing = next(parent for parent in (path, *path.parents) if parent.exists())
    return round(shutil.disk_usage(existing).free / 1e9, 1)


def image_state(module: AnsibleModule) -> dict[str, Any]:
    here, named = image_id(module), module.params["image_archive"]
    archive = Path(named) if named and Path(named).is_file() else None
    return {
        "image_id": here,
        "archive_present": archive is not None,
        "image_current": bool(here) and (archive is None or here in archive_ids(archive)),
        "free_gb": free_gb(Path(module.params["docker_path"])),
        "present": docker(module, "version", "--format={{.Server.Version}}") is not None,
    }


def gone(module: AnsibleModule, image_id: str) -> list[str]:
    """What the engines cannot start without, and is not here."""
    image = module.params["image"]
    lost = [(directory, first_gone(Path(directory))) for directory in module.params["models"]]
    missing = [f"image {image}"] if image and not image_id else []
    return missing + [f"{directory}/{name}" for directory, name in lost if name]


def first_gone(directory: Path) -> str:
    sizes = {str(path.relative_to(directory)): path.stat().st_size for path in directory.rglob("*") if path.is_file()}
    told = json.loads(text_of(directory / snapshot.MANIFEST) or "{}")
    return snapshot.gone(told, text_of(directory / snapshot.INDEX), sizes)


def report(module: AnsibleModule) -> dict[str, Any]:
    params = module.params
    stated = unit_files(Path(params["unit_directory"]))
    image = image_state(module)
    states = keepers(Path(params["state_directory"]))
    running = engine.Running(units(module, sorted(stated)), containers(module), image["image_id"], states)
    return {
        **image,
        "gone": gone(module, image["image_id"]),
        "engines": [{"name": name, **stated[name], **engine.told(name, running)} for name in sorted(stated)],
        "stale": engine.stale(params["wanted"], running),
        "unwanted": engine.unwanted(params["wanted"], running),
        "plan": text_of(Path(params["plan_path"])).strip(),
        "record": json.loads(text_of(Path(params["record_path"])) or "{}"),
        "previous": json.loads(text_of(Path(params["previous_path"])) or "{}"),
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "wanted": {"type": "list", "elements": "dict", "default": []},
            "image": {"type": "str", "default": ""},
            "image_archive": {"type": "str", "default": ""},
            "models": {"type": "list", "elements": "path", "default": []},
            "unit_directory": {"type": "path", "default": "/etc/systemd/system"},
            "plan_path": {"type": "path", "default": "/etc/apollo/plan"},
            "record_path": {"type": "path", "default": "/var/lib/apollo/plan.json"},
            "previous_path": {"type": "path", "default": "/var/lib/apollo/plan-before.json"},
            "state_directory": {"type": "path", "default": "/run/apollo"},
            "docker_path": {"type": "path", "default": "/var/lib/docker"},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, **report(module))


if __name__ == "__main__":
    main()
