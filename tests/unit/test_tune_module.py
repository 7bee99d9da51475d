"""bench_tune_info reads a run's journal as the search's memory, and refuses a space that could not be searched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunModule
from tests.support import stub_bench

SPECULATION = {"method": "mtp", "num_speculative_tokens": 2}
SPACE: dict[str, Any] = {
    "dimensions": [
        {"name": "plan", "values": ["397b", "397b-d"]},
        {"name": "speculative-config", "values": [SPECULATION, {**SPECULATION, "num_speculative_tokens": 3}]},
    ],
    "ladder": [32, 64],
    "ttft_p95_ms": 8000,
    "floor_tok_s": 10,
}


def look(run_module: RunModule, folder: Path, check: bool = False, **changed: Any) -> dict[str, Any]:
    space = {name: value for name, value in {**SPACE, **changed}.items() if value is not None}
    return run_module("bench_tune_info", check, path=str(folder), space=space)


def measure(folder: Path, told: dict[str, Any]) -> None:
    step = told["next_step"]
    layout = {"plan": step["setting"]["plan"], "arguments": step["arguments"]}
    stub_bench.measure(folder, layout, [step["n"]])


@pytest.mark.parametrize("check", [False, True])
def test_a_run_that_is_not_there_yet_starts_with_the_first_step(
    run_module: RunModule, tmp_path: Path, check: bool
) -> None:
    told = look(run_module, tmp_path / "tune", check)
    assert (told["changed"], told["winner"], told["starts"]) == (False, None, 0)
    assert told["next_step"] == {
        "setting": {"plan": "397b", "speculative-config": SPECULATION},
        "n": 32,
        "needs_start": True,
        "arguments": {"speculative-config": SPECULATION},
    }
    assert not (tmp_path / "tune").exists()


def test_the_journal_is_all_that_a_search_remembers(run_module: RunModule, tmp_path: Path) -> None:
    told = look(run_module, tmp_path)
    while told["next_step"]:
        measure(tmp_path, told)
        told = look(run_module, tmp_path)
    assert told["winner"]["setting"] == {"plan": "397b", "speculative-config": SPECULATION}
    assert (told["winner"]["n"], told["starts"]) == (32, 3)
    assert told["admission"]["cap_per_endpoint"] >= 32
    assert [why for why in told["ended"].values() if why == "broke down at N=64"]


def test_what_could_not_be_served_is_remembered(run_module: RunModule, tmp_path: Path) -> None:
    setting = look(run_module, tmp_path)["next_step"]["setting"]
    event = {"event": "tune_broke", "setting": setting, "n": 32, "why": "does not start"}
    (tmp_path / "journal.jsonl").write_text(json.dumps(event) + "\n")
    told = look(run_module, tmp_path)
    assert list(told["ended"].values()) == ["broke down at N=32"]
    assert told["next_step"]["setting"]["plan"] == "397b-d"


def test_what_does_not_fit_is_ruled_out_without_a_start(run_module: RunModule, tmp_path: Path) -> None:
    setting = look(run_module, tmp_path)["next_step"]["setting"]
    event = {"event": "tune_broke", "setting": setting, "n": 32, "started": False, "why": "it lacks 3 GiB on each GPU"}
    (tmp_path / "journal.jsonl").write_text(json.dumps(event) + "\n")
    told = look(run_module, tmp_path)
    assert list(told["ended"].values()) == ["it lacks 3 GiB on each GPU"]
    assert (told["starts"], told["next_step"]["setting"]["plan"]) == (0, "397b-d")


def test_what_is_excluded_is_never_asked_for(run_module: RunModule, tmp_path: Path) -> None:
    told = look(run_module, tmp_path, excluded=[{"plan": "397b", "why": "does not fit"}])
    assert told["next_step"]["setting"]["plan"] == "397b-d"
    assert told["line"].startswith("at most 2 engine starts and 4 points")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"ladder": None}, "space lacks ladder"),
        ({"step": 1}, "space does not know 'step'"),
        ({"ladder": [64, 32]}, "ladder is [64, 32]: give each N once, the smallest first"),
        ({"dimensions": [{"name": "max-num-seqs", "values": [32]}]}, "the first dimension is 'max-num-seqs'"),
        ({"dimensions": [{"name": "plan", "values": []}]}, "dimension 'plan' needs a name and values"),
        ({"dimensions": [{"name": "plan", "values": ["a"], "start": "b"}]}, "starts at b, which is none of its values"),
    ],
)
def test_a_space_that_could_not_be_searched_is_refused_in_one_line(
    run_module: RunModule, tmp_path: Path, changed: dict[str, Any], told: str
) -> None:
    found = look(run_module, tmp_path, **changed)
    assert found["failed"]
    assert told in found["msg"]
    assert "\n" not in found["msg"]
