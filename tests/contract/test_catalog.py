"""The catalog's entries fit their schemas, and each plan of it can be asked for and resolved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import catalog as core
from jsonschema import Draft202012Validator

from tests.contract import house, layouts

KINDS = ("models", "variants", "plans")
ENTRIES = [path for kind in KINDS for path in house.under(f"catalog/{kind}", suffix=".yml")]
PUBLISHED = {
    "27b-base": "27b",
    "27b-mtp": "27b-mtp",
    "397b-a": "397b-a",
    "397b-b": "397b-b",
    "397b-base": "397b-base",
    "397b-c": "397b",
    "397b-d": "397b-d",
    "397b-pp": "397b-pp",
}


def schema(kind: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((house.PROJECT / "catalog" / "schemas" / f"{kind}.json").read_text())
    return document


@pytest.mark.parametrize("kind", KINDS)
def test_schema_is_valid_and_closed(kind: str) -> None:
    Draft202012Validator.check_schema(schema(kind))
    assert schema(kind)["additionalProperties"] is False


@pytest.mark.parametrize("path", ENTRIES, ids=house.name)
def test_entry_fits_its_schema(path: Path) -> None:
    entry = house.plain_yaml(path.read_text())
    faults = [
        f"{fault.json_path}: {fault.message}"
        for fault in Draft202012Validator(schema(path.parent.name)).iter_errors(entry)
    ]
    assert not faults


@pytest.mark.parametrize("path", ENTRIES, ids=house.name)
def test_entry_is_named_as_its_file(path: Path) -> None:
    assert house.plain_yaml(path.read_text())["name"] == path.stem


@pytest.mark.parametrize("variant", PUBLISHED)
def test_published_variant_has_a_plan(variant: str) -> None:
    plan = layouts.catalog()["plans"][PUBLISHED[variant]]
    assert {replica["variant"] for replica in plan["replicas"]} == {variant}


@pytest.mark.parametrize("plan", layouts.catalog()["plans"])
def test_plan_resolves_on_a_chassis(plan: str) -> None:
    layout = layouts.resolve(plan)
    assert layout["plan"] == plan
    assert layout["engines"]


@pytest.mark.parametrize("variant", layouts.catalog()["variants"])
def test_variant_states_what_must_not_drift(variant: str) -> None:
    stated: Mapping[str, Any] = core.find_variant(layouts.catalog(), variant)["arguments"]
    either = [("async-scheduling", "no-async-scheduling"), ("enable-prefix-caching", "no-enable-prefix-caching")]
    alone = ["dtype", "gpu-memory-utilization", "max-model-len", "max-num-batched-tokens", "max-num-seqs"]
    unstated = ["/".join(pair) for pair in either if not set(pair) & set(stated)]
    assert not unstated + [flag for flag in alone if flag not in stated]
