"""Every file of results keeps to its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ansible.module_utils.apollo import bench_energy, machine_facts, overload
from ansible.module_utils.apollo.bench_result import read_result

from tests.conftest import RunModule
from tests.contract import house
from tests.support import bench_samples as samples
from tests.support import published_run
from tests.unit import test_energy, test_overload, test_report_overload, test_tune_module

STARTED = {"endpoint": "vllm-27b-0", "engine_start": {"start_s": 20.5, "ready_at_s": 1.5}}
FACTS = [*machine_facts.engine_starts([STARTED], "27b"), machine_facts.gpu_init({}, "node1")]
SCHEMAS = house.PROJECT / "reference" / "schemas"


def faults(name: str, document: Any) -> list[str]:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    found = jsonschema.Draft202012Validator(schema).iter_errors(document)
    return [f"{error.json_path}: {error.message}" for error in found]


@pytest.fixture
def written(run_module: RunModule, tmp_path: Path) -> Path:
    """A run with three repeats of two points, one of them with energy, and a crash."""
    folder = tmp_path / "run-1"
    planned = samples.sweep()
    sweep = {key: value for key, value in planned.items() if key not in ("id", "points")}
    about = {"run_id": "run-1", "site_kind": "lab", "site_name": "here"}
    run_module("bench_journal", path=str(folder), about=about, sweep=sweep)
    for attempt in (1, 2, 3):
        for point in planned["points"]:
            names = ("vllm-27b-0", "vllm-27b-1")
            runs = [samples.run(point, name, attempt=attempt) for name in names]
            told = {"node1": [{**test_energy.told()["n1"][0], "endpoint": names[0]}]}
            about_point = {"hash": point["hash"], "attempt": attempt}
            events = [
                *FACTS,
                {"event": "point_started", "hash": point["hash"]},
                *bench_energy.with_node_energy(runs, told),
                {"event": "point_ended", **about_point},
                {"event": "crash", **about_point, "node": "node1", "engines": {}, "gpus": [], "kernel": []},
            ]
            run_module("bench_journal", path=str(folder), events=events)
    run_module("noise_floor", path=str(folder), file=str(tmp_path / "noise-floor.json"), sweep_id=planned["id"])
    run_module("bench_judge", path=str(folder), limits=[str(house.PROJECT / "reference/limits-lab.yml")])
    return folder


def test_manifest_and_noise_floor_keep_to_their_schemas(written: Path) -> None:
    assert faults("manifest", json.loads((written / "manifest.json").read_text())) == []
    assert faults("noise-floor", json.loads((written.parent / "noise-floor.json").read_text())) == []


def test_every_line_of_the_journal_keeps_to_its_schema(written: Path) -> None:
    lines = [json.loads(line) for line in (written / "journal.jsonl").read_text().splitlines()]
    assert {line["event"] for line in lines} == {"fact", "point_started", "run", "point_ended", "crash"}
    assert [fault for line in lines for fault in faults("journal", line)] == []


@pytest.mark.parametrize(
    "broken", [{"status": "fine"}, {"reasons": ["little_low"]}, {"figures": {}}, {"figures": {"output_tok_s": "fast"}}]
)
def test_a_record_that_contradicts_itself_breaks_the_schema(written: Path, broken: dict[str, Any]) -> None:
    lines = [json.loads(line) for line in (written / "journal.jsonl").read_text().splitlines()]
    run = next(line for line in lines if line["event"] == "run")
    assert faults("journal", run) == []
    assert faults("journal", {**run, **broken}) != []


def test_the_verdict_keeps_to_its_schema(run_module: RunModule, written: Path) -> None:
    limits = [str(house.PROJECT / "reference/limits-lab.yml")]
    told = run_module("bench_judge", path=str(written), limits=limits)
    assert faults("verdict", told["verdict"]) == []


def test_the_tables_measured_again_keep_to_their_schema(run_module: RunModule, tmp_path: Path) -> None:
    published_run.write(tmp_path)
    manifest, events = published_run.whole()
    verdict = published_run.judge_events(manifest, events, *published_run.FILES).as_dict()
    role, reference = house.PROJECT / "roles" / "bench", house.PROJECT / "reference"
    places = {"templates": role / "templates", "assets": role / "files", "words": reference / "words"}
    options = {name: str(path) for name, path in {**places, "reference": reference / "published.yml"}.items()}
    run_module("bench_reproduce", path=str(tmp_path), verdict=verdict, **options)
    tables = json.loads((tmp_path / "reproduce.json").read_text())
    assert faults("reproduce", tables) == []
    tables[0]["figures"][0]["ours"] = "fast"
    assert faults("reproduce", tables) != []


def test_the_outcome_of_a_search_keeps_to_its_schema(run_module: RunModule, tmp_path: Path) -> None:
    """What role tune keeps of the module's answer, before the first point and after the last."""
    kept = ("winner", "admission", "overlay", "ended", "starts", "forecast")
    told = test_tune_module.look(run_module, tmp_path)
    assert faults("tune", {name: told[name] for name in kept}) == []
    while told["next_step"]:
        test_tune_module.measure(tmp_path, told)
        told = test_tune_module.look(run_module, tmp_path)
    outcome = {name: told[name] for name in kept}
    assert outcome["winner"]
    assert faults("tune", outcome) == []
    assert faults("tune", {**outcome, "starts": None}) != []
    role = house.plain_yaml((house.PROJECT / "roles/tune/tasks/finish.yml").read_text())
    assert sorted(role[1]["vars"]["__tune_kept"]) == sorted(kept)


@pytest.mark.parametrize(
    "event",
    [
        overload.told(read_result(test_overload.text(**{"Service Unavailable": 1})), test_report_overload.OFFER),
        overload.failed("client_timeout: a request had not ended", test_report_overload.OFFER),
    ],
    ids=["measured", "failed"],
)
def test_an_overload_keeps_to_the_journals_schema(event: dict[str, Any]) -> None:
    line = {**event, "plan": "27b", "model": "qwen3.6-27b", "at_s": 1.0, "schema": 1}
    assert faults("journal", line) == []
    assert faults("journal", {name: value for name, value in line.items() if name != "offer"}) != []
    stamp = {"at_s": 1.0, "schema": 1, "site_kind": "lab"}
    assert [fault for fact in overload.facts(line, 1.0) for fault in faults("journal", {**fact, **stamp})] == []
    swapped = {"measured": "failed", "failed": "measured"}
    assert faults("journal", {**line, "status": swapped[event["status"]]}) != []
