"""Ask an engine over HTTP, past every proxy."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.apollo.bench_run import Outcome, failed

ASK_TIMEOUT_S = 10


def ask(url: str, timeout_s: float = ASK_TIMEOUT_S) -> tuple[str | None, str]:
    """Give the answer's text, or None and the reason."""
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(url, timeout=timeout_s) as answer:
            return answer.read().decode(), ""
    except (OSError, ValueError) as error:
        return None, f"{url}: {error}"


def read_answer(text: str | None) -> dict[str, Any]:
    """Read an object; whatever is none is empty."""
    try:
        document = json.loads(text or "{}")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def find_wrong_server(endpoint: Mapping[str, Any]) -> Outcome | None:
    """Make sure that the wanted model answers, before anything is measured on another one."""
    text, reason = ask(f"{endpoint['url']}/v1/models")
    if text is None:
        return failed("server_not_ready", reason)
    served = [str(model.get("id")) for model in read_answer(text).get("data") or []]
    if endpoint["served_name"] in served:
        return None
    told = ", ".join(served) or "no model"
    return failed("wrong_server", f"{endpoint['url']} serves {told}, wanted {endpoint['served_name']}")
