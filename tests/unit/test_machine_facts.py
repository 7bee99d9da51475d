"""What was measured outside of a run reaches its journal once, with its tool, and is null where it was not measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import machine_facts as core
from ansible.module_utils.apollo.judge_facts import Fact, read_facts
from ansible.module_utils.basic import AnsibleModule

from tests.conftest import RunModule

READY = {"name": "vllm-27b-0", "phase": "ready", "ready": True, "load_s": 231.4, "since": 1796065999.6}
# As `systemctl show --timestamp=unix` of systemd 252 prints it.
SHOWN = """ExecMainExitTimestamp=@1796060061
ExecMainStartTimestampMonotonic=11500000
ExecMainExitTimestampMonotonic=71612345
Result=success
"""
BANDWIDTH = core.fact("ib_bandwidth_gbps", "node1 to node2", 96.5, 1796060100, "ib_write_bw")


def record(**told: Any) -> dict[str, Any]:
    return {"endpoint": "vllm-27b-0", "engine_start": core.engine_start({**READY, **told})}


def test_a_start_is_what_the_keeper_measured() -> None:
    assert read_facts(core.engine_starts([record()], "27b")) == [Fact("start_s", 231.4, "vllm-27b-0", "27b")]


@pytest.mark.parametrize("told", [{"ready": False}, {"load_s": None}, {"since": None}])
def test_an_engine_that_is_not_ready_has_no_start(told: dict[str, Any]) -> None:
    assert core.engine_starts([record(**told)], "27b") == []


def test_the_wait_for_the_gpus_is_that_of_the_unit() -> None:
    told = core.gpu_init(dict(line.split("=") for line in SHOWN.splitlines()), "node1")
    assert (told["value"], told["measured_s"], told["unit"]) == (60.112, 1796060061, "s")


@pytest.mark.parametrize("text", ["", SHOWN.replace("success", "exit-code"), SHOWN.replace("71612345", "0")])
def test_a_wait_that_was_not_seen_to_end_is_null(text: str) -> None:
    told = core.gpu_init(dict(line.split("=") for line in text.splitlines()), "node1")
    assert told["value"] is None
    assert read_facts([told]) == [Fact("gpu_init_s", None, "node1")]


def test_a_fact_is_noted_once_and_says_on_what_kind_of_site(run_module: RunModule, tmp_path: Path) -> None:
    asked = {"path": str(tmp_path / "run"), "about": {"run_id": "run", "site_kind": "lab"}}
    first = run_module("bench_journal", events=[BANDWIDTH], **asked)
    assert run_module("bench_journal", events=[BANDWIDTH], **asked)["changed"] is False
    later = {**BANDWIDTH, "measured_s": BANDWIDTH["measured_s"] + 60}
    run_module("bench_journal", events=[later], **asked)
    lines = [json.loads(line) for line in (tmp_path / "run/journal.jsonl").read_text().splitlines()]
    assert first["changed"]
    assert [(line["measured_s"], line["site_kind"]) for line in lines] == [(1796060100, "lab"), (1796060160, "lab")]


def test_a_node_tells_what_acceptance_left(
    run_module: RunModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AnsibleModule, "run_command", lambda *_, **__: (0, SHOWN, ""))
    left = tmp_path / "accepted.json"
    left.write_text(json.dumps({"facts": [BANDWIDTH, {**BANDWIDTH, "metric": "of_another_version"}]}))
    for check in (False, True):
        told = run_module("machine_facts_info", check, node="node1", accepted=str(left))
        assert not told["changed"]
        assert [fact["metric"] for fact in told["facts"]] == ["gpu_init_s", "ib_bandwidth_gbps"]


def test_a_node_that_accepted_nothing_tells_only_its_gpus(
    run_module: RunModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AnsibleModule, "run_command", lambda *_, **__: (0, "", ""))
    told = run_module("machine_facts_info", node="node1", accepted=str(tmp_path / "none"))
    assert [(fact["metric"], fact["value"]) for fact in told["facts"]] == [("gpu_init_s", None)]
