"""Plans for more than one chassis: who listens where, who is whose head, and the work that it takes."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from ansible.module_utils.apollo import engine as engine_core
from ansible.module_utils.apollo import layout as core

from tests.contract import layouts
from tests.support.playbook import run_playbook

IMAGE = {"image": "vllm/vllm-openai:v0.32.0"}
SIZES = [("mixed-4", 4), ("mixed-8", 8)]
every_size = pytest.mark.parametrize(("plan", "count"), SIZES)


@every_size
def test_ports_and_rendezvous_of_a_node_are_its_own(plan: str, count: int) -> None:
    layout = layouts.larger(plan, count)
    heads = [engine for engine in layout["engines"] if engine["rank"] == 0]
    bound = [(head["node"], port) for head in heads for port in (head["port"], head["master_port"]) if port]
    assert len(set(bound)) == len(bound)
    assert sorted(bound) == sorted((node, port) for node, ports in layout["ports"].items() for port in ports)


@every_size
def test_every_rank_meets_at_the_address_of_its_own_head(plan: str, count: int) -> None:
    layout = layouts.larger(plan, count)
    for engine in layout["engines"]:
        head = next(e for e in layout["engines"] if e["replica"] == engine["replica"] and e["rank"] == 0)
        assert engine["settings"].get("master-addr", head["address"]) == head["address"]
        assert engine["environment"]["VLLM_HOST_IP"] == engine["address"]
        assert ("headless" in engine["settings"]) is (engine["rank"] > 0)


@every_size
def test_no_node_is_idle_and_none_has_two_owners(plan: str, count: int) -> None:
    placed = [engine["node"] for engine in layouts.larger(plan, count)["engines"]]
    assert sorted(placed) == sorted(node.name for node in layouts.nodes(count))


@every_size
def test_the_gateway_knows_every_endpoint_by_its_model(plan: str, count: int) -> None:
    layout = layouts.larger(plan, count)
    pools = {pool["served_name"]: pool for pool in layout["gateway"]["pools"]}
    large, small = count // 4, count // 2
    assert {name: len(pool["endpoints"]) for name, pool in pools.items()} == {
        "qwen3.5-397b": large,
        "qwen3.6-27b": small,
    }
    assert {name: pool["cap"] for name, pool in pools.items()} == {
        "qwen3.5-397b": 40 * large,
        "qwen3.6-27b": 125 * small,
    }


@every_size
def test_a_chassis_too_few_is_refused_in_one_line(plan: str, count: int) -> None:
    with pytest.raises(ValueError, match=f"wants node number {count - 2}, but there are {count - 2}"):
        layouts.larger(plan, count - 2)


def steps(work: Callable[[], Any]) -> int:
    """How many lines a piece of work passes, loops included: the same on every machine, however busy it is."""
    count = 0

    def step(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def render(count: int) -> None:
    """Resolve one 27B endpoint on each node, and render the units of each."""
    replica = {"model": "qwen3.6-27b", "variant": "27b-base"}
    plan = {**layouts.catalog()["plans"]["27b"], "replicas": [{**replica, "nodes": [node]} for node in range(count)]}
    nodes = layouts.nodes(count)
    layout = core.resolve_plan("p", {**layouts.catalog(), "plans": {"p": plan}}, nodes, core.Site())
    for node in nodes:
        engine_core.engine_units(layout, node.name, IMAGE)


def test_the_work_of_rendering_grows_no_faster_than_the_nodes() -> None:
    render(2)  # reads the catalog, which is no part of the work
    few, many = (steps(partial(render, count)) / count for count in (8, 64))
    print(f"rendering: {few:.0f} steps for each of 8 nodes, {many:.0f} for each of 64")
    assert many <= few * 1.15  # each node looks through the list of engines for its own


def inventory(folder: Path, count: int) -> str:
    hosts = {
        node.name: {"fabric_interface": node.interface, "fabric_address": f"{node.address}/24"}
        for node in layouts.nodes(count)
    }
    every = {"apollo": {"hosts": hosts, "vars": {"plan_node_names": list(hosts), "ansible_connection": "local"}}}
    path = folder / f"hosts-{count}.json"
    path.write_text(json.dumps({"all": {"children": every}}))
    return str(path)


def play_seconds(folder: Path, plan: str, count: int) -> float:
    """Processor seconds of a check-mode run that resolves the plan on all nodes; waiting does not count."""
    variables = {"plan_name": plan, "plan_catalog_dirs": ["catalog", str(layouts.LARGER.parent)]}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = run_playbook(
        "tests/support/resolve.yml",
        "--check",
        f"--extra-vars={json.dumps(variables)}",
        inventory=inventory(folder, count),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run.code == 0, run.output
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_check_mode_run_grows_no_faster_than_the_nodes(tmp_path: Path) -> None:
    four, eight = (play_seconds(tmp_path, plan, count) for plan, count in SIZES)
    print(f"check mode: {four:.1f} s on 4 nodes, {eight:.1f} s on 8 nodes, of processor time")
    assert eight <= 2 * four
