"""Plans of the catalog, resolved for a chassis of two nodes as site.yml would do it."""

from __future__ import annotations

from functools import cache
from typing import Any

from ansible.module_utils.apollo import layout as core

from tests.contract import house

LARGER = house.PROJECT / "tests" / "data" / "catalog-chassis" / "plans"


def nodes(count: int) -> list[core.Node]:
    return [
        core.Node(name=f"node{number}", address=f"10.77.0.{number}", interface="ibp65s0", hca="mlx5_0")
        for number in range(1, count + 1)
    ]


CHASSIS = nodes(2)


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


@cache
def spread(variant: str, count: int) -> dict[str, Any]:
    """A variant as one engine over this many whole nodes."""
    entry = {"model": catalog()["variants"][variant]["model"], "variant": variant, "nodes": list(range(count))}
    gateway = {"cap_per_endpoint": 1, "queue_limit": 0, "queue_timeout_s": 1}
    plan = {"name": f"{variant} on {count} nodes", "replicas": [entry], "gateway": gateway}
    return core.resolve_plan("p", {**catalog(), "plans": {"p": plan}}, nodes(count), core.Site())


@cache
def larger(plan: str, count: int) -> dict[str, Any]:
    """A plan for more than one chassis, on this many nodes."""
    own = {path.stem: house.plain_yaml(path.read_text()) for path in LARGER.glob("*.yml")}
    return core.resolve_plan(plan, {**catalog(), "plans": own}, nodes(count), core.Site())
