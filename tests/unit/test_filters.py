"""The filters: a catalog from files, and a request resolved or refused in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from filter_plugins import apollo as filters
from tests.support import models

HOSTVARS = {f"n{i}": {"fabric_address": f"10.0.0.{i}/24", "fabric_interface": "ib0"} for i in range(2)}


def request(tags: list[str], *directories: str, nodes: tuple[str, ...] = ("n0", "n1")) -> dict[str, Any]:
    return {
        "tags": tags,
        "default": "27b",
        "stages": ["all"],
        "catalog_dirs": ["catalog", *directories],
        "nodes": list(nodes),
        "site": {},
    }


def write(directory: Path, kind: str, name: str, entry: dict[str, Any] | str) -> str:
    (directory / kind).mkdir(parents=True, exist_ok=True)
    text = entry if isinstance(entry, str) else yaml.safe_dump(entry)
    (directory / kind / f"{name}.yml").write_text(text, encoding="utf-8")
    return str(directory)


def test_every_plan_of_the_catalog_resolves_on_two_nodes() -> None:
    plans = filters.load_catalog(["catalog"])["plans"]
    layouts = [filters.resolve_plan(request([name]), HOSTVARS) for name in plans]
    assert [layout["plan"] for layout in layouts] == list(plans)
    assert all(layout["engines"] for layout in layouts)


def test_an_address_loses_its_prefix_length() -> None:
    assert filters.resolve_plan(request(["27b"]), HOSTVARS)["endpoints"][1]["url"] == "http://10.0.0.1:8000"


def test_discovered_facts_name_the_adapter_and_the_cpus() -> None:
    gpus = [{"numa_node": 0, "cores": [[n, n + 4] for n in range(4)]} for _ in range(4)]
    found = {"ansible_facts": {"apollo_topology": {"hca": "mlx5_1", "gpus": gpus}}}
    hostvars = {name: {**told, **found} for name, told in HOSTVARS.items()}
    spanning = filters.resolve_plan(request(["397b"]), hostvars)["engines"][0]
    assert spanning["environment"]["NCCL_IB_HCA"] == "=mlx5_1"
    halves = filters.resolve_plan(request(["27b-halves"]), hostvars)["engines"]
    assert [engine["cpus"] for engine in halves[:2]] == ["0-1,4-5", "2-3,6-7"]
    stated = {name: {**told, "fabric_hca": "mlx5_0"} for name, told in hostvars.items()}
    assert filters.resolve_plan(request(["397b"]), stated)["engines"][0]["environment"]["NCCL_IB_HCA"] == "=mlx5_0"


def test_a_config_can_be_judged_without_a_node() -> None:
    settings = {**models.USUAL, "tensor-parallel-size": 4}
    report = filters.FilterModule().filters()["fit_report"]
    assert report(models.config(models.DENSE), models.A100.name, settings)["fits"] is True
    with pytest.raises(AnsibleFilterError, match=r"config\.json has no"):
        report({}, models.A100.name, settings)


def test_a_variant_that_is_known_to_break_is_refused_by_name(tmp_path: Path) -> None:
    variant = {"name": "mine", "extends": "397b-c", "summary": "s", "model": "qwen3.5-397b-a17b"}
    told = {"measured": "nowhere", "parallelism": "tensor", "arguments": {"moe-backend": "marlin"}}
    own = write(tmp_path, "variants", "mine", {**variant, **told})
    replicas = [{"model": "qwen3.5-397b-a17b", "variant": "mine", "nodes": [0, 1]}]
    gateway = {"cap_per_endpoint": 1, "queue_limit": 0, "queue_timeout_s": 1}
    write(tmp_path, "plans", "own", {"name": "own", "summary": "s", "replicas": replicas, "gateway": gateway})
    (fault,) = filters.plan_faults({**request(["all"], own), "default": "own"}, HOSTVARS)
    assert fault.startswith("plan 'own', replica 0, variant 'mine': marlin-moe-with-mtp: ")


def test_a_variant_of_ones_own_is_one_file(tmp_path: Path) -> None:
    variant = {"name": "mine", "extends": "27b-base", "summary": "s", "model": "qwen3.6-27b"}
    own = write(tmp_path, "variants", "mine", {**variant, "measured": "nowhere", "parallelism": "tensor"})
    replicas = [{"model": "qwen3.6-27b", "variant": "mine", "nodes": [0]}]
    gateway = {"cap_per_endpoint": 1, "queue_limit": 0, "queue_timeout_s": 1}
    write(tmp_path, "plans", "own", {"name": "own", "summary": "s", "replicas": replicas, "gateway": gateway})
    layout = filters.resolve_plan({**request(["all"], own), "default": "own"}, HOSTVARS)
    assert layout["engines"][0]["variant"] == "mine"
    assert "--max-num-seqs" in layout["engines"][0]["arguments"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("name: x: y", "not valid YAML"),
        ({"name": "own", "summary": "s"}, "is a required property"),
        ({"name": "other", "summary": "s", "directory": "d", "served_name": "s", "dtype": "auto"}, "name the entry as"),
    ],
)
def test_a_wrong_file_is_named_in_one_line(tmp_path: Path, entry: dict[str, Any] | str, message: str) -> None:
    own = write(tmp_path, "models", "own", entry)
    (fault,) = filters.plan_faults(request(["27b"], own), HOSTVARS)
    assert message in fault
    assert "own.yml" in fault
    assert "\n" not in fault


def test_a_missing_catalog_directory_is_refused() -> None:
    (fault,) = filters.plan_faults(request(["27b"], "/nowhere"), HOSTVARS)
    assert fault == "catalog directory /nowhere does not exist: correct plan_catalog_dirs"


def test_a_node_without_a_fabric_address_is_named() -> None:
    (fault,) = filters.plan_faults(request(["27b"]), {**HOSTVARS, "n1": {"fabric_interface": "ib0"}})
    assert fault.startswith("node 'n1' has no fabric_address")


def test_one_node_cannot_carry_a_plan_for_two() -> None:
    (fault,) = filters.plan_faults(request(["397b"], nodes=("n0",)), HOSTVARS)
    assert "wants node number 1, but there are 1" in fault


def test_a_good_request_has_no_fault() -> None:
    assert filters.plan_faults(request(["397b"]), HOSTVARS) == []


def test_a_filter_turns_a_wrong_value_into_a_filter_error() -> None:
    with pytest.raises(AnsibleFilterError, match="catalog directory"):
        filters.FilterModule().filters()["load_catalog"](["nowhere"])


def test_misspelt_variable_is_found_in_the_real_roles(project: Path) -> None:
    faults = filters.variable_faults({"plan_node_names": [], "plan_nam": "27b"}, str(project / "roles"))
    assert "variable 'plan_nam' is not known to role plan: did you mean 'plan_name'?" in faults


def test_loading_the_filters_imports_neither_the_core_nor_a_library() -> None:
    code = "import ansible.template, sys; seen = {*sys.modules}; import filter_plugins.apollo"
    code += "; print(*{*sys.modules} - seen)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert set(found) <= {"filter_plugins", "filter_plugins.apollo"}


def test_plan_that_counts_an_unknown_node_is_refused() -> None:
    (fault,) = filters.plan_faults(request(["27b"], nodes=("n0", "n9")), HOSTVARS)
    assert fault.startswith("node of plan_node_names 'n9' is not known: choose one of n0, n1")


def test_files_of_variables_are_compared_with_the_inventory(tmp_path: Path) -> None:
    for name in ("host_vars/n1.yml", "host_vars/n2.yml", "group_vars/all/x.yml", "group_vars/al.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    faults = filters.stray_faults(str(tmp_path), {"all": ["n1"]})
    assert [fault.split()[0] for fault in faults] == ["host_vars/n2", "group_vars/al"]
