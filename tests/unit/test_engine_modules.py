"""What modules read of engines, with small programs in place of docker and systemctl."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Module = Callable[..., dict[str, Any]]
CONTAINER = {
    "Name": "/vllm-a-0",
    "Id": "c1",
    "Image": "sha256:1",
    "State": {"Running": True, "StartedAt": "now"},
    "Config": {"Labels": {"apollo.revision": "r1", "apollo.plan": "a"}},
}
DOCKER = f"""case "$*" in
  version*) echo 27.0 ;;
  ps*) echo c1 ;;
  inspect*) echo '{json.dumps([CONTAINER])}' ;;
  "image inspect"*) echo sha256:1 ;;
  "logs vllm-a-0") echo "Using 'MARLIN' backend"; echo ready >&2 ;;
  *) echo "no such container" >&2; exit 1 ;;
esac"""
SYSTEMCTL = """case "$1" in
  is-enabled) echo enabled ;;
  *) printf 'Id=vllm-a-0.service\\nActiveState=active\\nNRestarts=2\\nUnitFileState=disabled\\n' ;;
esac"""


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A node without programs and files of ours; gives the options that point there."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "units").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/nowhere")
    return {
        "unit_directory": str(tmp_path / "units"),
        "plan_path": str(tmp_path / "plan"),
        "record_path": str(tmp_path / "plan.json"),
        "docker_path": str(tmp_path),
    }


@pytest.fixture
def serving(node: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The same node with one engine that runs."""
    for name, body in {"docker": DOCKER, "systemctl": SYSTEMCTL}.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    (tmp_path / "units" / "vllm-a-0.service").write_text("[X-Apollo]\nPlan=a\nRank=0\n")
    (tmp_path / "plan").write_text("a\n")
    (tmp_path / "plan.json").write_text('{"plan": "a"}')
    return node


def archive(path: Path, image: str) -> str:
    (path / "manifest.json").write_text(json.dumps([{"Config": f"blobs/sha256/{image}"}]))
    with tarfile.open(path / "image.tar", "w") as tar:
        tar.add(path / "manifest.json", "manifest.json")
    return str(path / "image.tar")


def test_bare_node_is_no_failure(run_module: Module, node: dict[str, str]) -> None:
    result = run_module("engine_info", wanted=[{"name": "vllm-a-0", "revision": "r1"}], image="i", **node)
    assert not result["failed"]
    assert (result["present"], result["engines"], result["plan"], result["record"]) == (False, [], "", {})
    assert result["stale"] == ["vllm-a-0"]
    assert result["free_gb"] > 0


def test_what_an_engine_needs_and_is_gone_is_told(run_module: Module, node: dict[str, str], tmp_path: Path) -> None:
    whole, cut, gone = (tmp_path / name for name in ("whole", "cut", "gone"))
    told = {"files": {"config.json": {"size": 2, "mtime_ns": 0}, "model.safetensors": {"size": 3, "mtime_ns": 0}}}
    for directory in (whole, cut):
        directory.mkdir()
        (directory / "config.json").write_text("{}")
        (directory / ".complete").write_text(json.dumps(told))
    (whole / "model.safetensors").write_text("abc")
    (cut / "model.safetensors").write_text("a")
    result = run_module("engine_info", image="i", models=[str(whole), str(cut), str(gone)], **node)
    assert result["gone"] == ["image i", f"{cut}/model.safetensors", f"{gone}/config.json"]


def test_running_engine_is_told(run_module: Module, serving: dict[str, str]) -> None:
    result = run_module("engine_info", wanted=[{"name": "vllm-a-0", "revision": "r1"}], image="i", **serving)
    [engine] = result["engines"]
    assert (engine["plan"], engine["rank"], engine["state"], engine["restarts"]) == ("a", 0, "active", 2)
    assert (engine["enabled"], engine["running"], engine["container_id"]) == (True, True, "c1")
    assert (result["stale"], result["unwanted"], result["plan"], result["record"]) == ([], [], "a", {"plan": "a"})


def test_engine_of_another_plan_is_unwanted(run_module: Module, serving: dict[str, str]) -> None:
    result = run_module("engine_info", wanted=[{"name": "vllm-b-0", "revision": "r"}], image="i", **serving)
    assert (result["stale"], result["unwanted"]) == (["vllm-b-0"], ["vllm-a-0"])


@pytest.mark.parametrize(("image", "current"), [("1", True), ("2", False)])
def test_image_is_compared_with_its_archive(
    run_module: Module, serving: dict[str, str], tmp_path: Path, image: str, current: bool
) -> None:
    result = run_module("engine_info", image="i", image_archive=archive(tmp_path, image), **serving)
    assert (result["archive_present"], result["image_current"]) == (True, current)


def test_archive_that_is_not_there_is_told(run_module: Module, serving: dict[str, str]) -> None:
    result = run_module("engine_info", image="i", image_archive="/nowhere/image.tar", **serving)
    assert (result["archive_present"], result["image_current"]) == (False, True)


def test_log_is_read_from_both_streams(run_module: Module, serving: dict[str, str]) -> None:
    rule = {"must": ["MARLIN", "^ready$"], "must_not": ["NET/Socket"]}
    assert run_module("vllm_log", engines=[{"name": "vllm-a-0", "log": rule}])["faults"] == []


def test_each_broken_rule_is_one_line(run_module: Module, serving: dict[str, str]) -> None:
    rule = {"must": ["TRITON"], "must_not": ["MARLIN"]}
    result = run_module("vllm_log", engines=[{"name": "vllm-a-0", "log": rule}])
    assert result["failed"]
    assert len(result["faults"]) == 2
    assert "\n" not in result["msg"]


def test_only_the_start_of_a_log_is_read(run_module: Module, serving: dict[str, str]) -> None:
    rule = {"must": ["^ready$"], "must_not": []}
    assert run_module("vllm_log", lines=1, engines=[{"name": "vllm-a-0", "log": rule}])["failed"]


def test_engine_without_a_container_has_no_log(run_module: Module, serving: dict[str, str]) -> None:
    result = run_module("vllm_log", engines=[{"name": "vllm-x-0", "log": {}}])
    assert "the log of vllm-x-0 cannot be read" in result["msg"]
