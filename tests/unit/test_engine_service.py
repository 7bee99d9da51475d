"""Units of engines start and stop all at once, with a small program in place of systemctl."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Module = Callable[..., dict[str, Any]]
NAMES = ["vllm-a-0", "vllm-a-1"]
SYSTEMCTL = """#!/usr/bin/python3
import json, pathlib, sys
state = pathlib.Path(__file__).with_name("units.json")
units, (word, *rest) = json.loads(state.read_text()), sys.argv[1:]
names = [name for name in rest if name.endswith(".service")]
if word == "show":  # a manager that still keeps what units were before
    for name in names:
        active, _, reload = units[name]
        print(f"Id={name}\\nActiveState={active}\\nUnitFileState=enabled\\nNeedDaemonReload={reload}\\n")
if word == "is-enabled":
    print(units[names[0]][1])
if word == "daemon-reload":
    units = {name: [*unit[:2], "no"] for name, unit in units.items()}
for name in names:
    if word in ("start", "stop"):
        units[name][0] = {"start": "active", "stop": "inactive"}[word]
    if word in ("enable", "disable"):
        assert "--no-reload" in rest
        units[name][1] = word + "d"
state.write_text(json.dumps(units))
with pathlib.Path(__file__).with_name("calls").open("a") as calls:
    print(word, *names, file=calls)
if word == "start" and "vllm-bad.service" in names:
    sys.exit("Job for vllm-bad.service failed.")
"""


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node with two engines that run, one that failed and one that cannot start; gives its folder."""
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "systemctl").write_text(SYSTEMCTL)
    (tmp_path / "systemctl").chmod(0o755)
    states = {name: ["active", "enabled", "no"] for name in NAMES}
    states |= {"vllm-b-0": ["failed", "disabled", "no"], "vllm-bad": ["inactive", "enabled", "no"]}
    states |= {"vllm-changed": ["inactive", "enabled", "yes"]}
    (tmp_path / "units.json").write_text(json.dumps({f"{name}.service": state for name, state in states.items()}))
    return tmp_path


def calls(node: Path) -> list[str]:
    return [line for line in (node / "calls").read_text().splitlines() if not line.startswith(("show", "is-enabled"))]


def test_engines_stop_at_the_same_time_and_only_once(run_module: Module, node: Path) -> None:
    first, second = (run_module("engine_service", names=NAMES, state="stopped", enabled=False) for _ in range(2))
    assert (first["names"], second["changed"]) == (NAMES, False)
    assert calls(node) == ["disable vllm-a-0.service vllm-a-1.service", "stop vllm-a-0.service vllm-a-1.service"]


def test_engine_that_stops_for_a_moment_stays_enabled(run_module: Module, node: Path) -> None:
    run_module("engine_service", names=NAMES, state="stopped", enabled=True)
    assert calls(node) == ["stop vllm-a-0.service vllm-a-1.service"]


def test_start_forgets_failures_and_leaves_what_runs(run_module: Module, node: Path) -> None:
    first, second = (run_module("engine_service", names=[*NAMES, "vllm-b-0"], state="started") for _ in range(2))
    assert (first["names"], second["changed"]) == (["vllm-b-0"], False)
    assert calls(node) == [f"{word} vllm-b-0.service" for word in ("enable", "reset-failed", "start")]


def test_changed_unit_is_read_again_before_it_starts_and_only_then(run_module: Module, node: Path) -> None:
    run_module("engine_service", names=["vllm-changed"], state="stopped")
    assert calls(node) == []
    first, second = (run_module("engine_service", names=["vllm-changed"], state="started") for _ in range(2))
    assert (first["names"], second["changed"]) == (["vllm-changed"], False)
    assert calls(node) == ["daemon-reload", "reset-failed vllm-changed.service", "start vllm-changed.service"]


def test_check_mode_only_says_what_would_change(run_module: Module, node: Path) -> None:
    assert run_module("engine_service", check=True, names=NAMES, state="stopped", enabled=False)["names"] == NAMES
    assert calls(node) == []


def test_unit_that_cannot_start_fails_in_one_line(run_module: Module, node: Path) -> None:
    result = run_module("engine_service", names=["vllm-bad"], state="started")
    assert result["failed"]
    assert result["msg"] == "systemctl start: Job for vllm-bad.service failed."


def test_files_of_an_engine_are_removed_once(run_module: Module, tmp_path: Path) -> None:
    places = {"unit_directory": str(tmp_path), "engine_directory": str(tmp_path)}
    for name in ("vllm-a-0.service", "vllm-a-0.env", "vllm-a-0.json", "vllm-b-0.service"):
        (tmp_path / name).touch()
    tried = run_module("engine_service", check=True, names=NAMES, state="absent", **places)
    first, second = (run_module("engine_service", names=NAMES, state="absent", **places) for _ in range(2))
    assert (tried["names"], first["names"], second["changed"]) == (["vllm-a-0"], ["vllm-a-0"], False)
    assert [path.name for path in tmp_path.iterdir()] == ["vllm-b-0.service"]


def test_no_engine_is_no_change(run_module: Module) -> None:
    assert not run_module("engine_service", names=[], state="started")["changed"]
