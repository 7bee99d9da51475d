"""bench_judge fails in one line and returns the whole table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunModule
from tests.support import bench_samples as samples

LIMIT = """limits:
  - name: Fast
    metric: output_tok_s
    plan: 27b
    n: "*"
    value: {value}
    unit: tok/s
    direction: at_least
    source: a test
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    swept = samples.sweep()
    (tmp_path / "manifest.json").write_text(json.dumps(samples.manifest(swept)))
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in samples.runs(swept)))
    return tmp_path


def judge(run_module: RunModule, folder: Path, text: str, **changed: Any) -> dict[str, Any]:
    (folder / "limits.yml").write_text(text)
    return run_module("bench_judge", path=str(folder), limits=[str(folder / "limits.yml")], **changed)


def test_limits_that_hold_pass(run_module: RunModule, folder: Path) -> None:
    told = judge(run_module, folder, LIMIT.format(value=1))
    assert (told["failed"], told["changed"]) == (False, False)
    assert told["verdict"]["summary"] == "pass: 4 checks of limits: 4 pass"


def test_a_broken_limit_fails_in_one_line_with_the_count_and_the_worst(run_module: RunModule, folder: Path) -> None:
    told = judge(run_module, folder, LIMIT.format(value=1000))
    assert told["failed"]
    assert told["msg"].startswith("4 of 4 checks of limits are broken. Worst: Fast: 27b N=1 vllm-27b-0: ")
    assert "\n" not in told["msg"]
    assert len(told["verdict"]["findings"]) == 4


def test_it_judges_the_same_in_check_mode(run_module: RunModule, folder: Path) -> None:
    told = [judge(run_module, folder, LIMIT.format(value=1000), check=check)["verdict"] for check in (False, True)]
    assert told[0] == told[1]


def test_it_writes_nothing(run_module: RunModule, folder: Path) -> None:
    (folder / "limits.yml").write_text("")
    before = {path.name for path in folder.iterdir()}
    judge(run_module, folder, LIMIT.format(value=1000))
    assert {path.name for path in folder.iterdir()} == before


def test_a_run_without_any_result_fails(run_module: RunModule, folder: Path) -> None:
    (folder / "journal.jsonl").unlink()
    told = judge(run_module, folder, LIMIT.format(value=1))
    assert told["verdict"]["uncounted_points"] == ["27b N=1 does not count: not run", "27b N=8 does not count: not run"]


@pytest.mark.parametrize("text", ["limits: [", "- a", "limits: [{name: x}]"])
def test_a_bad_file_of_limits_is_named_in_one_line(run_module: RunModule, folder: Path, text: str) -> None:
    told = judge(run_module, folder, text)
    assert told["failed"]
    assert "limits.yml: " in told["msg"]
    assert "\n" not in told["msg"]


def test_a_run_that_is_not_there_is_named(run_module: RunModule, tmp_path: Path) -> None:
    told = run_module("bench_judge", path=str(tmp_path / "nowhere"))
    assert told["failed"]
    assert "nowhere" in told["msg"]
