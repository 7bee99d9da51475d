"""Whole sweeps: the modules one after the other, as role bench calls them, against a stand-in server."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunModule
from tests.support import bench_rig
from tests.support import bench_samples as samples

ABOUT = {"run_id": "noise", "site_kind": "lab", "site_name": "stand-in server"}
SCHEDULE = {"repeats": 3, "order": "interleaved", "restart": True}


@pytest.fixture(scope="module")
def client(engine_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[bench_rig.Resident]:
    with bench_rig.resident(engine_cache, tmp_path_factory.mktemp("client")) as started:
        if started is None:
            if os.environ.get("APOLLO_TEST_HAS_LAB"):
                pytest.fail(f"no vLLM in {engine_cache}")
            pytest.skip(f"no vLLM in {engine_cache}: bin/lab brings it")
        yield started


class Sweep:
    """One endpoint of the sample plan, measured on a stand-in server."""

    def __init__(self, run_module: RunModule, client: bench_rig.Resident, folder: Path) -> None:
        self.run_module, self.client, self.path = run_module, client, str(folder)
        planned = samples.sweep({**samples.SETTINGS, "concurrency": [1, 4], "output_tokens": 16})
        layout = {**planned["layout"], "endpoints": planned["layout"]["endpoints"][:1]}
        kept = {key: value for key, value in planned.items() if key not in ("id", "points")}
        self.sweep = {**kept, "layout": layout}
        self.name = layout["endpoints"][0]["name"]

    def journal(self, **given: Any) -> dict[str, Any]:
        told = self.run_module("bench_journal", path=self.path, **given)
        assert not told["failed"], told
        return told

    def open(self, **schedule: Any) -> dict[str, Any]:
        return self.journal(about=ABOUT, sweep=self.sweep, schedule={**SCHEDULE, **schedule})

    def measure(self, url: str, point: dict[str, Any]) -> None:
        began = self.journal(events=[{"event": "point_started", "hash": point["hash"]}])["events"][0]
        asked = self.client.options(url, point=point, attempt=began["attempt"])
        asked["endpoints"][0]["name"] = self.name
        asked["barrier"]["names"] = [self.name]
        records = self.run_module("vllm_bench", **asked)["records"]
        ended = {"event": "point_ended", "hash": point["hash"], "attempt": began["attempt"]}
        self.journal(events=[*records, ended])


def test_a_noise_floor_comes_of_passes_with_fresh_engines_and_survives_a_reboot(
    run_module: RunModule, client: bench_rig.Resident, tmp_path: Path
) -> None:
    """The controller is gone after the third turn, and the last line of its journal is cut off."""
    sweep, lines = Sweep(run_module, client, tmp_path / "noise"), tmp_path / "noise" / "journal.jsonl"
    turns = sweep.open()["turns"]
    assert [(turn["point"]["concurrency"], turn["restart"]) for turn in turns] == [(1, True), (4, True)] * 3
    with bench_rig.stub(token_delay_s=0.005) as server:
        for turn in turns[:3]:
            sweep.measure(server.url, turn["point"])
        lines.write_text(lines.read_text()[:-40])
        after = sweep.open()["turns"]
        assert [turn["point"]["concurrency"] for turn in after] == [1, 4, 4]  # the torn line cost no run
        for turn in after:
            sweep.measure(server.url, turn["point"])
    assert sweep.open()["turns"] == []
    asked = {"path": sweep.path, "file": str(tmp_path / "noise-floor.json"), "sweep_id": sweep.open()["sweep_id"]}
    floor = run_module("noise_floor", **asked)
    assert not floor["failed"], floor
    (kept,) = json.loads((tmp_path / "noise-floor.json").read_text())
    assert (kept["n"], kept["concurrency"]) == (3, [1, 4])
    assert 0 < kept["metrics"]["output_tok_s"] < 1


def test_a_sweep_against_the_images_own(
    run_module: RunModule, client: bench_rig.Resident, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """The same two points, once each, by `vllm bench sweep serve` and by our modules; times are printed and kept."""
    sweep = Sweep(run_module, client, tmp_path / "ours")
    with bench_rig.stub(token_delay_s=0.005) as server:
        began = time.monotonic()
        turns = sweep.open(repeats=1)["turns"]
        for turn in turns:
            sweep.measure(server.url, turn["point"])
        ours_s = time.monotonic() - began
        points = [turn["point"] for turn in turns]
        theirs_s, done = client.run_sweep(server, points, tmp_path)
    if done is None:
        pytest.skip("this image has no `vllm bench sweep serve` that runs here")
    load_s = sum(result["duration"] for result in done)
    told = {"ours_s": ours_s, "sweep_serve_s": theirs_s, "load_of_sweep_serve_s": load_s}
    for name, value in told.items():
        record_property(name, round(value, 2))
    assert [result["completed"] for result in done] == [point["prompts"] for point in points]
    assert ours_s < theirs_s
