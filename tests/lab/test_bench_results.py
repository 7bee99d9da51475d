"""What the lab's own sweeps left: files that keep to their schemas, energy of every node, lines of progress."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

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


def test_progress_was_told(journal: list[dict[str, Any]]) -> None:
    lines = (LATEST / "progress.log").read_text()
    assert re.search(r"27b 27b-\w+ N=\d+ \(\d+ of \d+\): vllm-27b-\d \d+ of \d+ requests, \d+ tok/s so far", lines)
