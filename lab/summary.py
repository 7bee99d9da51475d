"""The one screen at the end: where the endpoints are, how to ask, what the judge said, where the report lies."""

import json
from pathlib import Path
from typing import Any

import docker
import requests
import yaml
from rich.console import Console

from lab.inside import answer
from lab.settings import Lab

PLAN_RECORD = "/var/lib/apollo/plan.json"
DEFAULT_PORT = 8080
ASK_TIMEOUT_S = 30


def print_summary(client: docker.DockerClient, lab: Lab, run_id: str, console: Console) -> None:
    """Print it."""
    layout = read_layout(client, lab)
    url, key = gateway(lab)
    lines = ["", f"The lab {lab.name} serves plan {layout['plan']}:"]
    lines += [
        f"  {endpoint['served_name']:<14} {endpoint['url']} on {endpoint['node']}" for endpoint in layout["endpoints"]
    ]
    lines += [f"  gateway        {url}", "", "Ask it:", *curl_lines(url, key, layout["endpoints"][0]["served_name"])]
    lines += [
        "",
        ask(url, key, layout["endpoints"][0]["served_name"]),
        "",
        *verdict_lines(lab.root / "results" / run_id),
    ]
    lines += ["", "The lab stays up: bin/lab status, bin/lab down, bin/lab clean."]
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def read_layout(client: docker.DockerClient, lab: Lab) -> dict[str, Any]:
    """Read what the first node recorded as served."""
    code, text = answer(client.containers.get(lab.nodes[0].container), "cat", PLAN_RECORD)
    if code != 0:
        return {"plan": "nothing", "endpoints": []}
    layout: dict[str, Any] = json.loads(text)
    return layout


def gateway(lab: Lab) -> tuple[str, str]:
    """Return the gateway's address as this computer sees it, and a key that it accepts."""
    file = lab.root / "inventory" / "lab" / "group_vars" / "all" / "gateway.yml"
    settings = yaml.safe_load(file.read_text(encoding="utf-8"))
    key = next(iter(settings["gateway_keys"].values()))
    return f"http://{lab.nodes[0].management_address}:{settings.get('gateway_port', DEFAULT_PORT)}", key


def curl_lines(url: str, key: str, model: str) -> list[str]:
    """Write a request that can be pasted into a shell."""
    body = json.dumps({"model": model, "prompt": "Hello", "max_tokens": 8})
    return [
        f"  curl {url}/v1/completions -H 'Authorization: Bearer {key}' \\",
        f"    -H 'Content-Type: application/json' -d '{body}'",
    ]


def ask(url: str, key: str, model: str) -> str:
    """Send that request and say in one line what came back."""
    try:
        reply = requests.post(
            f"{url}/v1/completions",
            headers={"Authorization": f"Bearer {key}"},
            json={"model": model, "prompt": "Hello", "max_tokens": 8},
            timeout=ASK_TIMEOUT_S,
        )
        reply.raise_for_status()
        tokens = reply.json()["usage"]["completion_tokens"]
    except (requests.RequestException, ValueError, KeyError) as error:
        return f"Just tried, and it failed: {error}"
    return f"Just tried: {tokens} tokens of noise came back (the model is a stand-in of random weights)."


def verdict_lines(results: Path) -> list[str]:
    """Say what the judge said and where the report is."""
    try:
        verdict = json.loads((results / "verdict.json").read_text(encoding="utf-8"))
        summary, worst = str(verdict["summary"]), [str(line) for line in verdict["worst"]]
    except (OSError, ValueError, KeyError, TypeError):
        return [f"No verdict under {results}."]
    return [f"Verdict: {summary}", *(f"  {line}" for line in worst[:5]), f"Report:  {results / 'report.html'}"]
