"""A plan resolved to engines on nodes."""

from typing import Any

import pytest
from ansible.module_utils.apollo.arguments import render
from ansible.module_utils.apollo.layout import Node, Site, resolve_plan, site_of
from ansible.module_utils.apollo.topology import GpuPlace

NODES = [Node(f"n{i}", f"10.0.0.{i}", "ib0", "mlx5_0") for i in range(4)]


def catalog(**plans: list[dict[str, Any]]) -> dict[str, Any]:
    gateway = {"cap_per_endpoint": 2, "queue_limit": 1, "queue_timeout_s": 5}
    models = ("small", "large")
    variants: dict[str, dict[str, Any]] = {
        "small-base": {"model": "small", "parallelism": "tensor", "arguments": {"dtype": "bfloat16"}},
        "large-base": {"model": "large", "parallelism": "tensor", "arguments": {"no-async-scheduling": True}},
        "large-async": {
            "extends": "large-base",
            "model": "large",
            "parallelism": "tensor",
            "arguments": {"no-async-scheduling": None, "async-scheduling": True},
        },
        "large-pp": {"extends": "large-base", "model": "large", "parallelism": "pipeline-over-nodes"},
        "ring-a": {"extends": "ring-b", "model": "large", "parallelism": "tensor"},
        "ring-b": {"extends": "ring-a", "model": "large", "parallelism": "tensor"},
    }
    return {
        "models": {name: {"name": name, "served_name": name, "directory": name.title()} for name in models},
        "variants": {name: {"name": name, **entry} for name, entry in variants.items()},
        "plans": {name: {"name": name, "replicas": entries, "gateway": gateway} for name, entries in plans.items()},
    }


def small(*nodes: int | str, **more: Any) -> dict[str, Any]:
    return {"model": "small", "variant": "small-base", "nodes": list(nodes), **more}


def large(*nodes: int, variant: str = "large-base", **more: Any) -> dict[str, Any]:
    return {"model": "large", "variant": variant, "nodes": list(nodes), **more}


def resolve(replicas: list[dict[str, Any]], site: Site | None = None) -> dict[str, Any]:
    return resolve_plan("p", catalog(p=replicas), NODES, site or Site())


def value_of(arguments: list[str], flag: str) -> str:
    return arguments[arguments.index(flag) + 1]


def test_two_endpoints_listen_on_their_own_fabric_address() -> None:
    layout = resolve([small(0), small(1)])
    assert [e["url"] for e in layout["endpoints"]] == ["http://10.0.0.0:8000", "http://10.0.0.1:8000"]
    assert all("--nnodes" not in engine["arguments"] for engine in layout["engines"])


def test_tensor_parallel_spans_all_gpus_of_both_nodes() -> None:
    head, worker = resolve([large(0, 1)])["engines"]
    assert value_of(head["arguments"], "--tensor-parallel-size") == "8"
    assert value_of(worker["arguments"], "--node-rank") == "1"
    assert value_of(worker["arguments"], "--master-addr") == "10.0.0.0"
    assert "--headless" in worker["arguments"]
    assert "--headless" not in head["arguments"]
    assert worker["port"] is None
    assert "--port" not in worker["arguments"]


def test_pipeline_puts_one_stage_on_each_node() -> None:
    head = resolve([large(0, 1, variant="large-pp")])["engines"][0]
    assert value_of(head["arguments"], "--tensor-parallel-size") == "4"
    assert value_of(head["arguments"], "--pipeline-parallel-size") == "2"


def test_a_variant_drops_what_it_sets_to_null() -> None:
    arguments = resolve([large(0, 1, variant="large-async")])["engines"][0]["arguments"]
    assert "--async-scheduling" in arguments
    assert "--no-async-scheduling" not in arguments


def test_named_gpus_share_a_node_on_ports_of_their_own() -> None:
    layout = resolve([small(0, gpus=[0, 1]), small(0, gpus=[2, 3])])
    assert [e["port"] for e in layout["endpoints"]] == [8000, 8001]
    assert layout["ports"]["n0"] == [8000, 8001]
    assert [engine["all_gpus"] for engine in layout["engines"]] == [False, False]
    assert value_of(layout["engines"][1]["arguments"], "--tensor-parallel-size") == "2"


def test_fabric_environment_only_where_a_replica_spans_nodes() -> None:
    spanning, single = resolve([large(0, 1), small(2)])["engines"][0::2]
    assert spanning["environment"]["NCCL_IB_HCA"] == "=mlx5_0"
    assert "NCCL_SOCKET_IFNAME" not in single["environment"]


def test_site_overlay_wins_and_can_remove() -> None:
    site = Site(ranks_per_node=1, arguments={"dtype": None, "enforce-eager": True}, environment={"OMP_NUM_THREADS": 1})
    engine = resolve([small(0)], site)["engines"][0]
    assert "--dtype" not in engine["arguments"]
    assert "--enforce-eager" in engine["arguments"]
    assert engine["environment"]["OMP_NUM_THREADS"] == "1"
    assert value_of(engine["arguments"], "--tensor-parallel-size") == "1"


def test_two_chassis_carry_a_mixed_plan_on_separate_rendezvous_ports() -> None:
    layout = resolve([large(0, 1), large(2, 3)])
    assert [e["master_port"] for e in layout["engines"]] == [29501, 29501, 29502, 29502]


def test_models_name_every_node_that_needs_them_once() -> None:
    assert [m["nodes"] for m in resolve([small(0), small(1)])["models"]] == [["n0", "n1"]]


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        ([small(4)], "wants node number 4, but there are 4"),
        ([small("n9")], "node 'n9' is not known: choose one of n0"),
        ([small(0, gpus=[4])], "wants GPU 4, but a node has GPUs 0 to 3"),
        ([small(0), small(0)], "GPU 0 of n0 is given to replica 0 and to replica 1"),
        ([large(0, 0)], "names a node twice"),
        ([{"model": "small", "variant": "large-base", "nodes": [0]}], "is for model 'large', not 'small'"),
        ([{"model": "small", "variant": "smal-base", "nodes": [0]}], "did you mean 'small-base'"),
        ([large(0, 1, variant="ring-a")], "extends itself"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_in_one_line(replicas: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        resolve(replicas)
    assert "\n" not in str(error.value)


def test_unknown_site_option_is_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'first_port'"):
        site_of({"firstport": 1})


def test_resolving_grows_with_the_plan_not_faster() -> None:
    nodes = [Node(f"n{i}", f"10.0.{i // 250}.{i % 250}", "ib0") for i in range(64)]
    layout = resolve_plan("p", catalog(p=[small(i) for i in range(64)]), nodes, Site())
    assert len(layout["engines"]) == 64


def test_an_engine_over_two_nodes_says_how_its_nodes_talk() -> None:
    engine = resolve([large(0, 1)])["engines"][0]
    assert engine["log"] == {"must": ["NET/IB"], "must_not": ["NET/Socket"]}
    assert engine["environment"]["NCCL_DEBUG_SUBSYS"] == "INIT,NET"
    assert resolve([small(0)])["engines"][0]["log"] == {"must": [], "must_not": []}


def test_the_settings_are_the_arguments_by_name() -> None:
    engine = resolve([large(0, 1)])["engines"][0]
    assert engine["settings"]["tensor-parallel-size"] == 8
    assert engine["arguments"][1:] == render(engine["settings"])


def test_each_model_has_a_pool_with_its_own_cap() -> None:
    layout = resolve([large(0, 1, cap=5), small(2), small(3)])
    pools = {pool["served_name"]: (pool["endpoints"], pool["cap"]) for pool in layout["gateway"]["pools"]}
    assert pools == {"large": (["vllm-p-0"], 5), "small": (["vllm-p-1", "vllm-p-2"], 4)}
    assert [endpoint["cap"] for endpoint in layout["endpoints"]] == [5, 2, 2]


@pytest.mark.parametrize("flag", ["tensor-parallel-size", "nnodes", "port"])
def test_what_follows_from_the_placement_is_not_stated(flag: str) -> None:
    with pytest.raises(ValueError, match=f"states {flag}, which follows from the plan's nodes and GPUs"):
        resolve([small(0, arguments={flag: 3})])


def test_what_is_known_to_break_is_refused_by_name_before_anything_is_placed() -> None:
    broken = {"enable-expert-parallel": True, "max-num-seqs": 64}
    with pytest.raises(ValueError, match="variant 'small-base': expert-parallel-above-limit: "):
        resolve([small(0, arguments=broken)])


def test_a_variant_can_accept_a_known_risk() -> None:
    known = catalog(p=[small(0, arguments={"enable-expert-parallel": True, "max-num-seqs": 64})])
    known["variants"]["small-base"]["accepts"] = ["expert-parallel-above-limit"]
    engine = resolve_plan("p", known, NODES, Site())["engines"][0]
    assert engine["accepts"] == ["expert-parallel-above-limit"]


def test_a_risk_that_nobody_knows_cannot_be_accepted() -> None:
    known = catalog(p=[small(0)])
    known["variants"]["small-base"]["accepts"] = ["humming-mo"]
    with pytest.raises(
        ValueError, match=r"variant 'small-base': accepted risk 'humming-mo' .*did you mean 'humming-moe'"
    ):
        resolve_plan("p", known, NODES, Site())


def test_a_part_of_a_node_gets_the_cpus_next_to_its_gpus() -> None:
    places = tuple(GpuPlace(numa, ((8 * numa, 8 * numa + 1), (8 * numa + 2, 8 * numa + 3))) for numa in (0, 0, 1, 1))
    nodes = [Node("n0", "10.0.0.0", "ib0", gpus=places)]
    plan = catalog(p=[small(0, gpus=[0]), small(0, gpus=[1]), small(0, gpus=[2, 3])])
    engines = resolve_plan("p", plan, nodes, Site())["engines"]
    assert [(e["cpus"], e["memory_nodes"]) for e in engines] == [("0-1", "0"), ("2-3", "0"), ("8-11", "1")]
    free = resolve_plan("p", plan, nodes, Site(pin_cpus=False))["engines"]
    assert {engine["cpus"] for engine in free} == {""}


def test_an_engine_with_a_whole_node_is_not_pinned() -> None:
    nodes = [Node("n0", "10.0.0.0", "ib0", gpus=(GpuPlace(0, ((0, 1),)),) * 4)]
    assert resolve_plan("p", catalog(p=[small(0)]), nodes, Site())["engines"][0]["cpus"] == ""
