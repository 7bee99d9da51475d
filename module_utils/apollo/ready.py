"""When is a model endpoint ready? Healthy, the right model, one generated token and, if asked, nothing else to do."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PROMPT = "ready"
FAILED_REQUESTS_ALLOWED = 2
BUSY_GAUGES = ("vllm:num_requests_running", "vllm:num_requests_waiting")


@dataclass(frozen=True)
class Answer:
    """What came back to one request; ``status`` is None when nothing did."""

    status: int | None
    text: str = ""
    error: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """Why an endpoint is not ready; waiting does not help when ``final``."""

    stage: str
    detail: str
    final: bool = False


@dataclass(frozen=True)
class Step:
    """One question to the endpoint and how its answer is judged."""

    path: str
    body: Mapping[str, Any] | None
    judge: Callable[[Answer], Finding | None]


def steps(model: str, idle: bool, marks: Mapping[str, str]) -> list[Step]:
    """Give the questions, in order; the endpoint is ready when none of them finds anything.

    ``marks`` are headers by which the answer with the token tells who gave it.
    """
    completion = {"model": model, "prompt": PROMPT, "max_tokens": 1, "temperature": 0}
    asked = [
        Step("/health", None, judge_health),
        Step("/v1/models", None, lambda answer: judge_models(answer, model)),
        Step("/v1/completions", completion, lambda answer: judge_completion(answer, marks)),
    ]
    return [*asked, Step("/metrics", None, judge_idle)] if idle else asked


def judge_health(answer: Answer) -> Finding | None:
    return None if answer.status == 200 else Finding("health", _said(answer))


def judge_models(answer: Answer, model: str) -> Finding | None:
    if answer.status != 200:
        return Finding("model", _said(answer), final=answer.status in (401, 403))
    served = [entry.get("id") for entry in _json(answer).get("data") or []]
    if model in served:
        return None
    return Finding("model", f"serves {', '.join(map(str, served)) or 'no model'}, wanted {model}", final=True)


def judge_completion(answer: Answer, marks: Mapping[str, str]) -> Finding | None:
    if answer.status != 200:
        return Finding("token", _said(answer), final=answer.status in (400, 401, 403, 404))
    tokens = (_json(answer).get("usage") or {}).get("completion_tokens") or 0
    if tokens < 1:
        return Finding("token", "the answer holds no generated token")
    told = {name.lower(): value for name, value in answer.headers.items()}
    wrong = [(name, value) for name, value in marks.items() if told.get(name.lower()) != value]
    if wrong:
        name, value = wrong[0]
        return Finding("answered by", f"{told.get(name.lower(), 'one that does not say')}, wanted {value}")
    return None


def judge_idle(answer: Answer) -> Finding | None:
    if answer.status != 200:
        return Finding("idle", _said(answer))
    busy = sum(int(gauge(answer.text, name)) for name in BUSY_GAUGES)
    return Finding("idle", f"{busy} other requests are running or waiting") if busy else None


def judge_unit(unit: str, before: Mapping[str, str], now: Mapping[str, str]) -> Finding | None:
    """Find that systemd gave up on the engine, or started it anew while we were waiting.

    A unit that is still queued, as at boot behind the GPUs, is waited for.
    """
    if now.get("ActiveState") == "failed":
        return Finding("unit", f"{unit} has failed ({now.get('Result', 'unknown')})", final=True)
    if now.get("ActiveState") == "inactive":
        queued = now.get("Job", "0") not in ("", "0")
        return Finding("unit", f"{unit} {'waits for its turn' if queued else 'is not running'}", final=not queued)
    if now.get("SubState") == "auto-restart" or _restarts(now) > _restarts(before):
        return Finding("unit", f"{unit} ended while starting", final=True)
    return None


def judge_keeper(unit: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Finding | None:
    """Find that the engine's keeper has not seen it ready, or has seen it end while we were waiting."""
    if now.get("phase") == "failed" or int(now.get("ends") or 0) > int(before.get("ends") or 0):
        return Finding("engine", f"{unit} ended while starting: {now.get('reason') or 'nothing says why'}", final=True)
    if now.get("ready"):
        return None
    if now.get("refused"):
        return Finding("keeper", f"{unit} cannot start: {now['refused']}", final=True)
    waits = f", {now['waits_for']}" if now.get("waits_for") else ""
    return Finding("keeper", f"{unit} is {now.get('phase', 'not kept yet')}{waits}")


def requests_failed_too_often(findings: Sequence[Finding]) -> bool:
    """A healthy endpoint that fails request after request does not become ready by waiting."""
    return sum(finding.stage == "token" for finding in findings) > FAILED_REQUESTS_ALLOWED


def generated_text(answer: Answer) -> str:
    choices = _json(answer).get("choices") or [{}]
    return str(choices[0].get("text") or "")


def gauge(metrics: str, name: str) -> float:
    """Sum a gauge over all label sets of a metrics page."""
    rows = (line for line in metrics.splitlines() if line.startswith((f"{name}{{", f"{name} ")))
    return sum(float(row.rsplit(maxsplit=1)[1]) for row in rows)


def properties(text: str) -> dict[str, str]:
    """Read the ``Key=value`` lines of systemctl show."""
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def last_error(journal: Sequence[str]) -> str:
    """Pick the line of an engine's journal that says why it ended; empty when none does."""
    lines = [line for line in journal if not re.search(r"\b(DEBUG|INFO|WARNING) \d\d-\d\d [\d:]+ \[", line)]
    told = [_bare(line) for line in lines if re.search(r"\b\w*(Error|Exception)\b: \S|\berror: ", line)]
    causes = [line for line in told if not re.search("See (root cause|stack trace)", line)]
    return (causes or told or [""])[-1][:400]


def _bare(line: str) -> str:
    """Drop the process, level, time and place that an engine writes before its message."""
    line = re.sub(r"^(\([^)]*\)\s*)+", "", line.strip())
    return re.sub(r"^[A-Z]+ \d\d-\d\d [\d:]+ \[[^\]]*\]\s*", "", line).strip()


def _restarts(unit: Mapping[str, str]) -> int:
    return int(unit.get("NRestarts") or 0)


def _said(answer: Answer) -> str:
    if answer.status is None:
        return answer.error
    return f"HTTP {answer.status} {' '.join(answer.text.split())[:160]}".strip()


def _json(answer: Answer) -> dict[str, Any]:
    try:
        document = json.loads(answer.text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
