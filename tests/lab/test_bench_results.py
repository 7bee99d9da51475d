"""What the lab's own sweeps left: files that keep to their schemas, energy of every node, lines of progress."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from ansible.module_utils.apollo import bench_spent

from tests.contract import house
from tests.contract.test_result_schemas import faults

LATEST = house.PROJECT / "results" / "latest"


@pytest.fixture(scope="module")
def journal() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LATEST / "journal.jsonl").read_text().splitlines()]


def test_manifest_and_verdict_keep_to_their_schemas() -> None:
    assert faults("manifest", json.loads((LATEST / "manifest.json").read_text())) == []
    assert faults("verdict", json.loads((LATEST / "verdict.json").read_text())) == []


def test_every_line_of_the_journal_keeps_to_its_schema(journal: list[dict[str, Any]]) -> None:
    assert [fault for line in journal for fault in faults("journal", line)] == []


def test_every_valid_run_has_the_energy_of_all_its_nodes(journal: list[dict[str, Any]]) -> None:
    """The simulated nvidia-smi gives power and no counter; the 397b's one endpoint runs over both nodes."""
    runs = [line for line in journal if line["event"] == "run" and line["status"] == "valid"]
    assert runs
    for run in runs:
        assert {node["source"] for node in run["energy"]} == {"power_samples"}
        assert run["figures"]["joules_per_token_gross"] > 0
    assert {len({node["node"] for node in run["energy"]}) for run in runs} == {1, 2}


def test_facts_say_that_this_is_no_hardware(journal: list[dict[str, Any]]) -> None:
    """Engines' starts are real; what is simulated, or was not measured, is no figure."""
    facts = [line for line in journal if line["event"] == "fact"]
    known = {fact["metric"] for fact in facts if fact["value"] is not None}
    assert {fact["subject"] for fact in facts if fact["metric"] == "start_s"} >= {
        "vllm-27b-0",
        "vllm-27b-1",
        "vllm-397b-0",
    }
    assert known == {"start_s", "gpu_init_s"}
    assert {fact["site_kind"] for fact in facts} == {"lab"}


def test_where_the_time_went_is_told(
    journal: list[dict[str, Any]], record_property: Callable[[str, object], None]
) -> None:
    """The goal of 3 s outside is one for a computer that does nothing else: printed, not required."""
    turns = [line["spent"] for line in journal if line["event"] == "point_ended" and line["status"] == "valid"]
    assert turns
    for turn in turns:
        parts = ("load_s", "warm_up_s", "server_start_s", "idle_s", "outside_s")
        assert sum(turn[part] for part in parts) == pytest.approx(turn["total_s"], abs=0.01)
        assert turn["load_s"] > 0
    record_property("spent", bench_spent.summary(journal))


def test_progress_was_told(journal: list[dict[str, Any]]) -> None:
    lines = (LATEST / "progress.log").read_text()
    assert re.search(r"27b 27b-\w+ N=\d+ \(\d+ of \d+\): vllm-27b-\d \d+ of \d+ requests, \d+ tok/s so far", lines)
