#!/usr/bin/python
"""Keep the serving image's own benchmark client running on a node, so that no point pays for its imports."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import bench_command, bench_points, bench_spool
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: bench_client
short_description: Keep the serving image's own benchmark client running on a node
description:
  - Importing C(vllm bench serve) takes longer than many a run. One container per node, beside the engines and of their
    own image, imports it once and then takes point after point from module M(vllm_bench).
  - A client that runs already with the same settings is left alone; one that is gone or silent is started anew.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It says what it would do.}
  diff_mode: {support: none, details: A container has no content to compare.}
  idempotent: {support: full}
options:
  state: {type: str, default: started, choices: [started, stopped], description: Whether the client is to run.}
  endpoints:
    description: This node's endpoints of the plan's layout, each with name and model_path.
    type: list
    elements: dict
    default: []
  image: {type: str, default: "", description: Image whose client is used; needed for C(started).}
  program_path: {type: path, description: Directory on this node with the client's programs; needed for C(started).}
  work_path: {type: path, description: Directory on this node for the client's files; needed for C(started).}
  volumes:
    description: Volumes of the client's container beside those of its engines', which hold the models.
    type: list
    elements: str
    default: []
  environment: {type: dict, default: {}, description: Environment of the client's container.}
"""

EXAMPLES = r"""
- name: Have the client ready on this node
  bench_client:
    endpoints: "{{ plan_layout.endpoints[:1] }}"
    image: vllm/vllm-openai:v0.32.0
    program_path: /usr/local/lib/apollo
    work_path: /var/lib/apollo/bench
"""

RETURN = r"""
container: {description: Name of the client's container., returned: always, type: str}
"""

LABEL = "apollo-bench"


def settings(params: dict[str, Any]) -> bench_command.Container:
    return bench_command.Container(
        engines=[endpoint["name"] for endpoint in params["endpoints"]],
        image=params["image"],
        program_path=params["program_path"],
        spool=params["work_path"],
        tokenizers=[endpoint["model_path"] for endpoint in params["endpoints"]],
        volumes=params["volumes"],
        environment=params["environment"],
    )


def running(module: AnsibleModule) -> str | None:
    """The settings that the running client was started with, as a hash; None where none runs."""
    layout = '{{.State.Running}} {{index .Config.Labels "' + LABEL + '"}}'
    code, out, _ = module.run_command(["docker", "container", "inspect", f"--format={layout}", bench_command.CONTAINER])
    is_running, _, started_with = out.strip().partition(" ")
    return started_with if code == 0 and is_running == "true" else None


def start(module: AnsibleModule, command: list[str], spool: Path) -> None:
    module.run_command(["docker", "rm", "--force", bench_command.CONTAINER])
    spool.mkdir(parents=True, exist_ok=True)
    (spool / "alive.json").unlink(missing_ok=True)
    for job in filter(Path.is_dir, spool.iterdir()):  # its child is gone with the container
        shutil.rmtree(job, ignore_errors=True)  # what stays is cleared by the job that takes its place
    code, _, err = module.run_command(command)
    if code != 0:
        module.fail_json(msg=f"the benchmark's client does not start: {err.strip() or 'docker said nothing'}")


def spec() -> dict[str, Any]:
    """The options."""
    return {
        "state": {"type": "str", "default": "started", "choices": ["started", "stopped"]},
        "endpoints": {"type": "list", "elements": "dict", "default": []},
        "image": {"type": "str", "default": ""},
        "program_path": {"type": "path"},
        "work_path": {"type": "path"},
        "volumes": {"type": "list", "elements": "str", "default": []},
        "environment": {"type": "dict", "default": {}},
    }


def main() -> None:
    needed = [("state", "started", ["program_path", "work_path"])]
    module = AnsibleModule(argument_spec=spec(), required_if=needed, supports_check_mode=True)
    params, found = module.params, running(module)
    if params["state"] == "stopped":
        if found is not None and not module.check_mode:
            module.run_command(["docker", "rm", "--force", bench_command.CONTAINER])
        module.exit_json(changed=found is not None, container=bench_command.CONTAINER)
    spool, command = Path(params["work_path"]), bench_command.container_command(settings(params))
    wanted = bench_points.content_hash([command, [endpoint.get("node") for endpoint in params["endpoints"]]])
    silence = bench_spool.silence_s(spool)
    is_fine = found == wanted and (silence is None or silence < bench_spool.ALIVE_LIMIT_S)
    if not is_fine and not module.check_mode:
        start(module, [*command[:3], f"--label={LABEL}={wanted}", *command[3:]], spool)
    module.exit_json(changed=not is_fine, container=bench_command.CONTAINER)


if __name__ == "__main__":
    main()
