"""A tolerance is never tighter than this machine's own noise, and unequal settings are not compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo.bench_rows import Sweep, read_rows
from ansible.module_utils.apollo.judge import judge
from ansible.module_utils.apollo.judge_limits import Limit
from ansible.module_utils.apollo.judge_noise import NoiseFloor, read_noise
from ansible.module_utils.apollo.judge_settings import differences, is_allowed, settings_of

from tests.conftest import RunModule
from tests.support import bench_samples as samples

LIMIT = Limit("One user", "output_tok_s", "27b", 1, 80.0, "tok/s", "at_least", "a table", relative=0.01)
HARDWARE = samples.sweep()["hardware"]


def sweeps() -> list[Sweep]:
    """One user gets 78.05 tok/s here, 2.4 % below the limit."""
    swept = samples.sweep()
    return read_rows(samples.manifest(swept), samples.runs(swept))


def verdict(limit: Limit = LIMIT, *floors: NoiseFloor) -> str:
    return judge(sweeps(), [limit], floors=floors).findings[0].verdict


@pytest.mark.parametrize(
    ("floor", "wanted"),
    [
        (NoiseFloor("27b", {"output_tok_s": 0.002}), "fail"),  # the stated tolerance is the larger one
        (NoiseFloor("27b", {"output_tok_s": 0.02}), "pass"),
        (NoiseFloor("27b", {"ttft_mean_ms": 0.5}), "fail"),
        (NoiseFloor("27b", {"output_tok_s": 5.0}), "pass"),
        (NoiseFloor("397b", {"output_tok_s": 0.02}), "fail"),
        (NoiseFloor("27b", {"output_tok_s": 0.02}, hardware={"node1": {"gpus": "8 x B"}}), "fail"),
        (NoiseFloor("27b", {"output_tok_s": 0.02}, hardware=HARDWARE), "pass"),
    ],
)
def test_the_larger_tolerance_holds_where_the_floor_fits(floor: NoiseFloor, wanted: str) -> None:
    assert verdict(LIMIT) == "fail"
    assert verdict(LIMIT, floor) == wanted


def test_no_noise_makes_a_limit_that_cannot_fail() -> None:
    assert verdict(replace(LIMIT, value=160.0), NoiseFloor("27b", {"output_tok_s": 5.0})) == "fail"


def test_the_table_says_what_noise_did() -> None:
    told = judge(sweeps(), [LIMIT], floors=[NoiseFloor("27b", {"output_tok_s": 0.02})]).as_dict()["findings"][0]
    assert told["tolerance"] == {"relative": 0.01, "absolute": 0.0, "noise": 0.04, "used": pytest.approx(3.2)}


@pytest.mark.parametrize("data", [[], 5, {"plan": "27b"}, {"plan": "27b", "metrics": {"output_tok_s": "much"}}])
def test_what_is_no_noise_floor_is_refused(data: Any) -> None:
    if data == []:
        assert read_noise(data, "noise.json") == []
        return
    with pytest.raises(ValueError, match=r"noise\.json: "):
        read_noise(data, "noise.json")


def test_a_metric_that_was_not_measured_has_no_noise() -> None:
    data = {"plan": "27b", "metrics": {"output_tok_s": None, "ttft_mean_ms": 0.1}, "n": 5, "run_id": "r"}
    assert read_noise(data, "noise.json")[0].share("output_tok_s") == 0.0


def test_unequal_settings_are_refused_and_the_difference_is_named() -> None:
    finding = judge(sweeps(), [replace(LIMIT, value=1.0, made_with={"input_tokens": 2048})]).findings[0]
    assert finding.verdict == "missing"
    assert "not comparable, since input_tokens is 64 here and 2048 there" in finding.line


def test_a_setting_that_was_not_recorded_is_unequal() -> None:
    finding = judge(sweeps(), [replace(LIMIT, made_with={"dataset": "random"})]).findings[0]
    assert finding.refused == "dataset is not recorded here and random there"


def test_equal_settings_are_compared() -> None:
    assert verdict(replace(LIMIT, value=1.0, made_with={"input_tokens": 64, "restart": True})) == "pass"


def test_settings_of_two_sweeps_differ_by_name() -> None:
    left, right = (
        settings_of(read_rows(samples.manifest(swept), [])[0])
        for swept in (samples.sweep(), samples.sweep({**samples.SETTINGS, "seed": 1}, variant="27b-mtp"))
    )
    assert differences(left, right) == {"seed": (0, 1), "variant": ("27b-base", "27b-mtp")}


@pytest.mark.parametrize(
    ("name", "allowed", "wanted"),
    [("variant", ["variant"], True), ("argument seed", ["argument *"], True), ("seed", ["argument *"], False)],
)
def test_a_difference_is_allowed_by_name(name: str, allowed: list[str], wanted: bool) -> None:
    assert is_allowed(name, allowed) is wanted


@pytest.mark.parametrize(("cv", "failed"), [(0.001, True), (0.5, False)])
def test_the_module_reads_the_floor_that_is_there(
    run_module: RunModule, tmp_path: Path, cv: float, failed: bool
) -> None:
    swept = samples.sweep({**samples.SETTINGS, "concurrency": [1]})
    (tmp_path / "manifest.json").write_text(json.dumps(samples.manifest(swept)))
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in samples.runs(swept)))
    entry = {"name": "x", "metric": "output_tok_s", "plan": "27b", "n": 1, "value": 80, "unit": "tok/s"}
    limits = {"limits": [{**entry, "direction": "at_least", "source": "a test"}]}
    (tmp_path / "limits.yml").write_text(json.dumps(limits))
    floor = tmp_path / "noise-floor.json"
    floor.write_text(json.dumps({"plan": "27b", "metrics": {"output_tok_s": cv}, "n": 5}))
    options = {"path": str(tmp_path), "limits": [str(tmp_path / "limits.yml")]}
    assert run_module("bench_judge", noise_floor=str(floor), **options)["failed"] is failed
    assert run_module("bench_judge", noise_floor=str(tmp_path / "none.json"), **options)["failed"]
