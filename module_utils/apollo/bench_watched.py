"""What the watch on the server saw during a load: the highest value of each gauge."""

from __future__ import annotations

import json
from typing import Any

# The watch's name of a gauge, and our figure for its highest value.
GAUGES = {
    "running": "requests_running_max",
    "waiting": "requests_waiting_max",
    "kv_cache_usage": "kv_cache_usage_max",
}
NAMES = {
    "running": "vllm:num_requests_running",
    "waiting": "vllm:num_requests_waiting",
    "kv_cache_usage": "vllm:kv_cache_usage_perc",
}


def read_watch(text: str) -> list[dict[str, Any]]:
    """All whole lines of the watch's file."""
    seen = []
    for line in filter(None, text.splitlines()):
        try:
            seen.append(json.loads(line))
        except ValueError:
            continue
    return seen


def highest(seen: list[dict[str, Any]]) -> dict[str, float | None]:
    """The figures; a gauge that the server does not have is None."""
    return {ours: max((look[name] for look in seen if name in look), default=None) for name, ours in GAUGES.items()}


def missing(seen: list[dict[str, Any]]) -> list[str]:
    """The gauges that no look found, by the server's names."""
    return [NAMES[name] for name in GAUGES if not any(name in look for look in seen)]
