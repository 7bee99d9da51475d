"""From a plan and the nodes to engines: who serves what, where, with which arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ansible.module_utils.apollo.arguments import merge, render
from ansible.module_utils.apollo.catalog import Catalog, find, find_variant
from ansible.module_utils.apollo.conflicts import NAMES, Case, conflicts
from ansible.module_utils.apollo.names import unknown_name
from ansible.module_utils.apollo.serving import Serving
from ansible.module_utils.apollo.topology import GpuPlace, pinning

# What follows from the placement; a variant or a plan that states it would contradict it.
PLACED = (
    "data-parallel-size",
    "headless",
    "host",
    "master-addr",
    "master-port",
    "nnodes",
    "node-rank",
    "pipeline-parallel-size",
    "port",
    "served-model-name",
    "tensor-parallel-size",
)
# An engine over several nodes says how its nodes talk, so that a silent fallback to Ethernet is seen.
FABRIC_ENVIRONMENT = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,NET", "NCCL_IB_DISABLE": "0"}
FABRIC_LOG = {"must": ["NET/IB"], "must_not": ["NET/Socket"]}


@dataclass(frozen=True)
class Node:
    """A node as the plan sees it. ``address`` is the one on the fabric, without prefix length."""

    name: str
    address: str
    interface: str
    hca: str | None = None
    gpus: tuple[GpuPlace, ...] = ()


@dataclass(frozen=True)
class Site:
    """What this site adds to every engine: ranks and GPUs per node, paths, ports, overlays."""

    gpus_per_node: int = 4
    ranks_per_node: int | None = None
    model_path: str = "/models"
    first_port: int = 8000
    first_master_port: int = 29501
    arguments: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    log: Mapping[str, Any] | None = None
    pin_cpus: bool = True


@dataclass(frozen=True)
class Replica:
    """One replica of the plan with its names resolved."""

    index: int
    name: str
    model: Mapping[str, Any]
    variant: Mapping[str, Any]
    nodes: tuple[Node, ...]
    gpus: tuple[int, ...]
    all_gpus: bool
    arguments: Mapping[str, Any]
    port: int
    cap: int


def resolve_plan(name: str, catalog: Catalog, nodes: Sequence[Node], site: Site) -> dict[str, Any]:
    """Resolve the plan ``name`` to its layout: engines, endpoints, models, gateway and ports.

    Raises ValueError, one line each, for unknown names, nodes or GPUs that are not there,
    GPUs given twice, a variant of another model, and combinations that are known to break.
    """
    plan = find(catalog, "plans", name)
    replicas = _replicas(plan, catalog, nodes, site)
    _refuse_shared_gpus(plan["name"], replicas)
    engines = [_engine(replica, rank, site) for replica in replicas for rank in range(len(replica.nodes))]
    _refuse_conflicts(plan["name"], engines)
    return {
        "plan": plan["name"],
        "engines": engines,
        "endpoints": [_endpoint(replica, site) for replica in replicas],
        "models": _models(replicas),
        "gateway": {**plan["gateway"], "pools": _pools(replicas)},
        "ports": _ports(engines, nodes),
    }


def _replicas(plan: Mapping[str, Any], catalog: Catalog, nodes: Sequence[Node], site: Site) -> list[Replica]:
    replicas: list[Replica] = []
    heads: dict[str, int] = {}
    by_name = {node.name: node for node in nodes}
    for index, entry in enumerate(plan["replicas"]):
        where = f"plan '{plan['name']}', replica {index}"
        placed = tuple(_node(where, wanted, nodes, by_name) for wanted in entry["nodes"])
        if len({node.name for node in placed}) != len(placed):
            raise ValueError(f"{where}: names a node twice ({entry['nodes']}): name each node once")
        slot = heads.get(placed[0].name, 0)
        heads[placed[0].name] = slot + 1
        replicas.append(_replica(index, plan, catalog, placed, site, slot))
    return replicas


def _replica(
    index: int, plan: Mapping[str, Any], catalog: Catalog, placed: tuple[Node, ...], site: Site, slot: int
) -> Replica:
    entry, where = plan["replicas"][index], f"plan '{plan['name']}', replica {index}"
    gpus = _gpus(where, entry.get("gpus"), site)
    return Replica(
        index=index,
        name=f"vllm-{plan['name']}-{index}",
        model=find(catalog, "models", entry["model"]),
        variant=_variant(where, entry, catalog),
        nodes=placed,
        gpus=gpus,
        all_gpus=len(gpus) == site.gpus_per_node,
        arguments=_free_arguments(where, entry.get("arguments") or {}),
        port=site.first_port + slot,
        cap=int(entry.get("cap") or plan["gateway"]["cap_per_endpoint"]),
    )


def _node(where: str, wanted: int | str, nodes: Sequence[Node], by_name: Mapping[str, Node]) -> Node:
    if isinstance(wanted, str):
        if wanted not in by_name:
            raise ValueError(f"{where}: {unknown_name('node', wanted, by_name)}")
        return by_name[wanted]
    if wanted >= len(nodes):
        raise ValueError(
            f"{where}: wants node number {wanted}, but there are {len(nodes)} (counted from 0: "
            f"{', '.join(by_name) or 'none'}): add a node to the inventory or choose a smaller plan"
        )
    return nodes[wanted]


def _gpus(where: str, wanted: Sequence[int] | None, site: Site) -> tuple[int, ...]:
    present = tuple(range(site.gpus_per_node))
    if wanted is None:
        return present
    missing = sorted(set(wanted) - set(present))
    if missing:
        raise ValueError(f"{where}: wants GPU {missing[0]}, but a node has GPUs 0 to {present[-1]}: name those")
    return tuple(wanted)


def _variant(where: str, entry: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    variant = find_variant(catalog, entry["variant"])
    if variant["model"] != entry["model"]:
        raise ValueError(
            f"{where}: variant '{variant['name']}' is for model '{variant['model']}', "
            f"not '{entry['model']}': choose a variant of that model"
        )
    _free_arguments(f"variant '{variant['name']}'", variant["arguments"])
    for name in variant.get("accepts") or []:
        if name not in NAMES:
            raise ValueError(f"variant '{variant['name']}': {unknown_name('accepted risk', name, NAMES)}")
    return variant


def _free_arguments(where: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    placed = [flag for flag in arguments if flag in PLACED]
    if placed:
        raise ValueError(f"{where}: states {placed[0]}, which follows from the plan's nodes and GPUs: leave it out")
    return arguments


def _refuse_conflicts(plan: str, engines: Sequence[Mapping[str, Any]]) -> None:
    for engine in (engine for engine in engines if engine["rank"] == 0):
        case = Case(Serving(engine["settings"], engine["environment"]))
        for conflict in conflicts(case, engine["accepts"]):
            raise ValueError(f"plan '{plan}', replica {engine['replica']}, variant '{engine['variant']}': {conflict}")


def _refuse_shared_gpus(plan: str, replicas: Sequence[Replica]) -> None:
    owner: dict[tuple[str, int], int] = {}
    for replica in replicas:
        for gpu in ((node.name, gpu) for node in replica.nodes for gpu in replica.gpus):
            if gpu in owner:
                raise ValueError(
                    f"plan '{plan}': GPU {gpu[1]} of {gpu[0]} is given to replica {owner[gpu]} "
                    f"and to replica {replica.index}: give each GPU to one"
                )
            owner[gpu] = replica.index


def _engine(replica: Replica, rank: int, site: Site) -> dict[str, Any]:
    node, ranks = replica.nodes[rank], len(replica.nodes)
    settings = _settings(replica, rank, site)
    return {
        "name": replica.name,
        "replica": replica.index,
        "rank": rank,
        "ranks": ranks,
        "node": node.name,
        "model": replica.model["name"],
        "served_name": replica.model["served_name"],
        "variant": replica.variant["name"],
        "gpus": list(replica.gpus),
        "all_gpus": replica.all_gpus,
        "address": node.address,
        "port": replica.port if rank == 0 else None,
        "master_port": _master_port(replica, site) if ranks > 1 else None,
        "arguments": [_model_path(replica, site), *render(settings)],
        "settings": settings,
        "environment": _environment(replica, node, site),
        "accepts": list(replica.variant.get("accepts") or []),
        "log": _log(replica, site),
        **_pinned(replica, node, site),
    }


def _pinned(replica: Replica, node: Node, site: Site) -> dict[str, str]:
    """CPUs and memory nodes next to the engine's GPUs; empty where all GPUs are its own, or nothing is known."""
    if replica.all_gpus or not site.pin_cpus:
        return {"cpus": "", "memory_nodes": ""}
    return pinning(node.gpus, replica.gpus)


def _log(replica: Replica, site: Site) -> dict[str, list[str]]:
    """What the engine's log must and must not show: the variant's part, and the fabric's where it spans nodes."""
    if site.log is not None:
        return {rule: list(site.log.get(rule) or []) for rule in FABRIC_LOG}
    told = replica.variant.get("log") or {}
    fabric = FABRIC_LOG if len(replica.nodes) > 1 else {}
    return {rule: [*(told.get(rule) or []), *fabric.get(rule, [])] for rule in FABRIC_LOG}


def _settings(replica: Replica, rank: int, site: Site) -> dict[str, Any]:
    """All arguments of the engine by name; the command line is these, rendered."""
    return merge(
        {"served-model-name": replica.model["served_name"]},
        {"host": replica.nodes[0].address, "port": replica.port} if rank == 0 else {},
        _parallelism(replica, site),
        replica.variant["arguments"],
        replica.arguments,
        site.arguments,
        _span(replica, rank, site),
    )


def _parallelism(replica: Replica, site: Site) -> dict[str, int]:
    """Tensor parallel over all ranks of the replica, or inside a node with pipeline stages over the nodes."""
    per_node, nodes = site.ranks_per_node or len(replica.gpus), len(replica.nodes)
    if replica.variant["parallelism"] == "pipeline-over-nodes":
        return {"tensor-parallel-size": per_node, "pipeline-parallel-size": nodes}
    return {"tensor-parallel-size": per_node * nodes}


def _span(replica: Replica, rank: int, site: Site) -> dict[str, Any]:
    if len(replica.nodes) == 1:
        return {}
    return {
        "nnodes": len(replica.nodes),
        "node-rank": rank,
        "master-addr": replica.nodes[0].address,
        "master-port": _master_port(replica, site),
        "headless": rank > 0,
    }


def _master_port(replica: Replica, site: Site) -> int:
    return site.first_master_port + replica.index


def _environment(replica: Replica, node: Node, site: Site) -> dict[str, str]:
    fabric: dict[str, Any] = {}
    if len(replica.nodes) > 1:
        names = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "TP_SOCKET_IFNAME")
        fabric = {**FABRIC_ENVIRONMENT, **dict.fromkeys(names, node.interface)}
        fabric["NCCL_IB_HCA"] = f"={node.hca}" if node.hca else None
    merged = merge({"VLLM_HOST_IP": node.address}, fabric, replica.variant["environment"], site.environment)
    return {name: str(value) for name, value in merged.items()}


def _endpoint(replica: Replica, site: Site) -> dict[str, Any]:
    head = replica.nodes[0]
    return {
        "name": replica.name,
        "replica": replica.index,
        "node": head.name,
        "address": head.address,
        "port": replica.port,
        "url": f"http://{head.address}:{replica.port}",
        "served_name": replica.model["served_name"],
        "model": replica.model["name"],
        "variant": replica.variant["name"],
        "model_path": _model_path(replica, site),
        "cap": replica.cap,
    }


def _model_path(replica: Replica, site: Site) -> str:
    return f"{site.model_path.rstrip('/')}/{replica.model['directory']}"


def _models(replicas: Sequence[Replica]) -> list[dict[str, Any]]:
    models: dict[str, dict[str, Any]] = {}
    for replica in replicas:
        model = models.setdefault(replica.model["name"], {**replica.model, "nodes": []})
        model["nodes"] += [node.name for node in replica.nodes if node.name not in model["nodes"]]
    return list(models.values())


def _pools(replicas: Sequence[Replica]) -> list[dict[str, Any]]:
    """The endpoints of each served model, and how many requests they may carry together."""
    pools: dict[str, dict[str, Any]] = {}
    for replica in replicas:
        name = replica.model["served_name"]
        pool = pools.setdefault(name, {"served_name": name, "endpoints": [], "cap": 0})
        pool["endpoints"].append(replica.name)
        pool["cap"] += replica.cap
    return list(pools.values())


def _ports(engines: Sequence[Mapping[str, Any]], nodes: Sequence[Node]) -> dict[str, list[int]]:
    """The ports that each node opens: those of the heads that it carries."""
    ports: dict[str, list[int]] = {node.name: [] for node in nodes}
    for engine in engines:
        if engine["rank"] == 0:
            ports[engine["node"]] += [port for port in (engine["port"], engine["master_port"]) if port]
    return {name: sorted(mine) for name, mine in ports.items()}


def site_of(options: Mapping[str, Any]) -> Site:
    """Make a Site of a mapping; a key that Site does not have raises ValueError."""
    known = asdict(Site())
    for key in options:
        if key not in known:
            raise ValueError(unknown_name("site option", key, known))
    return Site(**options)
