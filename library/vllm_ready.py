#!/usr/bin/python
"""Wait until a model endpoint can really answer."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ansible.module_utils.apollo import ready
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: vllm_ready
short_description: Wait until a model endpoint can really answer
description:
  - An endpoint is ready when it is healthy, serves the wanted model and has generated one token.
    Health alone is not enough, an engine can be healthy and die at its first request.
  - With O(unit) the wait ends at once when systemd or the engine's keeper has seen it end, on whichever node,
    and lasts until the keeper has had its token, too.
author: [Apollo inference]
attributes:
  check_mode: {support: full, details: It only asks.}
  diff_mode: {support: none, details: It changes nothing.}
  idempotent: {support: full, details: It changes nothing.}
options:
  url: {type: str, required: true, description: "Address of the endpoint, without a path."}
  model: {type: str, required: true, description: Name under which the model must be served.}
  timeout_s: {type: int, default: 600, description: Seconds to wait at most.}
  interval_s: {type: float, default: 1.0, description: Seconds between two looks.}
  request_timeout_s: {type: int, default: 120, description: Seconds that one request may take.}
  idle: {type: bool, default: false, description: Also wait until no other request is running or waiting.}
  unit: {type: str, description: Name of the systemd unit that keeps the engine on this host.}
  state_directory: {type: path, default: /run/apollo, description: Where keepers tell their state.}
  api_key: {type: str, description: Key to send where the endpoint asks for one.}
  headers:
    type: dict
    default: {}
    description: More headers to send. The answer must carry them too, so that it is known who gave it.
"""

EXAMPLES = r"""
- name: Wait until the model itself answers
  vllm_ready:
    url: http://10.77.0.1:8000
    model: qwen3.6-27b
    timeout_s: 1800
    unit: vllm-27b-0
"""

RETURN = r"""
ready: {description: Whether the endpoint is ready., returned: always, type: bool}
waited_s: {description: Seconds that passed., returned: always, type: float}
saw:
  description: What was in the way, each with at_s, stage and detail.
  returned: always
  type: list
  elements: dict
text: {description: The generated text., returned: when ready, type: str}
"""

State = tuple[dict[str, str], dict[str, Any]]


@dataclass
class Watch:
    """The wait so far."""

    module: AnsibleModule
    began: float = field(default_factory=time.monotonic)
    saw: list[dict[str, Any]] = field(default_factory=list)
    findings: list[ready.Finding] = field(default_factory=list)
    text: str = ""

    def elapsed_s(self) -> float:
        return time.monotonic() - self.began

    def left_s(self) -> float:
        return float(self.module.params["timeout_s"]) - self.elapsed_s()

    def note(self, finding: ready.Finding) -> None:
        self.findings.append(finding)
        told = (finding.stage, finding.detail)
        if not self.saw or (self.saw[-1]["stage"], self.saw[-1]["detail"]) != told:
            self.saw.append({"at_s": round(self.elapsed_s(), 1), "stage": finding.stage, "detail": finding.detail})


def ask(watch: Watch, step: ready.Step) -> ready.Answer:
    """Send one request, past any proxy."""
    params = watch.module.params
    address = urlsplit(params["url"])
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    limit_s = max(1.0, min(float(params["request_timeout_s"]), watch.left_s()))
    headers = {"Content-Type": "application/json", **{name: str(value) for name, value in params["headers"].items()}}
    if params["api_key"]:
        headers["Authorization"] = f"Bearer {params['api_key']}"
    connection = kind(address.hostname or "", address.port, timeout=limit_s)
    try:
        body = json.dumps(step.body) if step.body else None
        connection.request("POST" if body else "GET", step.path, body=body, headers=headers)
        response = connection.getresponse()
        text = response.read().decode(errors="replace")
        return ready.Answer(response.status, text, headers=dict(response.getheaders()))
    except (OSError, http.client.HTTPException) as error:
        return ready.Answer(None, error=" ".join(str(error).split()) or type(error).__name__)
    finally:
        connection.close()


def unit_state(module: AnsibleModule) -> dict[str, str]:
    if not module.params["unit"]:
        return {}
    command = ["systemctl", "show", "--property=ActiveState,SubState,NRestarts,Result,Job", module.params["unit"]]
    return ready.properties(module.run_command(command, check_rc=True)[1])


def kept(module: AnsibleModule) -> dict[str, Any]:
    """What the engine's keeper tells; nothing before it has started."""
    try:
        text = (Path(module.params["state_directory"]) / f"{module.params['unit']}.json").read_text(encoding="utf-8")
        return dict(json.loads(text))
    except (OSError, ValueError):
        return {}


def state(module: AnsibleModule) -> State:
    return (unit_state(module), kept(module)) if module.params["unit"] else ({}, {})


def look(watch: Watch, before: State) -> ready.Finding | None:
    """Look once; None means ready."""
    params = watch.module.params
    unit, now = params["unit"], state(watch.module)
    ended = ready.judge_unit(unit, before[0], now[0]) if unit else None
    keeper = ready.judge_keeper(unit, before[1], now[1]) if unit else None
    if ended or (keeper and keeper.final):
        return keeper if keeper and keeper.final else ended
    for step in ready.steps(params["model"], params["idle"], params["headers"]):
        answer = ask(watch, step)
        finding = step.judge(answer)
        if finding:
            return finding
        watch.text = ready.generated_text(answer) or watch.text
    return keeper


def reason(module: AnsibleModule, finding: ready.Finding) -> str:
    """What was found, with the engine's own last error when its unit ended."""
    unit = module.params["unit"]
    if finding.stage != "unit":
        return f"{finding.stage}: {finding.detail}"
    journal = module.run_command(["journalctl", f"--unit={unit}", "--output=cat", "--lines=400"])[1]
    return f"{finding.detail}: {ready.last_error(journal.splitlines()) or 'its journal names no error'}"


def give_up(watch: Watch, finding: ready.Finding) -> None:
    params = watch.module.params
    waited = round(watch.elapsed_s(), 1)
    where = f"journalctl --unit={params['unit']}" if params["unit"] else "the server's log"
    watch.module.fail_json(
        msg=f"{params['model']} at {params['url']} is not ready after {waited} s (limit {params['timeout_s']} s): "
        f"{reason(watch.module, finding)}; see {where}",
        ready=False,
        waited_s=waited,
        saw=watch.saw,
    )


def wait(module: AnsibleModule) -> dict[str, Any]:
    watch = Watch(module)
    before = state(module)
    while finding := look(watch, before):
        watch.note(finding)
        if finding.final or ready.requests_failed_too_often(watch.findings) or watch.left_s() <= 0:
            give_up(watch, finding)
        time.sleep(max(0.0, min(module.params["interval_s"], watch.left_s())))
    return {"ready": True, "waited_s": round(watch.elapsed_s(), 1), "saw": watch.saw, "text": watch.text}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "required": True},
            "model": {"type": "str", "required": True},
            "timeout_s": {"type": "int", "default": 600},
            "interval_s": {"type": "float", "default": 1.0},
            "request_timeout_s": {"type": "int", "default": 120},
            "idle": {"type": "bool", "default": False},
            "unit": {"type": "str"},
            "state_directory": {"type": "path", "default": "/run/apollo"},
            "api_key": {"type": "str", "no_log": True},
            "headers": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    module.exit_json(changed=False, **wait(module))


if __name__ == "__main__":
    main()
