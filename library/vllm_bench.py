#!/usr/bin/python
"""Measure one endpoint at one point with the serving image's own client."""

from __future__ import annotations

import json
import shutil
import tarfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import bench_command, bench_run
from ansible.module_utils.apollo.bench_figures import Point
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: vllm_bench
short_description: Measure one endpoint at one point with the serving image's own client
description:
  - Runs C(vllm bench serve) of the image in a container on the endpoint's node, started at one moment with the clients
    of the plan's other endpoints, and judges whether the run counts.
  - A run that failed is data. It is returned as a record with its reasons, and the module does not fail.
author: [Apollo inference]
attributes:
  check_mode: {support: partial, details: Nothing is measured and the record is empty.}
  diff_mode: {support: none, details: A measurement has no earlier state.}
  idempotent: {support: none, details: Every call measures anew.}
options:
  endpoint:
    description: The endpoint of the plan's layout with name, node, url, served_name and model_path.
    type: dict
    required: true
  point:
    description: The point with concurrency, prompts, input_tokens, output_tokens, warmups, seed and hash.
    type: dict
    required: true
  attempt:
    description: Number of this attempt at the point.
    type: int
    default: 1
  barrier:
    description: Where the clients of all endpoints meet before they start.
    type: dict
    required: true
    suboptions:
      address: {type: str, required: true, description: Address of the first endpoint's node.}
      port: {type: int, required: true, description: Port that is free on that node.}
      index: {type: int, required: true, description: "Number of this endpoint, from 0."}
      world: {type: int, required: true, description: Number of endpoints.}
      timeout_s: {type: int, required: true, description: Seconds to wait for the others.}
  not_ready:
    description: Why the engines could not be made ready. When not empty, nothing is measured and this is recorded.
    type: str
    default: ""
  image:
    description: Image whose client is used.
    type: str
    required: true
  client_path:
    description: The program that starts the client, on this node.
    type: path
    required: true
  work_path:
    description: Directory on this node for the client's files. It is emptied first.
    type: path
    required: true
  volumes:
    description: Volumes of the client's container beside those of its engine's, which holds the model.
    type: list
    elements: str
    default: []
  environment:
    description: Environment of the client's container.
    type: dict
    default: {}
  timeout_s:
    description: Seconds after which a client that has not ended is stopped.
    type: int
    required: true
"""

EXAMPLES = r"""
- name: Measure the first endpoint with 8 users at once
  vllm_bench:
    endpoint: "{{ plan_layout.endpoints[0] }}"
    point: {concurrency: 8, prompts: 80, input_tokens: 2048, output_tokens: 1024, warmups: 8, seed: 8, hash: 00ab}
    barrier: {address: 10.77.0.1, port: 29590, index: 0, world: 1, timeout_s: 600}
    image: vllm/vllm-openai:v0.32.0
    client_path: /usr/local/lib/apollo/bench_client.py
    work_path: /var/lib/apollo/bench
    timeout_s: 3600
"""

RETURN = r"""
record:
  description: The journal's record of this run. Its status is valid, invalid or failed, with reason codes.
  returned: always
  type: dict
summary: {description: The run in one line., returned: always, type: str}
raw: {description: Name under which the archive is kept among the run's raw files., returned: always, type: str}
archive: {description: Archive on the node with the client's own files., returned: always, type: str}
"""

ASK_TIMEOUT_S = 10
LOG_TAIL = 4000
ENGINE_LOG_LINES = 30
ENGINE_GONE = {"server_died", "server_not_ready"}


def ask(url: str) -> tuple[str | None, str]:
    """Give the answer's text, or None and the reason."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(url, timeout=ASK_TIMEOUT_S) as answer:
            return answer.read().decode(), ""
    except (OSError, ValueError) as error:
        return None, f"{url}: {error}"


def read_json(text: str | None) -> dict[str, Any]:
    """Read an object; whatever is none is empty."""
    try:
        document = json.loads(text or "{}")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def find_wrong_server(endpoint: dict[str, Any]) -> bench_run.Outcome | None:
    """Make sure that the wanted model answers, before anything is measured on another one."""
    text, reason = ask(f"{endpoint['url']}/v1/models")
    if text is None:
        return bench_run.failed("server_not_ready", reason)
    served = [str(model.get("id")) for model in read_json(text).get("data") or []]
    if endpoint["served_name"] in served:
        return None
    told = ", ".join(served) or "no model"
    return bench_run.failed("wrong_server", f"{endpoint['url']} serves {told}, wanted {endpoint['served_name']}")


def run_client(module: AnsibleModule, point: Point, work: Path) -> tuple[int, str]:
    """Run the client in its container and keep what it wrote."""
    params, endpoint = module.params, module.params["endpoint"]
    container = bench_command.Container(
        name=f"bench-{endpoint['name']}",
        engine=endpoint["name"],
        image=params["image"],
        client_path=params["client_path"],
        work_path=str(work),
        volumes=params["volumes"],
        environment=params["environment"],
    )
    own = bench_command.own_arguments(point, bench_command.Barrier(**params["barrier"]), str(work))
    theirs = bench_command.client_arguments(endpoint, point, str(work))
    module.run_command(["docker", "rm", "--force", container.name])
    command = bench_command.container_command(container, [*own, "--", *theirs], params["timeout_s"])
    code, out, err = module.run_command(command)
    (work / bench_command.LOG_FILE).write_text(f"{' '.join(command)}\n{out}\n{err}", encoding="utf-8")
    return code, f"{out}\n{err}"[-LOG_TAIL:]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def measure(module: AnsibleModule, point: Point, work: Path) -> tuple[bench_run.Outcome, dict[str, Any]]:
    """Run the client and judge what it left, then look whether the engine is still there."""
    code, log = run_client(module, point, work)
    stamps, result = read_json(read(work / bench_command.STAMPS_FILE)), read(work / bench_command.RESULT_FILE)
    outcome = bench_run.evaluate(result, stamps, point) if result else bench_run.without_result(code, log)
    health, reason = ask(f"{module.params['endpoint']['url']}/health")
    return (outcome if health is not None else bench_run.after_a_crash(outcome, reason)), stamps


def engine_log(module: AnsibleModule) -> list[str]:
    """The last lines of the engine's journal, for a run that its engine did not survive."""
    unit = f"--unit={module.params['endpoint']['name']}.service"
    return module.run_command(["journalctl", unit, f"--lines={ENGINE_LOG_LINES}", "--no-pager", "--output=cat"])[
        1
    ].splitlines()


def pack(work: Path) -> str:
    """The client's own files, in one archive beside them."""
    files = [path for path in sorted(work.iterdir()) if path.is_file()]
    archive = work / "raw.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=6) as packed:
        for path in files:
            packed.add(path, arcname=path.name)
    return str(archive)


def run(module: AnsibleModule) -> dict[str, Any]:
    params, started = module.params, time.time()
    endpoint, point = params["endpoint"], bench_run.read_point(params["point"])
    work = Path(params["work_path"]) / endpoint["name"]
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    stamps: dict[str, Any] = {}
    refused = bench_run.failed("server_not_ready", params["not_ready"]) if params["not_ready"] else None
    outcome = refused or find_wrong_server(endpoint)
    if outcome is None:
        outcome, stamps = measure(module, point, work)
    about = {"endpoint": endpoint["name"], "node": endpoint["node"], "hash": params["point"]["hash"]}
    times = {"started_s": started, "ended_s": time.time(), "attempt": params["attempt"]}
    server = read_json(ask(f"{endpoint['url']}/version")[0]).get("version")
    record = {"event": "run", **about, **times, **outcome.as_dict()}
    record["versions"] = {"server": server, "client": stamps.get("client_version")}
    record["engine_log"] = engine_log(module) if ENGINE_GONE & set(outcome.reasons) else []
    record["raw"] = f"n{point.concurrency}-{record['hash']}-{endpoint['name']}-{params['attempt']}.tar.gz"
    return {"record": record, "summary": bench_run.summary(record), "archive": pack(work), "raw": record["raw"]}


def main() -> None:
    required = {"type": "str", "required": True}
    number = {"type": "int", "required": True}
    barrier = {"address": required, **dict.fromkeys(("port", "index", "world", "timeout_s"), number)}
    module = AnsibleModule(
        argument_spec={
            "endpoint": {"type": "dict", "required": True},
            "point": {"type": "dict", "required": True},
            "attempt": {"type": "int", "default": 1},
            "barrier": {"type": "dict", "required": True, "options": barrier},
            "not_ready": {"type": "str", "default": ""},
            "image": required,
            "client_path": {"type": "path", "required": True},
            "work_path": {"type": "path", "required": True},
            "volumes": {"type": "list", "elements": "str", "default": []},
            "environment": {"type": "dict", "default": {}},
            "timeout_s": number,
        },
        supports_check_mode=True,
    )
    if module.check_mode:
        module.exit_json(changed=False, record={}, summary="not measured in check mode", archive="", raw="")
    module.exit_json(changed=True, **run(module))


if __name__ == "__main__":
    main()
