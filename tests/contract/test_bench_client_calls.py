"""Wherever the bench role has its client run, it asks for the same one: another one would be started anew."""

from __future__ import annotations

from typing import Any

from tests.contract import house

WHAT_IT_IS = ("endpoints", "image", "program_path", "programs", "work_path", "volumes", "environment")


def calls() -> list[dict[str, Any]]:
    files = sorted(house.PROJECT.glob("roles/bench/tasks/*.yml"))
    tasks = [task for path in files for task in house.read_yaml(path) or []]
    found = [task["bench_client"] for task in tasks if "bench_client" in task]
    return [call for call in found if call.get("state") != "stopped"]


def test_every_task_asks_for_the_same_client() -> None:
    first, *others = ({name: call.get(name) for name in WHAT_IT_IS} for call in calls())
    assert None not in first.values()
    assert others
    assert all(other == first for other in others)
