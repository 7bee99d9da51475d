"""Replicas as status shows them: joined over their nodes."""

from __future__ import annotations

from typing import Any

from ansible.module_utils.apollo.overview import overview

POINT = {"name": "vllm-big-0", "served_name": "big", "url": "http://10.0.0.1:8000", "ready": True}


def engine(rank: int, **changed: Any) -> dict[str, Any]:
    return {"name": "vllm-big-0", "rank": rank, "phase": "ready", "ready": True, "since": 0.0, "restarts": 1, **changed}


def node(*engines: dict[str, Any], endpoints: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    told = {"plan": "big", "last_good_plan": "big", "plan_before": "small"}
    return {**told, "engines": list(engines), "endpoints": list(endpoints)}


def test_ranks_of_all_nodes_make_one_replica() -> None:
    told = overview({"b": node(engine(1)), "a": node(engine(0, since=60.0), endpoints=(POINT,))})
    [replica] = told["replicas"]
    assert [(rank["rank"], rank["node"]) for rank in replica["ranks"]] == [(0, "a"), (1, "b")]
    assert (replica["ready"], replica["since"], replica["restarts"]) == (True, "1970-01-01T00:01:00Z", 1)
    assert (told["plan"], told["last_good_plan"], told["plan_before"]) == ("big", "big", "small")


def test_keeper_alone_does_not_make_a_replica_ready() -> None:
    silent = {**POINT, "ready": False}
    [replica] = overview({"a": node(engine(0), endpoints=(silent,))})["replicas"]
    assert (replica["ready"], replica["phase"]) == (False, "ready")


def test_replica_whose_head_is_silent_is_not_ready() -> None:
    told = overview({"a": {}, "b": node(engine(1))})
    [replica] = told["replicas"]
    assert (replica["ready"], replica["phase"], replica["restarts"]) == (False, "without its head", None)
    assert told["silent_nodes"] == ["a"]


def test_cluster_that_serves_nothing_has_no_replica() -> None:
    assert overview({"a": {**node(), "plan": ""}})["replicas"] == []
