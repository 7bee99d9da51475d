"""What a search found becomes entries of a site's catalog that the catalog's own schemas accept."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from ansible.module_utils.apollo.layout import Site, resolve_plan
from ansible.module_utils.apollo.tune_overlay import Overlay, overlay

from tests.contract import house, layouts

LET_IN = {"cap_per_endpoint": 36, "max_num_seqs": 36, "queue_limit": 12, "why": "measured"}
ARGUMENTS = {"gpu-memory-utilization": 0.92, "max-num-seqs": 64}


def found(plan: str = "397b", **let_in: Any) -> Overlay:
    return overlay(layouts.catalog(), {"plan": plan}, ARGUMENTS, {**LET_IN, **let_in})


def merged(told: Overlay) -> dict[str, dict[str, Any]]:
    return {kind: {**entries, **told.get(kind, {})} for kind, entries in layouts.catalog().items()}


@pytest.mark.parametrize("plan", ["27b", "397b"])
def test_entries_keep_to_the_schemas(plan: str) -> None:
    for kind, entries in found(plan).items():
        schema = house.plain_yaml((house.PROJECT / "catalog" / "schemas" / f"{kind}.json").read_text())
        for name, entry in entries.items():
            jsonschema.validate(entry, schema)
            assert entry["name"] == name


def test_the_plan_carries_what_was_measured() -> None:
    plan = found()["plans"]["397b"]
    assert plan["gateway"] == {"cap_per_endpoint": 36, "queue_limit": 12, "queue_timeout_s": 120}
    assert [replica["variant"] for replica in plan["replicas"]] == ["397b-c-tuned"]


def test_the_engines_get_the_winner_and_as_many_seats_as_are_let_in() -> None:
    layout = resolve_plan("397b", merged(found()), layouts.CHASSIS, Site())
    words = [str(word) for word in layout["engines"][0]["arguments"]]
    assert words[words.index("--max-num-seqs") + 1] == "36"
    assert words[words.index("--gpu-memory-utilization") + 1] == "0.92"


def test_tuning_again_replaces_what_was_tuned_before() -> None:
    again = overlay(merged(found()), {"plan": "397b"}, {"max-num-batched-tokens": 8192}, LET_IN)
    assert list(again["variants"]) == ["397b-c-tuned"]
    entry = again["variants"]["397b-c-tuned"]
    assert entry["extends"] == "397b-c"
    assert entry["arguments"] == {"gpu-memory-utilization": 0.92, "max-num-seqs": 36, "max-num-batched-tokens": 8192}


@pytest.mark.parametrize("let_in", [None, {"cap_per_endpoint": None}])
def test_nothing_is_written_where_nobody_can_be_let_in(let_in: dict[str, Any] | None) -> None:
    assert overlay(layouts.catalog(), {"plan": "397b"}, ARGUMENTS, let_in) == {}
    assert overlay(layouts.catalog(), None, ARGUMENTS, LET_IN) == {}
