"""What a search found, as entries of a catalog of the site's own, which replace those of the same name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.apollo.catalog import Catalog, find

TUNED = "-tuned"

Overlay = dict[str, dict[str, dict[str, Any]]]


def overlay(
    catalog: Catalog, winner: Mapping[str, Any] | None, arguments: Mapping[str, Any], let_in: Mapping[str, Any] | None
) -> Overlay:
    """The winner's plan with its variant tuned and its gateway's limits; nothing where nobody can be let in."""
    if not catalog or not winner or not let_in or not let_in.get("cap_per_endpoint"):
        return {}
    plan = find(catalog, "plans", winner["plan"])
    names = list(dict.fromkeys(replica["variant"] for replica in plan["replicas"]))
    told = {**arguments, "max-num-seqs": let_in["max_num_seqs"]}
    variants = {tuned_name(name): _variant(catalog, name, told) for name in names}
    return {"plans": {plan["name"]: _plan(plan, let_in)}, "variants": variants}


def tuned_name(variant: str) -> str:
    return variant if variant.endswith(TUNED) else f"{variant}{TUNED}"


def _variant(catalog: Catalog, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """On top of the variant, or in the place of one that was tuned before."""
    entry = find(catalog, "variants", name)
    kept = {key: entry[key] for key in ("model", "parallelism")}
    base = entry["extends"] if name.endswith(TUNED) else name
    told = {**(entry.get("arguments") or {}), **arguments} if name.endswith(TUNED) else dict(arguments)
    summary = f"{base} as a search of this site found it best"
    return {
        "name": tuned_name(name),
        "extends": base,
        "summary": summary,
        "measured": "nowhere",
        **kept,
        "arguments": told,
    }


def _plan(plan: Mapping[str, Any], let_in: Mapping[str, Any]) -> dict[str, Any]:
    replicas = [{**replica, "variant": tuned_name(replica["variant"])} for replica in plan["replicas"]]
    queue = let_in.get("queue_limit")
    limits = {"cap_per_endpoint": let_in["cap_per_endpoint"], **({} if queue is None else {"queue_limit": queue})}
    return {**plan, "measured": "nowhere", "replicas": replicas, "gateway": {**plan["gateway"], **limits}}
