#!/usr/bin/python
"""Keep images on this node that nothing runs from."""

from __future__ import annotations

import json
from typing import Any

from ansible.module_utils.apollo import keeping
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: image_keep
short_description: Keep images on this node that nothing runs from
description:
  - The container engine counts an image as used as long as a container refers to it, also one that was never started.
    So each image gets such a container, and C(docker image prune --all) leaves it.
  - C(docker system prune) takes containers first, and then the images too.
  - What an earlier call kept and this one does not name is let go.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: full}
  idempotent: {support: full}
options:
  images: {type: list, elements: str, required: true, description: Names of the images; none lets go of all.}
"""

EXAMPLES = r"""
- name: Keep the images of the last two plans
  image_keep:
    images: [vllm/vllm-openai:v0.32.0, vllm/vllm-openai:v0.33.0]
"""

RETURN = r"""
kept: {description: Ids of the images that are kept., returned: always, type: list, elements: str}
missing: {description: Names of the images that are not here., returned: always, type: list, elements: str}
"""


def docker(module: AnsibleModule, *words: str) -> str:
    return str(module.run_command(["docker", *words], check_rc=True)[1])


def holders(module: AnsibleModule) -> dict[str, str]:
    """The containers that keep images, by the image's id."""
    ids = docker(module, "ps", "--all", "--quiet", f"--filter=label={keeping.LABEL}").split()
    return keeping.parse_holders(docker(module, "inspect", *ids)) if ids else {}


def image_ids(module: AnsibleModule) -> dict[str, str]:
    """The ids of the images that are here, by name."""
    asked = {name: ["docker", "image", "inspect", "--format={{json .Id}}", name] for name in module.params["images"]}
    answers = {name: module.run_command(command) for name, command in asked.items()}
    return {name: json.loads(out) for name, (code, out, _) in answers.items() if code == 0}


def keep(module: AnsibleModule) -> dict[str, Any]:
    wanted = image_ids(module)
    found = holders(module)
    commands = keeping.commands(wanted, found)
    if not module.check_mode:
        for command in commands:
            docker(module, *command)
    kept = sorted(set(wanted.values()))
    return {
        "changed": bool(commands),
        "kept": kept,
        "missing": [name for name in module.params["images"] if name not in wanted],
        "diff": {"before": sorted(found), "after": kept},
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={"images": {"type": "list", "elements": "str", "required": True}},
        supports_check_mode=True,
    )
    if not module.get_bin_path("docker"):
        module.exit_json(changed=False, kept=[], missing=module.params["images"])
    module.exit_json(**keep(module))


if __name__ == "__main__":
    main()
