"""What a run's energy means per token, and which of its faults spoil the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo.bench_terms_machine import ENERGY
from ansible.module_utils.apollo.energy import SPOILING

JOULES_PER_WH = 3600.0
JOULE_DIGITS = 3  # NVML counts millijoules: what is less than one of them is an error of the difference, not energy
NAMES = tuple(name for name, *_ in ENERGY)
CLOCK_OFFSET_LIMIT_S = 0.2
FAULTS = ("energy_window", "energy_gap", "energy_gpus", "energy_counter", "clock_step")

Node = Mapping[str, Any]
Figures = dict[str, float | None]


def figures(nodes: Sequence[Node], tokens: float | None) -> Figures:
    """All energy terms over these nodes; one node that was not measured leaves the sums unknown."""
    gross, idle = _sum(nodes, "energy_j"), _sum(nodes, "power_idle_w")
    parts = [(node.get("energy_j"), node.get("power_idle_w"), node["window_s"]) for node in nodes]
    known = bool(parts) and all(energy is not None and rest is not None for energy, rest, _ in parts)
    net = round(sum(energy - rest * length for energy, rest, length in parts), JOULE_DIGITS) + 0.0 if known else None
    return {
        "power_mean_w": _sum(nodes, "power_mean_w"),
        "power_peak_w": _sum(nodes, "power_peak_w"),
        "power_idle_w": idle,
        "host_power_mean_w": _sum(nodes, "host_power_mean_w"),
        "energy_gross_j": gross,
        "energy_net_j": net,
        **_per_token("gross", gross, tokens),
        **_per_token("net", net, tokens),
        "temperature_max_c": max(_known(nodes, "temperature_max_c"), default=None),
        "sm_clock_min_mhz": min(_known(nodes, "sm_clock_min_mhz"), default=None),
    }


def _per_token(kind: str, joules: float | None, tokens: float | None) -> Figures:
    each = joules / tokens if joules is not None and tokens else None
    return {
        f"joules_per_token_{kind}": each,
        f"wh_per_1k_tokens_{kind}": 1000 * each / JOULES_PER_WH if each is not None else None,
        f"tokens_per_kwh_{kind}": 1000 * JOULES_PER_WH / each if each is not None and each > 0 else None,
    }


def plan_figures(runs: Sequence[Mapping[str, Any]]) -> Figures:
    """The same over all endpoints. The power of a node that carries several of them counts once."""
    nodes, hosts = [], set()
    for node in (node for run in runs for node in run.get("energy") or []):
        seen = node.get("node") in hosts
        hosts.add(node.get("node"))
        nodes.append({**node, "host_power_mean_w": 0.0} if seen else node)
    tokens = [tokens_of(run["figures"]) for run in runs]
    known = [count for count in tokens if count is not None]
    whole = bool(runs) and all(run.get("energy") for run in runs) and len(known) == len(runs)
    return figures(nodes if whole else [], sum(known) if whole else None)


def with_energy(record: Mapping[str, Any], measured: Sequence[Node]) -> dict[str, Any]:
    """The record with its nodes' energy; a run whose energy window is broken or that was throttled does not count."""
    nodes = [dict(node) for node in measured if node.get("endpoint") == record["endpoint"]]
    throttled = sorted({reason for node in nodes for reason in node["throttle_reasons"]})
    added = {"energy": nodes, "throttle_reasons": throttled}
    if record["status"] == "failed":
        return {**record, **added}
    told = checks(nodes)
    reasons = [*record["reasons"], *(check["code"] for check in told if check["ok"] is False)]
    reasons = list(dict.fromkeys(reasons))
    found = record["figures"]
    measured_figures = figures(nodes, tokens_of(found))
    return {
        **record,
        **added,
        "status": "invalid" if reasons else record["status"],
        "reasons": reasons,
        "checks": [*record["checks"], *told],
        "figures": {**found, **measured_figures},
    }


def checks(nodes: Sequence[Node]) -> list[dict[str, Any]]:
    """One check per kind of fault; without any reading they could not be made."""
    seen = any(node["samples"] for node in nodes)
    broken = {fault for node in nodes for fault in node["faults"]}
    made = [
        {"code": code, "ok": code not in broken if seen or code in broken else None, "value": None, "limit": "none"}
        for code in FAULTS
        if code != "clock_step" or code in broken
    ]
    spoiling = [reason for node in nodes for reason in node["throttle_reasons"] if reason in SPOILING]
    throttled = {"code": "throttled", "ok": not spoiling if seen else None, "value": None, "limit": "none"}
    return [*made, throttled, clock_sync([node.get("clock_offset_s") for node in nodes])]


def clock_sync(offsets: Sequence[float | None]) -> dict[str, Any]:
    """Nodes that are added up must agree on the time; a node without a time source that we know is not checked."""
    known = [offset for offset in offsets if offset is not None]
    worst = max(known, default=None)
    ok = worst <= CLOCK_OFFSET_LIMIT_S if worst is not None else None
    return {"code": "clock_sync", "ok": ok, "value": worst, "limit": f"≤ {CLOCK_OFFSET_LIMIT_S}"}


def tokens_of(found: Mapping[str, float | None]) -> float | None:
    speed, duration = found.get("output_tok_s"), found.get("duration_s")
    return speed * duration if speed is not None and duration is not None else None


def _sum(nodes: Sequence[Node], name: str) -> float | None:
    known = _known(nodes, name)
    return sum(known) if nodes and len(known) == len(nodes) else None


def _known(nodes: Sequence[Node], name: str) -> list[float]:
    return [node[name] for node in nodes if node.get(name) is not None]


def run_windows(
    records: Sequence[Mapping[str, Any]], engines: Sequence[Mapping[str, Any]], node: str
) -> list[dict[str, Any]]:
    """What one node is to tell: for each endpoint with an engine here, its GPUs and when its load was."""
    times = {record["endpoint"]: (record["barrier_s"], record["load_ended_s"]) for record in records}
    windows = []
    for window in engine_windows(engines, node):
        start, end = times.get(window["endpoint"], (None, None))
        if start is not None and end is not None:
            windows.append({**window, "start_s": start, "end_s": end})
    return windows


def engine_windows(engines: Sequence[Mapping[str, Any]], node: str) -> list[dict[str, Any]]:
    """The GPUs of each engine on one node, by the endpoint that it works for."""
    mine = (engine for engine in engines if engine["node"] == node)
    return [{"endpoint": head_of(engine, engines), "gpus": engine["gpus"]} for engine in mine]


def head_of(engine: Mapping[str, Any], engines: Sequence[Mapping[str, Any]]) -> str:
    """The endpoint that an engine works for: rank 0 of its replica."""
    heads = (other["name"] for other in engines if other["replica"] == engine["replica"] and other["rank"] == 0)
    return str(next(heads))


def with_node_energy(records: Sequence[Mapping[str, Any]], told: Mapping[str, Sequence[Node]]) -> list[dict[str, Any]]:
    """Each record with what its nodes have told; told is by node."""
    nodes = [{"node": node, **entry} for node, entries in told.items() for entry in entries]
    return [with_energy(record, nodes) for record in records]
