"""A damaged file of a run ends in one line that names it and the remedy, whoever reads the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.basic import AnsibleModule

from tests.conftest import PROJECT, RunModule
from tests.support import bench_samples as samples

ROLE, REFERENCE = PROJECT / "roles" / "bench", PROJECT / "reference"
PLACES = {"templates": str(ROLE / "templates"), "assets": str(ROLE / "files"), "words": str(REFERENCE / "words")}
VERDICT = {"overall": "pass", "summary": "", "counts": {}, "worst": [], "uncounted": [], "findings": []}
SPACE = {"dimensions": [{"name": "plan", "values": ["27b"]}], "ladder": [8], "ttft_p95_ms": 2000, "floor_tok_s": 10}
READERS: dict[str, dict[str, Any]] = {
    "bench_journal": {"about": {"run_id": "run-1"}},
    "bench_judge": {},
    "bench_report": {"verdict": VERDICT, **PLACES},
    "bench_reproduce": {"verdict": VERDICT, **PLACES, "reference": str(REFERENCE / "published.yml")},
    "bench_tune_info": {"space": SPACE},
    "bench_overload_info": {"layout": samples.layout(), "output_tokens": 32},
    "noise_floor": {"sweep_id": "x"},
    "bench_compare": {},
}
DAMAGED = {
    "": "is empty",
    "{": "is no JSON",
    "[]": "is no manifest of a run",
    '{"sweeps": 3}': "is no manifest of a run",
    '{"sweeps": [{"id": "x"}]}': "has a sweep without id, layout, settings or points",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run of two points."""
    about = samples.sweep()
    run = tmp_path / "run-1"
    run.mkdir()
    (run / "manifest.json").write_text(json.dumps(samples.manifest(about)))
    (run / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in samples.runs(about)))
    return run


def read(run_module: RunModule, name: str, folder: Path) -> dict[str, Any]:
    """A module that reads runs, on this one."""
    places: dict[str, Any] = {"path": str(folder)}
    if name == "noise_floor":
        places["file"] = str(folder.parent / "noise-floor.json")
    if name == "bench_compare":
        places = {"baseline": str(folder), "runs": [str(folder.parent / "other")]}
    return run_module(name, **places, **READERS[name])


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("content", DAMAGED, ids=DAMAGED.values())
def test_a_damaged_manifest_is_named_with_the_remedy(
    run_module: RunModule, folder: Path, name: str, content: str
) -> None:
    (folder / "manifest.json").write_text(content)
    told = read(run_module, name, folder)
    assert told["failed"]
    assert f"{folder}/manifest.json: {DAMAGED[content]}" in told["msg"]
    assert "put a good copy in its place, or move run-1 away" in told["msg"]
    assert "\n" not in told["msg"]
    assert (folder / "manifest.json").read_text() == content


@pytest.mark.parametrize("name", sorted(set(READERS) - {"bench_journal", "bench_tune_info"}))
def test_a_folder_without_a_run_is_named(run_module: RunModule, tmp_path: Path, name: str) -> None:
    told = read(run_module, name, tmp_path / "nothing")
    assert told["failed"]
    assert f"{tmp_path}/nothing holds no run" in told["msg"]


@pytest.mark.parametrize("name", sorted(set(READERS) - {"bench_compare", "noise_floor", "bench_overload_info"}))
@pytest.mark.parametrize(
    "line",
    [
        b"\0\0\0\0",
        b'{"event": "run", "ha',
        b'{"event": "run"}',
        b"[1]",
        b"\xff\xfe",
        b'{"event": 3}',
        b'{"event": "fact"}',
    ],
)
def test_a_damaged_line_of_the_journal_spoils_itself_only(
    run_module: RunModule, folder: Path, name: str, line: bytes
) -> None:
    lines = (folder / "journal.jsonl").read_bytes().splitlines()
    (folder / "journal.jsonl").write_bytes(b"\n".join([lines[0], line, *lines[1:]]) + b"\n")
    told = read(run_module, name, folder)
    assert "Traceback" not in json.dumps(told)
    assert not told["failed"], told["msg"]


def test_who_judges_is_told_of_a_damaged_line(
    run_module: RunModule, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(AnsibleModule, "warn", lambda _module, warning: warnings.append(warning))
    lines = (folder / "journal.jsonl").read_text().splitlines()
    (folder / "journal.jsonl").write_text("\n".join([lines[0][:-9], *lines[1:]]) + "\n")
    run_module("bench_judge", path=str(folder))
    assert f"{folder}/journal.jsonl: 1 line(s) cannot be read" in str(warnings)


@pytest.mark.parametrize("name", ["bench_judge", "noise_floor"])
def test_a_damaged_noise_floor_is_named_with_the_remedy(run_module: RunModule, folder: Path, name: str) -> None:
    file = folder.parent / "noise-floor.json"
    file.write_text('[{"plan"')
    [sweep] = json.loads((folder / "manifest.json").read_text())["sweeps"]
    options = {"bench_judge": {"noise_floor": str(file)}, "noise_floor": {"file": str(file), "sweep_id": sweep["id"]}}
    told = run_module(name, path=str(folder), **options[name])
    assert told["failed"]
    assert f"{file}: is no JSON" in told["msg"]
    assert "move it away" in told["msg"]
