"""Plans of the catalog, resolved for a chassis of two nodes as site.yml would do it."""

from __future__ import annotations

from functools import cache
from typing import Any

from ansible.module_utils.apollo import layout as core

from tests.contract import house

CHASSIS = [
    core.Node(name="node1", address="10.77.0.1", interface="ibp65s0", hca="mlx5_0"),
    core.Node(name="node2", address="10.77.0.2", interface="ibp65s0", hca="mlx5_0"),
]


@cache
def catalog() -> dict[str, dict[str, Any]]:
    kinds = ("models", "variants", "plans")
    return {
        kind: {path.stem: house.plain_yaml(path.read_text()) for path in house.under(f"catalog/{kind}", suffix=".yml")}
        for kind in kinds
    }


@cache
def resolve(plan: str) -> dict[str, Any]:
    return core.resolve_plan(plan, catalog(), CHASSIS, core.Site())
