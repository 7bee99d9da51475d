"""Two runs side by side: the factor, its interval, and a verdict that noise cannot make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo.bench_rows import Sweep, read_rows
from ansible.module_utils.apollo.compare import Comparison, compare, judge_ratio
from ansible.module_utils.apollo.judge_noise import NoiseFloor
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import RunModule
from tests.support import bench_samples as samples

NOISE = NoiseFloor("27b", {"output_tok_s": 0.02, "total_output_tok_s": 0.02, "ttft_mean_ms": 0.1})


def journal(swept: dict[str, Any], factor: float = 1.0) -> list[dict[str, Any]]:
    """Runs whose every answer takes that many times as long."""
    events = []
    for point in swept["points"]:
        n = point["concurrency"]
        told = samples.result(n, point["prompts"], 32, 0.1 * factor, 0.01 * factor)
        events += [samples.run(point, endpoint["name"], **told) for endpoint in swept["layout"]["endpoints"]]
    return events


def sweeps(factor: float = 1.0, **placed: Any) -> list[Sweep]:
    swept = samples.sweep(**placed)
    return read_rows(samples.manifest(swept), journal(swept, factor))


def verdicts(told: Comparison, metric: str) -> set[str]:
    return {change.verdict for change in told.changes if change.metric == metric}


def held(before: list[Sweep], after: list[Sweep], *allow: str, floors: tuple[NoiseFloor, ...] = ()) -> Comparison:
    return compare({"a": before}, {"b": after}, allow, floors)[0]


@pytest.mark.parametrize(
    ("factor", "speed", "first"),
    [(1.5, "worse", "worse"), (0.6, "better", "better"), (1.03, "same", "same"), (1.15, "worse", "same")],
)
def test_a_change_counts_only_beyond_noise(factor: float, speed: str, first: str) -> None:
    told = held(sweeps(), sweeps(factor), floors=(NOISE,))
    assert verdicts(told, "output_tok_s") == {speed}
    assert verdicts(told, "ttft_mean_ms") == {first}


def test_repeats_that_happen_to_agree_are_no_quieter_than_the_machine() -> None:
    for noise, verdict in ((0.0, False), (0.02, True)):
        judged = judge_ratio([100.0, 100.0, 100.0], [101.0, 101.0, 101.0], noise)
        assert judged is not None
        assert (judged[1] <= 1 <= judged[2]) is verdict


def test_one_run_of_each_without_a_noise_floor_is_no_evidence() -> None:
    told = held(sweeps(), sweeps(1.5))
    assert {change.verdict for change in told.changes} == {"open"}
    assert told.changes[0].ratio == pytest.approx(1 / 1.5, rel=0.01)


def test_unequal_settings_are_refused_by_name() -> None:
    told = held(sweeps(), sweeps(variant="27b-mtp"))
    assert told.refused == ["variant is 27b-base there and 27b-mtp here"]
    assert told.changes == []


def test_an_allowed_difference_is_named_and_compared() -> None:
    told = held(sweeps(), sweeps(variant="27b-mtp"), "variant")
    assert (told.refused, told.allowed) == ([], ["variant is 27b-base there and 27b-mtp here"])
    assert told.changes


def test_a_plan_that_the_baseline_lacks_is_held_against_its_only_sweep() -> None:
    told = held(sweeps(endpoints=1), sweeps(plan="27b-one", endpoints=1), "plan")
    assert (told.before, told.after) == ("a 27b", "b 27b-one")
    assert told.refused == []


@given(st.lists(st.floats(50, 200), min_size=2, max_size=6), st.floats(0.1, 10))
def test_scaling_all_values_scales_the_ratio_alone(values: list[float], factor: float) -> None:
    same = judge_ratio(values, values, 0.0)
    scaled = judge_ratio(values, [value * factor for value in values], 0.0)
    assert same is not None
    assert scaled is not None
    assert same[0] == pytest.approx(1.0)
    assert scaled == pytest.approx(tuple(edge * factor for edge in same))


@given(st.lists(st.floats(50, 200), min_size=3, max_size=6))
def test_a_run_against_itself_is_never_better_or_worse(values: list[float]) -> None:
    judged = judge_ratio(values, list(reversed(values)), 0.0)
    assert judged is not None
    assert judged[1] <= 1 + 1e-12
    assert judged[2] >= 1 - 1e-12


def write(folder: Path, factor: float = 1.0, **placed: Any) -> str:
    swept = samples.sweep(**placed)
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(samples.manifest(swept, kind="lab")))
    (folder / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in journal(swept, factor)))
    return str(folder)


@pytest.mark.parametrize("check", [False, True])
def test_the_module_tells_what_changed(run_module: RunModule, tmp_path: Path, check: bool) -> None:
    runs = write(tmp_path / "old"), write(tmp_path / "new", 1.5)
    floor = tmp_path / "noise-floor.json"
    floor.write_text(json.dumps({"plan": "27b", "metrics": dict(NOISE.cv)}))
    told = run_module("bench_compare", check, baseline=runs[0], runs=[runs[1]], noise_floor=str(floor))
    assert (told["failed"], told["changed"]) == (False, False)
    assert told["summary"] == "9 figures compared: 6 worse, 3 open"
    assert "LAB: simulated" in told["markdown"]
    assert "| 8 | output_tok_s, tok/s | 624.4 | " in told["markdown"]


def test_the_module_refuses_in_one_line_and_returns_the_whole_table(run_module: RunModule, tmp_path: Path) -> None:
    runs = write(tmp_path / "old"), write(tmp_path / "new", variant="27b-mtp")
    told = run_module("bench_compare", baseline=runs[0], runs=[runs[1]])
    assert told["failed"]
    assert told["msg"].startswith("not comparable: variant is 27b-base there and 27b-mtp here: ")
    assert "- refused: variant is 27b-base there" in told["markdown"]


@pytest.mark.parametrize("name", ["nowhere", "old"])
def test_what_cannot_be_compared_is_said_in_one_line(run_module: RunModule, tmp_path: Path, name: str) -> None:
    run = write(tmp_path / "old")
    told = run_module("bench_compare", baseline=run, runs=[str(tmp_path / name)])
    assert told["failed"]
    assert told["msg"].startswith("cannot compare: ")
