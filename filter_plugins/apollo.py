"""Adapters from Ansible's filters to the core in module_utils/apollo."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ansible.module_utils
import jsonschema
import yaml
from ansible.errors import AnsibleFilterError
from ansible.module_utils.common.yaml import yaml_load

PROJECT = Path(__file__).resolve().parents[1]
if str(PROJECT / "module_utils") not in ansible.module_utils.__path__:
    ansible.module_utils.__path__.append(str(PROJECT / "module_utils"))

from ansible.module_utils.apollo import (  # noqa: E402 (needs the path above)
    bench_energy,
    choice,
    engine,
    fabric,
    fit,
    inventory,
    layout,
    overload,
    overview,
    topology,
)


def _plain_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn the core's ValueError into a filter error of one line."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except ValueError as error:
            raise AnsibleFilterError(str(error)) from error

    return wrapped


def load_catalog(directories: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Load models, variants and plans; a later directory's entry replaces an earlier one's.

    A relative directory counts from the project's root.
    """
    catalog: dict[str, dict[str, Any]] = {"models": {}, "variants": {}, "plans": {}}
    for directory in (PROJECT / name for name in directories):
        if not directory.is_dir():
            raise ValueError(f"catalog directory {directory} does not exist: correct plan_catalog_dirs")
        for kind, entries in catalog.items():
            for path in sorted((directory / kind).glob("*.yml")):
                entries[path.stem] = _entry(path, kind)
    return catalog


def _entry(path: Path, kind: str) -> dict[str, Any]:
    try:
        entry = _read(path)
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    for fault in _validator(kind).iter_errors(entry):
        raise ValueError(f"{path}: {fault.json_path}: {fault.message}: see catalog/schemas/{kind}.json")
    if entry["name"] != path.stem:
        raise ValueError(f"{path}: name is '{entry['name']}': name the entry as its file, '{path.stem}'")
    return dict(entry)


@functools.cache
def _validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(_read(PROJECT / "catalog" / "schemas" / f"{kind}.json"))


def _read(path: Path) -> Any:
    return yaml_load(path.read_text(encoding="utf-8"))


def plan_nodes(names: Sequence[str], hostvars: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the nodes as plans see them, from the inventory's variables."""
    return [_node(name, hostvars[name]) for name in names]


def _node(name: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    for needed in ("fabric_address", "fabric_interface"):
        if needed not in variables:
            raise ValueError(f"node '{name}' has no {needed}: set it in the inventory's host_vars/{name}.yml")
    found = (variables.get("ansible_facts") or {}).get("apollo_topology") or {}
    return {
        "name": name,
        "address": str(variables["fabric_address"]).split("/")[0],
        "interface": variables["fabric_interface"],
        "hca": variables.get("fabric_hca") or found.get("hca") or None,
        "gpus": topology.gpu_places(found.get("gpus") or []),
    }


def resolve_plan(request: Mapping[str, Any], hostvars: Mapping[str, Any]) -> dict[str, Any]:
    """Give the layout of the plan that the request's tags, or else its default, ask for."""
    catalog = load_catalog(request["catalog_dirs"])
    chosen = choice.choose_plan(request["tags"], catalog["plans"], request["stages"], request["default"])
    nodes = [layout.Node(**node) for node in plan_nodes(request["nodes"], hostvars)]
    return layout.resolve_plan(chosen, catalog, nodes, layout.site_of(request["site"]))


def plan_faults(request: Mapping[str, Any], hostvars: Mapping[str, Any]) -> list[str]:
    """Say in one line why the request has no layout; an empty list means it has one."""
    try:
        resolve_plan(request, hostvars)
    except ValueError as error:
        return [str(error)]
    return []


def variable_faults(variables: Mapping[str, Any], roles_path: str, facts: Sequence[str] = ()) -> list[str]:
    """List unknown and missing variables of one host."""
    specs = {path.parts[-3]: _options(path) for path in sorted(Path(roles_path).glob("*/meta/argument_specs.yml"))}
    return inventory.variable_faults(variables, specs, facts)


def _options(path: Path) -> dict[str, Any]:
    return dict(_read(path)["argument_specs"]["main"].get("options") or {})


class FilterModule:
    """The filters of the toolkit, by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Give Ansible the filters."""
        return {
            "address_faults": _plain_errors(fabric.address_faults),
            "cluster_overview": overview.overview,
            "engine_units": _plain_errors(engine.engine_units),
            "engine_windows": bench_energy.engine_windows,
            "fit_report": _plain_errors(fit.fit_report),
            "keeper_specification": engine.keeper_specification,
            "load_catalog": _plain_errors(load_catalog),
            "overload_limits": _plain_errors(overload.overload_limits),
            "plan_faults": plan_faults,
            "resolve_plan": _plain_errors(resolve_plan),
            "run_windows": bench_energy.run_windows,
            "twin_faults": inventory.twin_faults,
            "with_energy": bench_energy.with_node_energy,
            "variable_faults": _plain_errors(variable_faults),
        }
