"""Prove that a container gets the GPUs and keeps them."""

from __future__ import annotations

from dataclasses import asdict

from ansible.module_utils.apollo import probe
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: container_probe
short_description: Prove that a container gets the GPUs and keeps them
author: Apollo inference
description:
  - Starts a container, runs a command in it, lets systemd read its units again, runs the command once more, and removes
    the container. Nothing of it stays, so nothing counts as changed.
  - A broken expectation is no failure here. It is a line in RV(faults), with value, limit and remedy.
options:
  image:
    description: Image of the container; it must be on the node.
    type: str
    required: true
  arguments:
    description: Words for C(docker run) that give the container its GPUs.
    type: list
    elements: str
    default: [--runtime=nvidia, --env=NVIDIA_VISIBLE_DEVICES=all]
  command:
    description: Command that uses the GPUs.
    type: list
    elements: str
    required: true
  wanted:
    description: The last line that the command must print.
    type: str
    required: true
  name:
    description: Name of the container.
    type: str
    default: apollo-probe
  timeout_s:
    description: Seconds that each step may take.
    type: int
    default: 120
attributes:
  check_mode:
    support: full
    details: No container is started; there is nothing to report then.
  diff_mode:
    support: none
    details: Nothing is changed.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Count the GPUs by CUDA itself
  container_probe:
    image: vllm/vllm-openai:v0.32.0
    command: [python3, -c, "import torch; torch.zeros(1).cuda(); print(torch.cuda.device_count())"]
    wanted: "4"
  register: probe
"""

RETURN = r"""
start:
  description: How the start of the container ended, with code and text; null in check mode.
  returned: always
  type: dict
first:
  description: How the command ended at first; null when it was not run.
  returned: always
  type: dict
after_reload:
  description: How the command ended after systemd had read its units again; null when it was not run.
  returned: always
  type: dict
faults:
  description: What differs from O(wanted), a line each with value, limit and remedy.
  returned: always
  type: list
  elements: str
"""


def call(module: AnsibleModule, *words: str) -> probe.Answer:
    """Run a command within the time limit."""
    code, out, err = module.run_command(["timeout", str(module.params["timeout_s"]), *words])
    return probe.Answer(code, out if code == 0 else f"{out}\n{err}")


def try_out(module: AnsibleModule) -> probe.Probe:
    """Start the container, ask twice, and leave nothing behind."""
    name, image = module.params["name"], module.params["image"]
    keep = ["--detach", "--rm", f"--name={name}", "--network=none", *module.params["arguments"], "--entrypoint=sleep"]
    call(module, "docker", "rm", "--force", name)
    try:
        start = call(module, "docker", "run", *keep, image, "600")
        if start.code:
            return probe.Probe(start)
        ask = ["docker", "exec", name, *module.params["command"]]
        first = call(module, *ask)
        call(module, "systemctl", "daemon-reload")
        return probe.Probe(start, first, call(module, *ask))
    finally:
        call(module, "docker", "rm", "--force", name)


def main() -> None:
    """Try, judge, report."""
    module = AnsibleModule(
        argument_spec={
            "image": {"type": "str", "required": True},
            "arguments": {
                "type": "list",
                "elements": "str",
                "default": ["--runtime=nvidia", "--env=NVIDIA_VISIBLE_DEVICES=all"],
            },
            "command": {"type": "list", "elements": "str", "required": True},
            "wanted": {"type": "str", "required": True},
            "name": {"type": "str", "default": "apollo-probe"},
            "timeout_s": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    seen = probe.Probe() if module.check_mode else try_out(module)
    faults = [] if module.check_mode else probe.faults(seen, module.params["wanted"])
    module.exit_json(changed=False, faults=faults, **asdict(seen))


if __name__ == "__main__":
    main()
