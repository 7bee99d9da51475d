"""What an engine answers over HTTP."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.apollo.bench_run import Outcome, failed
from ansible.module_utils.apollo.direct_page import ask


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
