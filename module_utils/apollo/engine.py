"""A plan's engines on one node: the container each runs in, and whether what runs is what is wanted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ENVIRONMENT_DIRECTORY = "/etc/apollo/engines"
REVISION_LABEL = "apollo.revision"
PLAN_LABEL = "apollo.plan"
UNIT_PREFIX = "vllm-"
# What a running engine must have been started by; another number restarts it.
KEEPER_VERSION = 2
# The keepers of a replica meet on the head's port so far below that of its rendezvous.
KEEPER_PORT_DISTANCE = 1000
SHARED_MEMORY = "16g"
UNIT_PROPERTIES = ("Id", "ActiveState", "SubState", "NRestarts", "ActiveEnterTimestamp")


@dataclass(frozen=True)
class Container:
    """What all engines' containers of a site have in common."""

    image: str
    gpu_arguments: tuple[str, ...] = ("--runtime=nvidia", "--env=NVIDIA_VISIBLE_DEVICES={gpus}")
    ulimits: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    stop_timeout_s: int = 90


@dataclass(frozen=True)
class Running:
    """What is so on a node: units, containers and what keepers tell by name, the image's id."""

    units: Mapping[str, Mapping[str, str]]
    containers: Mapping[str, Mapping[str, Any]]
    image_id: str = ""
    keepers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def engine_units(layout: Mapping[str, Any], node: str, container: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the engines that the layout puts on ``node``, each with its command, its endpoint and its revision.

    The revision changes whenever the command or the environment does, so a running container tells
    whether it is the wanted one. Raises ValueError for an environment that no file of lines can hold.
    """
    options: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in container.items()
    }
    common = Container(**options)
    mine = [engine for engine in layout["engines"] if engine["node"] == node]
    return [_unit(engine, layout, common) for engine in mine]


def stale(wanted: Sequence[Mapping[str, Any]], running: Running) -> list[str]:
    """Name the wanted engines that do not run as wanted."""
    return [unit["name"] for unit in wanted if not _as_wanted(unit, running)]


def unwanted(wanted: Sequence[Mapping[str, Any]], running: Running) -> list[str]:
    """Name the units that no wanted engine has."""
    return sorted(set(running.units) - {unit["name"] for unit in wanted})


def told(name: str, running: Running) -> dict[str, Any]:
    """Say what one engine does, for people and for status."""
    unit, container = running.units.get(name, {}), running.containers.get(name, {})
    keeper = running.keepers.get(name, {})
    alive = unit.get("ActiveState") == "active"
    return {
        "state": unit.get("ActiveState", "unknown"),
        "substate": unit.get("SubState", ""),
        "enabled": unit.get("UnitFileState", "") == "enabled",
        "phase": keeper.get("phase", "unknown") if alive else unit.get("ActiveState", "unknown"),
        "ready": alive and bool(keeper.get("ready", False)),
        "since": keeper.get("since"),
        "restarts": int(keeper.get("ends") or 0) + int(unit.get("NRestarts") or 0),
        "reason": keeper.get("reason", ""),
        "waits_for": keeper.get("waits_for", "") if alive else "",
        "load_s": keeper.get("load_s"),
        "outage_s": keeper.get("outage_s"),
        "revision": container.get("revision", ""),
        "container_id": container.get("id", ""),
        "running": bool(container.get("running", False)),
    }


def log_faults(name: str, log: str, must: Sequence[str], must_not: Sequence[str]) -> list[str]:
    """Say in one line each which patterns the log lacks and which it shows against the rule."""
    lines = log.splitlines()
    lacks = [
        f"{name}: its log shows no line like '{pattern}', which this variant must show"
        for pattern in must
        if not _first(lines, pattern)
    ]
    shows = ((pattern, _first(lines, pattern)) for pattern in must_not)
    return lacks + [
        f"{name}: its log shows '{line.strip()[:160]}', which this variant must not show ('{pattern}')"
        for pattern, line in shows
        if line
    ]


def parse_units(shown: str) -> dict[str, dict[str, str]]:
    """Read ``systemctl show`` of several units, blocks apart by a blank line, by engine name."""
    blocks = (dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in shown.split("\n\n"))
    return {block["Id"].removesuffix(".service"): block for block in blocks if block.get("Id")}


def parse_containers(inspected: str) -> dict[str, dict[str, Any]]:
    """Read ``docker inspect`` of our containers, by name."""
    return {entry["Name"].lstrip("/"): _container(entry) for entry in json.loads(inspected or "[]")}


def keeper_specification(unit: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give what the keeper of this engine is told: the engine without its secrets, and the site's settings."""
    hidden = ("environment", "log", "replica", "port")
    return {**{key: value for key, value in unit.items() if key not in hidden}, **settings}


def parse_unit_file(text: str) -> dict[str, Any]:
    """Read the plan and the rank that a unit file of ours states."""
    plan = re.search(r"^Plan=(.*)$", text, re.MULTILINE)
    rank = re.search(r"^Rank=(\d+)$", text, re.MULTILINE)
    return {"plan": plan[1] if plan else "", "rank": int(rank[1]) if rank else 0}


def archive_image_ids(manifest: str, index: str = "") -> set[str]:
    """Give the ids under which an engine may know the image of a ``docker save`` archive."""
    configs = [entry["Config"] for entry in json.loads(manifest)]
    names = {f"sha256:{name.rpartition('/')[2].removesuffix('.json')}" for name in configs}
    return names | {entry["digest"] for entry in json.loads(index or "{}").get("manifests", [])}


def _unit(engine: Mapping[str, Any], layout: Mapping[str, Any], common: Container) -> dict[str, Any]:
    environment = {name: str(value) for name, value in engine["environment"].items()}
    _refuse_line_breaks(engine["name"], environment)
    ranks = [other for other in layout["engines"] if other["replica"] == engine["replica"]]
    url = next(endpoint["url"] for endpoint in layout["endpoints"] if endpoint["replica"] == engine["replica"])
    labels = [f"--label={REVISION_LABEL}={_revision(engine, common)}", f"--label={PLAN_LABEL}={layout['plan']}"]
    unit = {
        **{key: engine[key] for key in ("name", "replica", "rank", "ranks", "served_name", "port", "log")},
        "plan": layout["plan"],
        "url": url,
        "gpus": list(engine["gpus"]),
        "argv": ["/usr/bin/docker", "run", *labels, *_command(engine, common)],
        "revision": _revision(engine, common),
        "keeper_port": engine["master_port"] - KEEPER_PORT_DISTANCE if engine.get("master_port") else None,
        # All ranks of one life were configured together.
        "life": _hash([_revision(rank, common) for rank in ranks]),
        "members": [{key: rank[key] for key in ("rank", "node", "address")} for rank in ranks],
    }
    return {**unit, "environment": environment}


def _revision(engine: Mapping[str, Any], common: Container) -> str:
    environment = {name: str(value) for name, value in engine["environment"].items()}
    return _hash([_command(engine, common), environment, KEEPER_VERSION])


def _hash(told: Any) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def _command(engine: Mapping[str, Any], common: Container) -> list[str]:
    gpus = "all" if engine["all_gpus"] else ",".join(map(str, engine["gpus"]))
    return [
        f"--name={engine['name']}",
        "--init",
        "--pull=never",
        "--network=host",
        # All processes of a rank are in this one container; what they share in memory goes with it.
        "--ipc=private",
        f"--shm-size={SHARED_MEMORY}",
        "--cap-add=IPC_LOCK",
        f"--stop-timeout={common.stop_timeout_s}",
        f"--env-file={ENVIRONMENT_DIRECTORY}/{engine['name']}.env",
        *_pinned(engine),
        *(word.replace("{gpus}", gpus) for word in common.gpu_arguments),
        *(f"--ulimit={limit}" for limit in common.ulimits),
        *(f"--device={device}" for device in common.devices),
        *(f"--volume={volume}" for volume in common.volumes),
        common.image,
        *engine["arguments"],
    ]


def _pinned(engine: Mapping[str, Any]) -> list[str]:
    """Keep an engine on the CPUs and the memory next to its GPUs, where the layout says which."""
    bounds = {"--cpuset-cpus": engine.get("cpus"), "--cpuset-mems": engine.get("memory_nodes")}
    return [f"{option}={value}" for option, value in bounds.items() if value]


def _refuse_line_breaks(name: str, environment: Mapping[str, str]) -> None:
    broken = [variable for variable, value in environment.items() if "\n" in value]
    if broken:
        raise ValueError(f"{name}: environment variable {broken[0]} holds a line break: give it a value of one line")


def _as_wanted(unit: Mapping[str, Any], running: Running) -> bool:
    state, container = running.units.get(unit["name"], {}), running.containers.get(unit["name"], {})
    same_image = not running.image_id or container.get("image_id") == running.image_id
    return (
        state.get("ActiveState") == "active"
        and container.get("running") is True
        and container.get("revision") == unit["revision"]
        and same_image
    )


def _container(entry: Mapping[str, Any]) -> dict[str, Any]:
    labels = entry["Config"].get("Labels") or {}
    return {
        "id": entry["Id"],
        "image_id": entry["Image"],
        "running": bool(entry["State"]["Running"]),
        "started": entry["State"].get("StartedAt", ""),
        "revision": labels.get(REVISION_LABEL, ""),
        "plan": labels.get(PLAN_LABEL, ""),
    }


def _first(lines: Sequence[str], pattern: str) -> str:
    return next((line for line in lines if re.search(pattern, line)), "")
