"""A role's defaults and its argument specification hold the same inputs; a role knows nothing of its surroundings."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.contract import house

every_role = pytest.mark.parametrize("role", house.roles())


def options(role: str) -> dict[str, Any]:
    spec = house.read_yaml(house.PROJECT / "roles" / role / "meta" / "argument_specs.yml")
    return spec["argument_specs"]["main"].get("options") or {}


def defaults(role: str) -> dict[str, Any]:
    path = house.PROJECT / "roles" / role / "defaults" / "main.yml"
    return (house.read_yaml(path) or {}) if path.exists() else {}


def public(names: dict[str, Any]) -> set[str]:
    return {name for name in names if not name.startswith("__")}


@every_role
def test_defaults_are_the_optional_arguments(role: str) -> None:
    optional = {name for name, option in options(role).items() if not option.get("required")}
    assert public(defaults(role)) == optional


@every_role
def test_required_arguments_have_no_default(role: str) -> None:
    required = {name for name, option in options(role).items() if option.get("required")}
    assert not required & set(defaults(role))


@every_role
def test_default_values_agree(role: str) -> None:
    stated = {name: option["default"] for name, option in options(role).items() if "default" in option}
    assert {name: defaults(role).get(name) for name in stated} == stated


@every_role
def test_every_argument_is_described(role: str) -> None:
    undescribed = [name for name, option in options(role).items() if not option.get("description")]
    assert not undescribed


@every_role
def test_every_input_carries_the_name_of_its_role(role: str) -> None:
    foreign = {name for name in public(options(role)) if not name.startswith(f"{role}_")}
    assert not foreign


@every_role
def test_promise_and_licence_are_stated(role: str) -> None:
    meta = house.read_yaml(house.PROJECT / "roles" / role / "meta" / "main.yml")["galaxy_info"]
    assert meta["description"]
    assert meta["license"] == "Apache-2.0"
    assert meta["min_ansible_version"] == "2.19"


@every_role
def test_role_does_not_know_the_test_rig(role: str) -> None:
    for path in house.under(f"roles/{role}"):
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            assert not re.search(r"\blab\b", line, re.IGNORECASE), f"{house.name(path)}:{number}: {line.strip()}"


@every_role
def test_role_names_no_inventory_group(role: str) -> None:
    for path in house.under(f"roles/{role}"):
        found = re.search(r"groups\[['\"]\w+['\"]\]|groups\.\w+", path.read_text())
        assert found is None, f"{house.name(path)}: {found and found.group()} (pass the group as a variable)"


def test_the_proof_of_gpus_asks_for_them_as_the_engines_do() -> None:
    engines = defaults("vllm_server")["vllm_server_gpu_runtime_arguments"]
    assert [word.format(gpus="all") for word in engines] == defaults("container_runtime")[
        "container_runtime_probe_arguments"
    ]
