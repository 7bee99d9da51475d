"""What the whole cluster does, joined from what each node told: replicas over their ranks, and their plans."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

Nodes = Mapping[str, Mapping[str, Any]]


def overview(nodes: Nodes) -> dict[str, Any]:
    """Give plan, last good plan, the one before it and the replicas; a node that told nothing is an empty mapping."""
    heard = [node for node in nodes.values() if node]
    return {
        "plan": _first(heard, "plan"),
        "last_good_plan": _first(heard, "last_good_plan"),
        "plan_before": _first(heard, "plan_before"),
        "replicas": [_replica(name, nodes) for name in sorted(_names(nodes))],
        "silent_nodes": [name for name, node in nodes.items() if not node],
    }


def _first(nodes: list[Mapping[str, Any]], key: str) -> str:
    return next((str(node[key]) for node in nodes if node.get(key)), "")


def _names(nodes: Nodes) -> set[str]:
    return {engine["name"] for node in nodes.values() for engine in node.get("engines", [])}


def _replica(name: str, nodes: Nodes) -> dict[str, Any]:
    """A replica is ready when its keeper says so and its endpoint has just answered."""
    ranks = [
        {**engine, "node": node, "since": _told_time(engine.get("since"))}
        for node, told in nodes.items()
        for engine in told.get("engines", [])
        if engine["name"] == name
    ]
    ranks.sort(key=lambda rank: int(rank["rank"]))
    head = next((rank for rank in ranks if rank["rank"] == 0), None)
    endpoints = [point for told in nodes.values() for point in told.get("endpoints", []) if point["name"] == name]
    answered = bool(endpoints) and bool(endpoints[0].get("ready"))
    kept = head or {"phase": "without its head", "since": None, "restarts": None, "reason": "", "waits_for": ""}
    return {
        "name": name,
        "served_name": endpoints[0]["served_name"] if endpoints else "",
        "url": endpoints[0]["url"] if endpoints else "",
        "ready": bool(head and head["ready"]) and answered,
        "answers": answered,
        **{key: kept.get(key) for key in ("phase", "since", "restarts", "reason", "waits_for", "load_s", "outage_s")},
        "ranks": ranks,
    }


def _told_time(seconds: float | None) -> str | None:
    """Write a time as people and programs read it, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else None
