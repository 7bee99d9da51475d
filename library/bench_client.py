#!/usr/bin/python
"""Keep the serving image's own benchmark client running on a node, so that no point pays for its imports."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import bench_command, bench_points, bench_run, bench_spool
from ansible.module_utils.apollo.bench_counters import freshness
from ansible.module_utils.apollo.direct_page import ask
from ansible.module_utils.apollo.whole_files import write_files
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: bench_client
short_description: Keep the serving image's own benchmark client running on a node
description:
  - Importing C(vllm bench serve) takes longer than many a run. One container per node, beside the engines and of their
    own image, imports it once and then takes point after point from module M(vllm_bench).
  - A client that runs already with the same settings is left alone; one that is gone or silent is started anew.
  - With O(load) the client already makes the prompts of a point, while engines may still have to start. Whether they
    have to is told as well. An engine that has generated a token for its probes, and no more than O(probe_tokens_max),
    was just started; one that cannot be asked, or does not count its tokens, is not fresh.
  - A node without O(endpoints) gets the programs only.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It says what it would do.}
  diff_mode: {support: none, details: A container has no content to compare.}
  idempotent: {support: full}
options:
  state: {type: str, default: started, choices: [started, stopped], description: Whether the client is to run.}
  endpoints:
    description: This node's endpoints of the plan's layout, each with name, url, served_name and model_path.
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
  programs: {type: dict, default: {}, description: "Files to put under O(program_path), each with its text."}
  load:
    description: What module M(vllm_bench) will measure with O(load.barrier.names), with the same values as there.
    type: dict
    suboptions:
      point: {type: dict, required: true, description: The point.}
      attempt: {type: int, required: true, description: Number of the attempt.}
      barrier: {type: dict, required: true, description: Where all clients meet.}
      watch_s: {type: float, required: true, description: Seconds between two looks at the server.}
      stall_s: {type: float, required: true, description: Seconds of silence after which an engine is frozen.}
  probe_tokens_max: {type: int, default: 16, description: Tokens that an engine may have generated for its probes.}
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
fresh:
  description: Whether every engine here has answered its probes and nothing else since its start.
  returned: with O(load)
  type: bool
generated_tokens:
  description: Tokens that each engine has generated since its start; null when not known.
  returned: with O(load)
  type: list
  elements: int
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


def install(module: AnsibleModule) -> bool:
    """Put the programs there; say whether one was missing or another."""
    folder, programs = Path(module.params["program_path"]), module.params["programs"]
    if programs and not module.check_mode:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    return write_files(module, folder, programs)


def ensure(module: AnsibleModule) -> bool:
    """Have the client run; say whether it had to be started."""
    params = module.params
    spool, command = Path(params["work_path"]), bench_command.container_command(settings(params))
    programs = bench_points.content_hash(params["programs"])
    wanted = bench_points.content_hash([command, [endpoint.get("node") for endpoint in params["endpoints"]], programs])
    silence = bench_spool.silence_s(spool)
    is_fine = running(module) == wanted and (silence is None or silence < bench_spool.ALIVE_LIMIT_S)
    if not is_fine and not module.check_mode:
        start(module, [*command[:3], f"--label={LABEL}={wanted}", *command[3:]], spool)
    return not is_fine


def hand_over(module: AnsibleModule) -> None:
    """Every job that this node is to drive."""
    load, spool = module.params["load"], module.params["work_path"]
    driven = [each for each in module.params["endpoints"] if each["name"] in load["barrier"]["names"]]
    for name, task in bench_command.tasks(driven, load, bench_run.read_point(load["point"]), spool).items():
        bench_spool.Job(Path(spool), name).prepare(task)


def ask_engines(module: AnsibleModule) -> dict[str, Any]:
    """Whether they were just started."""
    pages = [ask(f"{endpoint['url']}/metrics")[0] for endpoint in module.params["endpoints"]]
    found = [freshness(page, module.params["probe_tokens_max"]) for page in pages]
    return {"fresh": all(fresh for _, fresh in found), "generated_tokens": [count for count, _ in found]}


def spec() -> dict[str, Any]:
    """The options."""
    wanted, seconds = {"type": "dict", "required": True}, {"type": "float", "required": True}
    attempt = {"type": "int", "required": True}
    load = {"point": wanted, "attempt": attempt, "barrier": wanted, "watch_s": seconds, "stall_s": seconds}
    return {
        "state": {"type": "str", "default": "started", "choices": ["started", "stopped"]},
        "endpoints": {"type": "list", "elements": "dict", "default": []},
        "image": {"type": "str", "default": ""},
        "program_path": {"type": "path"},
        "work_path": {"type": "path"},
        "volumes": {"type": "list", "elements": "str", "default": []},
        "environment": {"type": "dict", "default": {}},
        "programs": {"type": "dict", "default": {}},
        "load": {"type": "dict", "options": load},
        "probe_tokens_max": {"type": "int", "default": 16},
    }


def main() -> None:
    needed = [("state", "started", ["program_path", "work_path"])]
    module = AnsibleModule(argument_spec=spec(), required_if=needed, supports_check_mode=True)
    if module.params["state"] == "stopped":
        found = running(module)
        if found is not None and not module.check_mode:
            module.run_command(["docker", "rm", "--force", bench_command.CONTAINER])
        module.exit_json(changed=found is not None, container=bench_command.CONTAINER)
    changed = [install(module), bool(module.params["endpoints"]) and ensure(module)]
    if module.params["load"] and not module.check_mode:
        hand_over(module)
    told = ask_engines(module) if module.params["load"] else {}
    module.exit_json(changed=any(changed), container=bench_command.CONTAINER, **told)


if __name__ == "__main__":
    main()
