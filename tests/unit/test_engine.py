"""Engines of a plan on one node: their containers, and whether what runs is what is wanted."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.module_utils.apollo import engine

CONTAINER = {
    "image": "engine:1",
    "gpu_arguments": ["--runtime=nvidia", "--env=NVIDIA_VISIBLE_DEVICES={gpus}"],
    "ulimits": ["memlock=-1"],
    "devices": ["/dev/infiniband"],
    "volumes": ["/models:/models:ro"],
    "stop_timeout_s": 90,
}


def rank(number: int, node: str, **changed: Any) -> dict[str, Any]:
    return {
        "name": "vllm-big-0",
        "replica": 0,
        "rank": number,
        "ranks": 2,
        "node": node,
        "address": f"10.0.0.{number}",
        "master_port": 29501,
        "served_name": "big",
        "port": 8000 if number == 0 else None,
        "log": {"must": [], "must_not": []},
        "gpus": [0, 1, 2, 3],
        "all_gpus": True,
        "arguments": ["/models/Big", "--node-rank", str(number)],
        "environment": {"VLLM_HOST_IP": f"10.0.0.{number}"},
        **changed,
    }


def layout(*engines: dict[str, Any]) -> dict[str, Any]:
    return {"plan": "big", "engines": list(engines), "endpoints": [{"replica": 0, "url": "http://10.0.0.0:8000"}]}


def unit(node: str = "a", container: dict[str, Any] | None = None, **changed: Any) -> dict[str, Any]:
    both = layout(rank(0, "a", **changed), rank(1, "b", **changed))
    return engine.engine_units(both, node, container or CONTAINER)[0]


def running(**container: Any) -> engine.Running:
    wanted = unit()
    found = {"id": "c", "image_id": "sha256:1", "running": True, "revision": wanted["revision"], **container}
    return engine.Running({wanted["name"]: {"ActiveState": "active"}}, {wanted["name"]: found}, "sha256:1")


def test_node_gets_its_own_rank_and_the_address_of_the_head() -> None:
    assert (unit("a")["rank"], unit("b")["rank"]) == (0, 1)
    assert unit("b")["url"] == "http://10.0.0.0:8000"
    assert engine.engine_units(layout(rank(0, "a")), "c", CONTAINER) == []


def test_ranks_of_one_life_know_each_other() -> None:
    head, worker = unit("a"), unit("b")
    assert head["life"] == worker["life"]
    assert head["keeper_port"] == worker["keeper_port"] == 28501
    assert head["members"] == [
        {"rank": 0, "node": "a", "address": "10.0.0.0"},
        {"rank": 1, "node": "b", "address": "10.0.0.1"},
    ]


def test_change_of_one_rank_is_another_life_for_all() -> None:
    changed = layout(rank(0, "a"), rank(1, "b", environment={"A": "1"}))
    other = engine.engine_units(changed, "a", CONTAINER)[0]
    assert other["revision"] == unit("a")["revision"]
    assert other["life"] != unit("a")["life"]


def test_engine_of_one_node_needs_no_port_for_keepers() -> None:
    alone = engine.engine_units(layout(rank(0, "a", master_port=None)), "a", CONTAINER)[0]
    assert alone["keeper_port"] is None


def test_keeper_is_told_no_secret() -> None:
    told = engine.keeper_specification(unit(environment={"HF_TOKEN": "secret"}), {"stop_timeout_s": 90})
    assert "secret" not in str(told)
    assert (told["stop_timeout_s"], told["argv"]) == (90, unit(environment={"HF_TOKEN": "secret"})["argv"])


def test_keeper_says_what_phase_an_active_unit_is_in() -> None:
    keepers = {"vllm-big-0": {"phase": "ready", "ready": True, "ends": 2, "since": 5.0, "waits_for": "x"}}
    told = engine.told(
        "vllm-big-0", engine.Running({"vllm-big-0": {"ActiveState": "active", "NRestarts": "1"}}, {}, "", keepers)
    )
    assert (told["phase"], told["ready"], told["restarts"], told["since"]) == ("ready", True, 3, 5.0)
    ended = engine.told("vllm-big-0", engine.Running({"vllm-big-0": {"ActiveState": "failed"}}, {}, "", keepers))
    assert (ended["phase"], ended["ready"], ended["waits_for"]) == ("failed", False, "")


def test_command_ends_with_image_and_engine_arguments() -> None:
    assert unit("b")["argv"][-4:] == ["engine:1", "/models/Big", "--node-rank", "1"]


def test_command_carries_all_that_a_container_needs() -> None:
    wanted = {
        "--name=vllm-big-0",
        "--init",
        "--network=host",
        "--ipc=private",
        "--shm-size=16g",
        "--cap-add=IPC_LOCK",
        "--stop-timeout=90",
        "--env-file=/etc/apollo/engines/vllm-big-0.env",
        "--ulimit=memlock=-1",
        "--device=/dev/infiniband",
        "--volume=/models:/models:ro",
    }
    assert wanted <= set(unit()["argv"])


def test_environment_is_never_in_the_command() -> None:
    assert not [word for word in unit(environment={"HF_TOKEN": "secret"})["argv"] if "secret" in word]


def test_host_processes_stay_out_of_sight() -> None:
    assert not [word for word in unit()["argv"] if word.startswith(("--pid", "--privileged", "--restart"))]


def test_whole_node_takes_all_gpus_and_a_part_is_named() -> None:
    assert "--env=NVIDIA_VISIBLE_DEVICES=all" in unit()["argv"]
    assert "--env=NVIDIA_VISIBLE_DEVICES=1,3" in unit(gpus=[1, 3], all_gpus=False)["argv"]


def test_part_of_a_node_stays_next_to_its_gpus() -> None:
    argv = unit(gpus=[0], all_gpus=False, cpus="0-15,64-79", memory_nodes="0")["argv"]
    assert "--cpuset-cpus=0-15,64-79" in argv
    assert "--cpuset-mems=0" in argv
    assert not [word for word in unit(cpus="", memory_nodes="")["argv"] if word.startswith("--cpuset")]


def test_site_without_limits_and_devices_gets_none() -> None:
    bare = unit(container={**CONTAINER, "ulimits": [], "devices": []})
    assert not [word for word in bare["argv"] if word.startswith(("--ulimit", "--device"))]


@pytest.mark.parametrize(
    "changed", [{"arguments": ["/models/Big", "--x"]}, {"environment": {"A": "1"}}, {"gpus": [0], "all_gpus": False}]
)
def test_revision_follows_command_and_environment(changed: dict[str, Any]) -> None:
    assert unit()["revision"] == unit()["revision"]
    assert unit()["revision"] != unit(**changed)["revision"]


def test_revision_follows_the_image() -> None:
    assert unit()["revision"] != unit(container={**CONTAINER, "image": "engine:2"})["revision"]


def test_line_break_in_the_environment_is_refused() -> None:
    with pytest.raises(ValueError, match="vllm-big-0: environment variable A holds a line break"):
        unit(environment={"A": "1\n2"})


def test_engine_that_runs_as_wanted_is_not_stale() -> None:
    assert engine.stale([unit()], running()) == []


@pytest.mark.parametrize("found", [{"running": False}, {"revision": "older"}, {"image_id": "sha256:2"}])
def test_container_that_differs_is_stale(found: dict[str, Any]) -> None:
    assert engine.stale([unit()], running(**found)) == ["vllm-big-0"]


def test_unit_that_is_not_active_is_stale() -> None:
    ended = engine.Running({"vllm-big-0": {"ActiveState": "failed"}}, running().containers, "sha256:1")
    assert engine.stale([unit()], ended) == ["vllm-big-0"]
    assert engine.stale([unit()], engine.Running({}, {})) == ["vllm-big-0"]


def test_unit_of_another_plan_is_unwanted() -> None:
    others = engine.Running({"vllm-small-0": {}, "vllm-big-0": {}}, {})
    assert engine.unwanted([unit()], others) == ["vllm-small-0"]


def test_log_without_the_promised_line_is_a_fault() -> None:
    [fault] = engine.log_faults("e", "one\ntwo", ["MARLIN"], [])
    assert fault == "e: its log shows no line like 'MARLIN', which this variant must show"


def test_log_with_a_forbidden_line_shows_that_line() -> None:
    [fault] = engine.log_faults("e", "one\n [0] via NET/Socket/0 \ntwo", [], ["NET/Socket"])
    assert "its log shows '[0] via NET/Socket/0'" in fault


def test_log_that_keeps_its_promises_has_no_fault() -> None:
    assert engine.log_faults("e", "Using 'MARLIN' backend", ["MARLIN"], ["NET/Socket"]) == []


def test_units_are_read_block_by_block() -> None:
    shown = "Id=vllm-a-0.service\nActiveState=active\n\nId=vllm-b-0.service\nActiveState=failed\n"
    assert {name: block["ActiveState"] for name, block in engine.parse_units(shown).items()} == {
        "vllm-a-0": "active",
        "vllm-b-0": "failed",
    }


def test_containers_are_read_with_their_labels() -> None:
    entry = {
        "Name": "/vllm-a-0",
        "Id": "c1",
        "Image": "sha256:1",
        "State": {"Running": True, "StartedAt": "now"},
        "Config": {"Labels": {"apollo.revision": "r", "apollo.plan": "a"}},
    }
    found = engine.parse_containers(json.dumps([entry, {**entry, "Name": "/x", "Config": {"Labels": None}}]))
    assert (found["vllm-a-0"]["revision"], found["vllm-a-0"]["plan"], found["x"]["revision"]) == ("r", "a", "")
    assert engine.parse_containers("") == {}


def test_unit_file_states_plan_and_rank() -> None:
    assert engine.parse_unit_file("[X-Apollo]\nPlan=big\nRank=1\n") == {"plan": "big", "rank": 1}
    assert engine.parse_unit_file("[Unit]\n") == {"plan": "", "rank": 0}


def test_archive_of_either_layout_gives_the_ids_of_its_image() -> None:
    old = json.dumps([{"Config": "abc.json"}])
    new = json.dumps([{"Config": "blobs/sha256/abc"}])
    index = json.dumps({"manifests": [{"digest": "sha256:def"}]})
    assert engine.archive_image_ids(old) == {"sha256:abc"}
    assert engine.archive_image_ids(new, index) == {"sha256:abc", "sha256:def"}
