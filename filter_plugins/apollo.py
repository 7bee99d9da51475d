"""Adapters from Ansible's filters to the core in module_utils/apollo.

Ansible loads this file anew in the process of every task, whatever filters the task uses: what a filter needs is
imported when it is called, for otherwise half of the controller's time goes into imports.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ansible.module_utils
import yaml
from ansible.errors import AnsibleError, AnsibleFilterError
from ansible.module_utils.common.yaml import yaml_load
from jinja2 import Undefined, UndefinedError

MAGIC = ("ansible_facts", "group_names", "groups", "hostvars")  # not there while a host's variables are looked at
PROJECT = Path(__file__).resolve().parents[1]
if str(PROJECT / "module_utils") not in ansible.module_utils.__path__:
    ansible.module_utils.__path__.append(str(PROJECT / "module_utils"))

if TYPE_CHECKING:
    import jsonschema


def _core(module: str, function: str) -> Callable[..., Any]:
    """Name a function of the core that is imported when it is called."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return getattr(importlib.import_module(f"ansible.module_utils.apollo.{module}"), function)(*args, **kwargs)

    return called


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
    import jsonschema

    return jsonschema.Draft202012Validator(_read(PROJECT / "catalog" / "schemas" / f"{kind}.json"))


def _read(path: Path) -> Any:
    return yaml_load(path.read_text(encoding="utf-8"))


def plan_nodes(names: Sequence[str], hostvars: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the nodes as plans see them, from the inventory's variables."""
    unknown = [name for name in names if name not in hostvars]
    if unknown:
        from ansible.module_utils.apollo.names import unknown_name

        raise ValueError(unknown_name("node of plan_node_names", unknown[0], list(hostvars)))
    return [_node(name, hostvars[name]) for name in names]


def _node(name: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    from ansible.module_utils.apollo import topology

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
    from ansible.module_utils.apollo import choice, layout

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
    """List unknown, missing and unfit variables of one host."""
    from ansible.module_utils.apollo import inventory

    specs = {path.parts[-3]: _options(path) for path in sorted(Path(roles_path).glob("*/meta/argument_specs.yml"))}
    known = {name for options in specs.values() for name in options}
    given = {name: _value(variables, name, known | {*facts, *MAGIC}) if name in known else None for name in variables}
    return inventory.variable_faults(given, specs, facts)


def _value(variables: Mapping[str, Any], name: str, later: Collection[str]) -> Any:
    """Resolve a variable; what refers to a node's facts or to a role's own variable is not known yet."""
    from ansible.module_utils.apollo import inventory

    try:
        return _resolved(variables[name])
    except (UndefinedError, AnsibleError) as error:
        why = str(error).splitlines()[0]
    undefined = re.search(r"'(\w+)' is undefined", why)
    known_later = undefined[1] in later if undefined else "has no attribute" in why
    return inventory.LATER if known_later else inventory.Unreadable(undefined[0] if undefined else why)


def _resolved(value: Any) -> Any:
    """Touch all of a value: what is undefined in it says so only then."""
    if isinstance(value, Mapping):
        return {key: _resolved(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_resolved(part) for part in value]
    if isinstance(value, Undefined):
        str(value)
    return value


def _options(path: Path) -> dict[str, Any]:
    """Read a role's options, and which of them are null unless they are set."""
    options = _read(path)["argument_specs"]["main"].get("options") or {}
    file = path.parents[1] / "defaults" / "main.yml"
    defaults = (_read(file) or {}) if file.exists() else {}
    return {name: {**option, "nullable": defaults.get(name, "") is None} for name, option in options.items()}


def stray_faults(inventory_dir: str, groups: Mapping[str, Any]) -> list[str]:
    """Name files in host_vars and group_vars that belong to no host and no group."""
    from ansible.module_utils.apollo import inventory

    hosts = {host for members in groups.values() for host in members}
    return [
        fault
        for kind, names in (("host", hosts), ("group", set(groups)))
        for fault in inventory.stray_faults(_variable_files(Path(inventory_dir) / f"{kind}_vars"), names, kind)
    ]


def _variable_files(directory: Path) -> set[str]:
    found = [path for path in directory.glob("[!.]*") if path.is_dir() or path.suffix in (".yml", ".yaml", ".json")]
    return {path.name if path.is_dir() else path.stem for path in found}


class FilterModule:
    """The filters of the toolkit, by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Give Ansible the filters."""
        return {
            "address_faults": _plain_errors(_core("fabric", "address_faults")),
            "cluster_overview": _core("overview", "overview"),
            "engine_starts": _core("machine_facts", "engine_starts"),
            "engine_units": _plain_errors(_core("engine", "engine_units")),
            "engine_windows": _core("bench_energy", "engine_windows"),
            "fit_report": _plain_errors(_core("fit", "fit_report")),
            "group_faults": _core("inventory", "group_faults"),
            "keeper_specification": _core("engine", "keeper_specification"),
            "load_catalog": _plain_errors(load_catalog),
            "overload_limits": _plain_errors(_core("overload", "overload_limits")),
            "plan_faults": plan_faults,
            "resolve_plan": _plain_errors(resolve_plan),
            "run_windows": _core("bench_energy", "run_windows"),
            "stray_faults": stray_faults,
            "twin_faults": _core("inventory", "twin_faults"),
            "variable_faults": _plain_errors(variable_faults),
            "with_energy": _core("bench_energy", "with_node_energy"),
        }
