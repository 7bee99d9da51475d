"""The catalog's entries fit their schemas, and each plan of it can be asked for and resolved."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import catalog as core
from ansible.module_utils.apollo import layout as layout_core
from ansible.module_utils.apollo.conflicts import NAMES
from ansible.module_utils.apollo.fit import Wanted, fit
from ansible.module_utils.apollo.serving import Serving
from jsonschema import Draft202012Validator

from tests.contract import house, layouts
from tests.support import models

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
    alone = [
        "dtype",
        "enable-chunked-prefill",
        "generation-config",
        "gpu-memory-utilization",
        "kv-cache-dtype",
        "load-format",
        "max-cudagraph-capture-size",
        "max-model-len",
        "max-num-batched-tokens",
        "max-num-seqs",
        "scheduling-policy",
        "seed",
        "shutdown-timeout",
        "stream-interval",
    ]
    unstated = ["/".join(pair) for pair in either if not set(pair) & set(stated)]
    assert not unstated + [flag for flag in alone if flag not in stated]


@pytest.mark.parametrize("plan", layouts.catalog()["plans"])
def test_plan_says_whether_it_was_measured_and_so_do_its_variants(plan: str) -> None:
    entry = layouts.catalog()["plans"][plan]
    variants = {layouts.catalog()["variants"][replica["variant"]]["measured"] for replica in entry["replicas"]}
    assert {entry["measured"]} == variants


@pytest.mark.parametrize("variant", layouts.catalog()["variants"])
def test_variant_keeps_its_caches_and_stays_off_the_network(variant: str) -> None:
    stated = core.find_variant(layouts.catalog(), variant)["environment"]
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    assert offline.items() <= stated.items()
    caches = ("VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "CUDA_CACHE_PATH", "FLASHINFER_WORKSPACE_BASE")
    assert {stated.get(name, "").split("/vllm")[0] for name in caches} == {"/root/.cache"}


@pytest.mark.parametrize("variant", layouts.catalog()["variants"])
def test_variant_says_what_its_log_must_show_and_must_not(variant: str) -> None:
    log = core.find_variant(layouts.catalog(), variant)["log"]
    assert log["must"]
    assert log["must_not"]


@pytest.mark.parametrize("variant", layouts.catalog()["variants"])
def test_variant_states_nothing_that_follows_from_its_placement(variant: str) -> None:
    stated = core.find_variant(layouts.catalog(), variant)
    assert not set(stated["arguments"]) & set(layout_core.PLACED)
    assert not {name for name in stated["environment"] if name.startswith(("NCCL_", "GLOO_", "VLLM_HOST"))}


@pytest.mark.parametrize("plan", layouts.catalog()["plans"])
def test_plan_fits_the_gpus_that_it_is_for(plan: str) -> None:
    for engine in layouts.resolve(plan)["engines"]:
        wanted = Wanted(Serving(engine["settings"], engine["environment"]), engine["accepts"])
        found = fit(models.shape(engine["model"]), wanted, models.A100)
        assert found.reasons == ()
        assert engine["settings"]["max-num-seqs"] <= (found.max_num_seqs or 0)


@pytest.mark.parametrize("plan", layouts.catalog()["plans"])
def test_plan_lets_in_no_more_than_its_engines_run_at_once(plan: str) -> None:
    layout = layouts.resolve(plan)
    heads = {engine["name"]: engine for engine in layout["engines"] if engine["rank"] == 0}
    for endpoint in layout["endpoints"]:
        assert endpoint["cap"] <= heads[endpoint["name"]]["settings"]["max-num-seqs"]


@pytest.mark.parametrize("plan", ["27b-halves", "27b-halves-mtp", "27b-int4", "27b-int4-mtp"])
def test_unmeasured_placements_use_every_gpu_once(plan: str) -> None:
    layout = layouts.resolve(plan)
    used = sorted((engine["node"], gpu) for engine in layout["engines"] for gpu in engine["gpus"])
    assert used == [(node.name, gpu) for node in layouts.CHASSIS for gpu in range(4)]
    assert len({endpoint["url"] for endpoint in layout["endpoints"]}) == len(layout["endpoints"])


def test_only_the_known_kernels_decide_what_a_variant_checks() -> None:
    marlin = {name for name in layouts.catalog()["variants"] if "MARLIN" in str(log_of(name)["must"])}
    assert marlin == {"397b-a", "397b-b", "397b-c", "397b-d"}
    assert "MARLIN" in str(log_of("397b-base")["must_not"])
    assert "MARLIN" in str(log_of("397b-pp")["must_not"])


def log_of(variant: str) -> dict[str, list[str]]:
    log: dict[str, list[str]] = core.find_variant(layouts.catalog(), variant)["log"]
    return log


def page() -> str:
    return (house.PROJECT / "docs" / "catalog.md").read_text()


def test_guide_names_every_plan_and_every_known_failure() -> None:
    rows = {name for line in page().splitlines() if line.startswith("|") for name in re.findall(r"`([^`]+)`", line)}
    assert not set(layouts.catalog()["plans"]) - rows
    assert not set(NAMES) - rows


@pytest.mark.parametrize("plan", ["27b", "27b-mtp", "27b-halves-mtp", "27b-int4", "397b-pp", "397b", "397b-d"])
def test_guide_tells_what_fits_as_it_is_computed(plan: str) -> None:
    engine = layouts.resolve(plan)["engines"][0]
    found = fit(models.shape(engine["model"]), Wanted(Serving(engine["settings"])), models.A100)
    told = [
        f"{found.weights_gib:.1f} + {found.draft_gib:.1f}",
        f"{found.engine_gib:.1f}",
        f"{found.cache_gib:.1f}",
        f"{found.state_mib_per_sequence:.0f}",
        f"{found.cache_kib_per_token:g}",
        f"{found.sequences_at_typical} / {found.sequences_at_context}",
        f"{engine['settings']['max-num-seqs']} of {found.max_num_seqs}",
    ]
    assert f"| `{plan}` | {' | '.join(told)} |" in page()
