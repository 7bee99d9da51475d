#!/usr/bin/python
"""Measure the endpoints of one node at one point with the serving image's own client."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import bench_command, bench_run, bench_spool, machine_facts
from ansible.module_utils.apollo.bench_figures import Point
from ansible.module_utils.apollo.bench_server import find_wrong_server, read_answer
from ansible.module_utils.apollo.direct_page import ask
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: vllm_bench
short_description: Measure the endpoints of one node at one point with the serving image's own client
description:
  - Hands the point to the resident client of module M(bench_client), which runs C(vllm bench serve) of the image for
    all endpoints of this node at once, started at one moment with the clients of the plan's other nodes. Judges whether
    each run counts.
  - A run that failed is data. It is returned as a record with its reasons, and the module does not fail.
  - While it runs, an action of the same name on the controller tells how far it is, on the screen and in a file.
author: [Apollo inference]
attributes:
  check_mode: {support: partial, details: Nothing is measured and there are no records.}
  diff_mode: {support: none, details: A measurement has no earlier state.}
  idempotent: {support: none, details: Every call measures anew.}
options:
  endpoints:
    description: This node's endpoints of the plan's layout, each with name, node, url, served_name and model_path.
    type: list
    elements: dict
    required: true
  point:
    description: The point with concurrency, prompts, input_tokens, output_tokens, warmups, seed, dataset and hash.
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
      names: {type: list, elements: str, required: true, description: All endpoints that are driven at this point.}
      timeout_s: {type: int, required: true, description: Seconds to wait for the others.}
  not_ready:
    description: Why the engines could not be made ready. When not empty, nothing is measured and this is recorded.
    type: str
    default: ""
  work_path:
    description: Directory on this node that the resident client was started with.
    type: path
    required: true
  state_directory: {type: path, default: /run/apollo, description: Where the engines' keepers tell their state.}
  watch_s:
    description: Seconds between two looks at the server's gauges during the load.
    type: float
    default: 2
  stall_s:
    description: Seconds without a token or a change of counters after which an engine counts as frozen.
    type: float
    default: 300
  client_timeout_s:
    description: Seconds that the resident client may take to start.
    type: int
    default: 300
  timeout_s:
    description: Seconds after which a client that has not ended is stopped.
    type: int
    required: true
  progress:
    description: What the controller needs to tell how far it is. Without it, it says nothing.
    type: dict
    suboptions:
      file: {type: path, required: true, description: File on the controller to which each line is added.}
      label: {type: str, required: true, description: What is measured, in a few words.}
      every_s: {type: float, default: 10, description: Seconds between two lines.}
      waves_after: {type: float, default: 0, description: Requests per user that the sweep makes after this.}
      restarts_after: {type: int, default: 0, description: Starts of engines that the sweep makes after this.}
      began_s: {type: float, default: 0, description: When this point began on the controller.}
      restarted: {type: bool, default: false, description: Whether the engines were started anew since then.}
      raw: {type: path, description: Directory on the controller where the archive is kept.}
"""

EXAMPLES = r"""
- name: Measure this node's endpoint with 8 users at once
  vllm_bench:
    endpoints: "{{ plan_layout.endpoints[:1] }}"
    point: {concurrency: 8, prompts: 80, input_tokens: 2048, output_tokens: 1024, warmups: 8, seed: 8, hash: 00ab}
    barrier: {address: 10.77.0.1, port: 29590, names: [vllm-27b-0], timeout_s: 600}
    work_path: /var/lib/apollo/bench
    timeout_s: 3600
"""

RETURN = r"""
records:
  description: The journal's record of each endpoint's run. Its status is valid, invalid or failed, with reason codes.
  returned: always
  type: list
  elements: dict
summary: {description: The runs in one line., returned: always, type: str}
raw: {description: Name under which the archive is kept among the run's raw files., returned: always, type: str}
archive: {description: Archive on the node with the client's own files., returned: always, type: str}
archive_sha256: {description: "The archive's hash, so that it arrives whole.", returned: always, type: str}
"""

LOOK_S, LOOK_AT_CLIENT_S = 0.1, 5
LOG_TAIL = 4000
ENGINE_LOG_LINES = 30
ENGINE_GONE = {"server_died", "server_not_ready", "server_frozen"}


class Bench:
    """The runs of all endpoints of this node at one point."""

    def __init__(self, module: AnsibleModule) -> None:
        self.module, self.params, self.began_s = module, module.params, time.monotonic()
        self.point: Point = bench_run.read_point(self.params["point"])
        self.spool = Path(self.params["work_path"])
        self.tasks = bench_command.tasks(self.params["endpoints"], self.params, self.point, str(self.spool))
        self.jobs = {each["name"]: bench_spool.Job(self.spool, each["name"]) for each in self.params["endpoints"]}

    def prepare(self) -> None:
        """Hand every job over that does not wait already."""
        for name, task in self.tasks.items():
            self.jobs[name].prepare(task)

    @property
    def is_replaced(self) -> bool:
        """A controller that was started anew has handed over other jobs: whoever asked for these is gone."""
        return not all(self.jobs[name].holds(task) for name, task in self.tasks.items())

    def refusals(self) -> dict[str, bench_run.Outcome]:
        """Endpoints that cannot be measured. One is enough: the others would wait at the barrier in vain."""
        if self.params["not_ready"]:
            return dict.fromkeys(self.jobs, bench_run.failed("server_not_ready", self.params["not_ready"]))
        found = {each["name"]: find_wrong_server(each) for each in self.params["endpoints"]}
        return {name: outcome for name, outcome in found.items() if outcome}

    def wait(self) -> str:
        """Until every job is done, or is no longer ours; otherwise why the client itself is gone."""
        gives_up, looks_at = time.monotonic() + self.params["timeout_s"], time.monotonic() + LOOK_AT_CLIENT_S
        while not self.is_replaced and not all(job.is_done for job in self.jobs.values()):
            now = time.monotonic()
            if now > gives_up:
                for job in self.jobs.values():
                    job.stop(f"timeout: no end after {self.params['timeout_s']} s")
                gives_up = float("inf")
            if now > looks_at and (gone := self.client_fault()):
                return gone
            looks_at = now + LOOK_AT_CLIENT_S if now > looks_at else looks_at
            time.sleep(LOOK_S)
        return ""

    def client_fault(self) -> str:
        """A client that has not said that it lives yet may still be importing."""
        silence = bench_spool.silence_s(self.spool)
        starting = silence is None
        waited = time.monotonic() - self.began_s if silence is None else silence
        if waited < (self.params["client_timeout_s"] if starting else bench_spool.ALIVE_LIMIT_S):
            return ""
        log = "".join(self.module.run_command(["docker", "logs", "--tail=20", bench_command.CONTAINER])[1:])
        last = (log.strip().splitlines() or ["nothing"])[-1]
        return f"the resident client has said nothing for {waited:.0f} s, its log: {last}"

    def outcome(self, endpoint: dict[str, Any], gone: str) -> bench_run.Outcome:
        """Judge what the client left, then look whether the engine is still there."""
        folder = self.jobs[endpoint["name"]].folder
        done = bench_spool.read_json(folder / "done.json")
        if not done:
            return bench_run.failed("client_failed", gone)
        text = bench_spool.read_text(folder / bench_command.RESULT_FILE)
        stamps = bench_spool.read_json(folder / bench_command.STAMPS_FILE)
        if text and not done.get("stopped"):
            found = bench_run.evaluate(text, stamps, self.point, bench_spool.read_text(folder / "watch.jsonl"))
        else:
            log = bench_spool.read_text(folder / bench_command.LOG_FILE)[-LOG_TAIL:]
            found = bench_run.without_result(int(done["code"]), log, done.get("stopped", ""))
        health, reason = ask(f"{endpoint['url']}/health")
        return found if health is not None else bench_run.after_a_crash(found, reason)

    def record(self, endpoint: dict[str, Any], outcome: bench_run.Outcome, started_s: float) -> dict[str, Any]:
        about = {"endpoint": endpoint["name"], "node": endpoint["node"], "hash": self.params["point"]["hash"]}
        times = {"started_s": started_s, "ended_s": time.time(), "attempt": self.params["attempt"]}
        record = {"event": "run", **about, **times, **outcome.as_dict()}
        stamps = bench_spool.read_json(self.jobs[endpoint["name"]].folder / bench_command.STAMPS_FILE)
        server = read_answer(ask(f"{endpoint['url']}/version")[0]).get("version")
        record["versions"] = {"server": server, "client": stamps.get("client_version")}
        record["engine_log"] = self.engine_log(endpoint) if ENGINE_GONE & set(outcome.reasons) else []
        record["raw"] = self.raw
        kept = Path(self.params["state_directory"]) / f"{endpoint['name']}.json"
        record["engine_start"] = machine_facts.engine_start(bench_spool.read_json(kept))
        return record

    def engine_log(self, endpoint: dict[str, Any]) -> list[str]:
        """The last lines of the engine's journal, for a run that its engine did not survive."""
        if self.module.get_bin_path("journalctl") is None:
            return []
        unit = f"--unit={endpoint['name']}.service"
        command = ["journalctl", unit, f"--lines={ENGINE_LOG_LINES}", "--no-pager", "--output=cat"]
        out: str = self.module.run_command(command)[1]
        return out.splitlines()

    @property
    def raw(self) -> str:
        point, node = self.params["point"], self.params["endpoints"][0]["node"]
        return f"n{self.point.concurrency}-{point['hash']}-{node}-{self.params['attempt']}.tar.gz"

    def pack(self) -> dict[str, str]:
        """The client's own files of all endpoints, in one archive beside them."""
        packed = bench_spool.pack(self.spool / "raw.tar.gz", {name: job.folder for name, job in self.jobs.items()})
        told = hashlib.sha256(packed.read_bytes()).hexdigest()
        return {"archive": str(packed), "archive_sha256": told, "raw": self.raw}


NOTHING: dict[str, Any] = {"records": [], "summary": "", "archive": "", "archive_sha256": "", "raw": ""}


def run(module: AnsibleModule) -> dict[str, Any]:
    bench, started_s = Bench(module), time.time()
    endpoints = module.params["endpoints"]
    bench.prepare()
    refused = bench.refusals()
    gone = ""
    if not refused:
        for job in bench.jobs.values():
            job.go()
        gone = bench.wait()
        if bench.is_replaced:
            return {**NOTHING, "summary": "another measurement has taken the place of this one"}
    waiting = bench_run.failed("barrier", "another endpoint of this node could not be measured")
    outcomes = [refused.get(each["name"], waiting) if refused else bench.outcome(each, gone) for each in endpoints]
    records = [bench.record(each, outcome, started_s) for each, outcome in zip(endpoints, outcomes, strict=True)]
    summary = "; ".join(map(bench_run.summary, records))
    return {"records": records, "summary": summary, **bench.pack()}


TEXT = {"type": "str", "required": True}
NUMBER = {"type": "int", "required": True}
SECONDS = {"type": "float", "default": 0}
BARRIER = {
    **{"address": TEXT, "port": NUMBER, "timeout_s": NUMBER},
    "names": {"type": "list", "elements": "str", "required": True},
}
PROGRESS = {
    **{"file": {"type": "path", "required": True}, "label": TEXT, "every_s": {"type": "float", "default": 10}},
    **{"waves_after": SECONDS, "restarts_after": {"type": "int", "default": 0}, "began_s": SECONDS},
    **{"restarted": {"type": "bool", "default": False}, "raw": {"type": "path"}},
}
OPTIONS = {
    "endpoints": {"type": "list", "elements": "dict", "required": True},
    "point": {"type": "dict", "required": True},
    "attempt": {"type": "int", "default": 1},
    "barrier": {"type": "dict", "required": True, "options": BARRIER},
    "not_ready": {"type": "str", "default": ""},
    "work_path": {"type": "path", "required": True},
    "state_directory": {"type": "path", "default": "/run/apollo"},
    "watch_s": {"type": "float", "default": 2},
    "stall_s": {"type": "float", "default": 300},
    "client_timeout_s": {"type": "int", "default": 300},
    "timeout_s": NUMBER,
    "progress": {"type": "dict", "options": PROGRESS},
}


def main() -> None:
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    if module.check_mode:
        module.exit_json(changed=False, **{**NOTHING, "summary": "not measured in check mode"})
    module.exit_json(changed=True, **run(module))


if __name__ == "__main__":
    main()
