#!/usr/bin/python
"""Send more requests through the gateway than the plan carries, with the serving image's own client."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import bench_command, bench_spool, overload
from ansible.module_utils.apollo.bench_result import read_result
from ansible.module_utils.apollo.bench_run import without_result
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: bench_overload
short_description: Send more requests through the gateway than the plan carries
description:
  - Hands one job to the resident client of module M(bench_client), which asks the gateway at random moments, and tells
    what came of those who were let in, how soon the others got 429, and what else any request got.
  - Whatever came of it is data. It is returned as an event of the journal, and the module does not fail.
  - The key is handed over in a file that only root can read, and that the client removes as soon as it has read it.
author: [Apollo inference]
attributes:
  check_mode: {support: partial, details: Nothing is sent and there are no events.}
  diff_mode: {support: none, details: A measurement has no earlier state.}
  idempotent: {support: none, details: Every call measures anew.}
options:
  url: {type: str, required: true, description: Base URL of the gateway.}
  key: {type: str, required: true, description: Key that the gateway knows.}
  plan: {type: str, required: true, description: Name of the plan.}
  endpoint:
    description: An endpoint on this node, with name, url, served_name and model_path.
    type: dict
    required: true
  offer: {type: dict, required: true, description: "What is sent, as M(bench_overload_info) tells it."}
  input_tokens: {type: int, required: true, description: Length of each prompt.}
  output_tokens: {type: int, required: true, description: Length of each answer.}
  seed: {type: int, default: 0, description: Seed of the prompts.}
  work_path:
    description: Directory on this node that the resident client was started with.
    type: path
    required: true
  client_timeout_s: {type: int, default: 300, description: Seconds that the client may take to make its prompts.}
"""

EXAMPLES = r"""
- name: Ask the gateway for twice what the plan carries
  bench_overload:
    url: http://192.0.2.11:8080
    key: "{{ gateway_keys.values() | first }}"
    plan: 27b
    endpoint: "{{ said.offers[0].endpoint }}"
    offer: "{{ said.offers[0].offer }}"
    input_tokens: 2048
    output_tokens: 1024
    work_path: /var/lib/apollo/bench
"""

RETURN = r"""
events: {description: "The overload and its facts, for the journal.", returned: always, type: list, elements: dict}
summary: {description: What came of it in one line., returned: always, type: str}
"""

LOOK_S = 0.1
JOB = "overload"


def send(params: dict[str, Any]) -> dict[str, Any]:
    """The event; a job that did not end in time was stopped, and says so."""
    job, offer = bench_spool.Job(Path(params["work_path"]), JOB), params["offer"]
    job.prepare(overload.task(params))
    if not wait(job, "ready.json", params["client_timeout_s"]) and not job.is_done:
        job.stop(f"timeout: no prompts after {params['client_timeout_s']} s")
    job.go(params["key"])
    if not wait(job, "done.json", offer["limit_s"]):
        job.stop(f"timeout: a request had not ended after {offer['limit_s']:.0f} s")
        wait(job, "done.json", bench_spool.STOP_LIMIT_S)
    return read(job, offer)


def wait(job: bench_spool.Job, name: str, seconds: float) -> bool:
    """Until the client has written it, or is done, or the time is over."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if (job.folder / name).exists() or job.is_done:
            return (job.folder / name).exists()
        time.sleep(LOOK_S)
    return False


def read(job: bench_spool.Job, offer: dict[str, Any]) -> dict[str, Any]:
    (job.folder / "key").unlink(missing_ok=True)  # of a client that died before it read it
    done = bench_spool.read_json(job.folder / "done.json")
    text = bench_spool.read_text(job.folder / bench_command.RESULT_FILE)
    if not text or done.get("stopped"):
        log = bench_spool.read_text(job.folder / bench_command.LOG_FILE)
        outcome = without_result(int(done.get("code", 1)), log, done.get("stopped", ""))
        return overload.failed(f"{outcome.reasons[0]}: {outcome.detail}", offer)
    try:
        return overload.told(read_result(text), offer)
    except (KeyError, ValueError) as error:
        return overload.failed(f"bad_result: {error}", offer)


def spec() -> dict[str, Any]:
    """The options."""
    text, number = {"type": "str", "required": True}, {"type": "int", "required": True}
    return {
        **{"url": text, "key": {**text, "no_log": True}, "plan": text},
        "endpoint": {"type": "dict", "required": True},
        "offer": {"type": "dict", "required": True},
        **{"input_tokens": number, "output_tokens": number, "seed": {"type": "int", "default": 0}},
        "work_path": {"type": "path", "required": True},
        "client_timeout_s": {"type": "int", "default": 300},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=spec(), supports_check_mode=True)
    if module.check_mode:
        module.exit_json(changed=False, events=[], summary="not measured in check mode")
    about = {"plan": module.params["plan"], "model": module.params["endpoint"]["served_name"]}
    event = {**send(module.params), **about}
    events = [event, *overload.facts(event, time.time())]
    module.exit_json(changed=True, events=events, summary=overload.summary(event))


if __name__ == "__main__":
    main()
