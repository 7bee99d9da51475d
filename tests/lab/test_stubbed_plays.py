"""tune.yml and reproduce.yml from end to end, with roles in place of engines that give the published figures."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.contract import house

INVENTORY = """
all:
  vars: {ansible_connection: local, ansible_become: false, ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  children:
    apollo: {hosts: {node1: {}}}
    gateway: {hosts: {node1: {}}}
"""
SPACE: dict[str, Any] = {
    "tune_dimensions": [
        {"name": "plan", "values": ["397b-base", "397b", "397b-d"], "start": "397b-base"},
        {"name": "gpu-memory-utilization", "values": [0.9, 0.95], "start": 0.9, "raises_load": True},
    ],
    "tune_ladder": [32, 64],
}


def play(
    name: str, folder: Path, *words: str, killed_at: str = "", **variables: Any
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, or until it says a text, at which it is killed with all its children."""
    (folder / "inventory.yml").write_text(INVENTORY)
    places = {"stub_results": str(folder), "stub_log": str(folder / "starts"), "stub_project": str(house.PROJECT)}
    told = json.dumps({**places, "tune_results_path": str(folder), "reproduce_results_path": str(folder), **variables})
    paths = f"{house.PROJECT / 'tests/support/stub_roles'}:{house.PROJECT / 'roles'}"
    environment = {**os.environ, "ANSIBLE_CONFIG": str(house.PROJECT / "ansible.cfg"), "ANSIBLE_ROLES_PATH": paths}
    command = ["ansible-playbook", "-i", str(folder / "inventory.yml"), f"playbooks/{name}.yml", "-e", told, *words]
    if killed_at:
        command = [sys.executable, "-m", "tests.support.kill_at", killed_at, *command]
    return subprocess.run(
        command, cwd=house.PROJECT, env={**environment, "ANSIBLE_NOCOLOR": "1"}, capture_output=True, text=True
    )


def starts(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "starts").read_text().splitlines()]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("tune")
    done = play("tune", folder, tune_apply=True, tune_catalog_path=str(folder / "catalog"), **SPACE)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


def test_check_mode_only_says_what_a_search_takes(tmp_path: Path) -> None:
    done = play("tune", tmp_path, "--check", **SPACE)
    assert done.returncode == 0, done.stdout
    assert "at most 4 engine starts and 8 points" in done.stdout
    assert not (tmp_path / "tune").exists()


def test_a_search_finds_c_and_says_so(tuned: tuple[Path, str]) -> None:
    folder, told = tuned
    found = json.loads((folder / "tune" / "tune.json").read_text())
    assert found["winner"]["setting"] == {"plan": "397b", "gpu-memory-utilization": 0.9}
    assert found["admission"]["cap_per_endpoint"] >= 32
    assert "661.0 tok/s at N=32, after 4 starts" in " ".join(told.split()), told[-1500:]


def test_a_setting_that_cannot_be_served_is_a_result(tuned: tuple[Path, str]) -> None:
    ended = json.loads((tuned[0] / "tune" / "tune.json").read_text())["ended"]
    assert ended["gpu-memory-utilization=0.95, plan=397b"] == "broke down at N=32"
    assert ended["gpu-memory-utilization=0.9, plan=397b-d"] == "broke down at N=64"


def test_the_winner_is_written_into_the_catalog_of_the_site_on_request(tuned: tuple[Path, str]) -> None:
    catalog = tuned[0] / "catalog"
    plan = house.plain_yaml((catalog / "plans" / "397b.yml").read_text())
    variant = house.plain_yaml((catalog / "variants" / "397b-c-tuned.yml").read_text())
    assert plan["replicas"][0]["variant"] == "397b-c-tuned"
    assert variant["arguments"]["max-num-seqs"] == plan["gateway"]["cap_per_endpoint"] >= 32


def test_applying_needs_a_place_before_anything_is_measured(tmp_path: Path) -> None:
    done = play("tune", tmp_path, tune_apply=True, **SPACE)
    assert done.returncode != 0
    assert "tune_catalog_path is empty" in done.stdout
    assert not (tmp_path / "starts").exists()


def test_what_was_proved_is_left_serving(tuned: tuple[Path, str]) -> None:
    assert starts(tuned[0])[-1] == {"plan": "397b", "arguments": {}}
    [proof] = tuned[0].glob("*-tune-proof/manifest.json")
    [sweep] = json.loads(proof.read_text())["sweeps"]
    cap = json.loads((tuned[0] / "tune" / "tune.json").read_text())["admission"]["cap_per_endpoint"]
    assert sweep["settings"]["concurrency"] == [cap]


@pytest.fixture(scope="module")
def unproved(tuned: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The same search, which is over, and an overload that did not keep the level."""
    folder = tmp_path_factory.mktemp("unproved")
    shutil.copytree(tuned[0] / "tune", folder / "tune")
    told: dict[str, Any] = {
        "tune_apply": True,
        "tune_catalog_path": str(folder / "catalog"),
        "stub_overload_fails": True,
    }
    done = play("tune", folder, **told, **SPACE)
    assert done.returncode != 0
    return folder, done.stdout


def test_what_was_not_proved_is_not_kept_and_says_why_in_one_line(unproved: tuple[Path, str]) -> None:
    assert "what the search would let in is not kept: the first token came too late" in unproved[1]
    assert not (unproved[0] / "catalog").exists()


def test_a_search_that_is_over_starts_nothing_but_winner_and_what_stood_before(unproved: tuple[Path, str]) -> None:
    assert [start["plan"] for start in starts(unproved[0])] == ["397b", "397b-base"]


def test_a_reproduce_that_was_killed_goes_on_and_serves_nothing_twice(tmp_path: Path) -> None:
    """The first start is killed after the first of two plans; a third start finds nothing left to serve."""
    plans = [{"plan": "397b", "concurrency": [1, 32]}, {"plan": "397b-a", "concurrency": [1, 64]}]
    asked: dict[str, Any] = {"reproduce_plans": plans, "reproduce_limits": ["limits-lab.yml"]}
    play("reproduce", tmp_path, killed_at="plan | Resolve 397b-a", **asked)
    assert [start["plan"] for start in starts(tmp_path)] == ["397b"]
    assert not (tmp_path / "reproduce" / "reproduce.json").exists()
    play("reproduce", tmp_path, **asked)
    assert [start["plan"] for start in starts(tmp_path)] == ["397b", "397b-a"]
    lines = (tmp_path / "reproduce" / "journal.jsonl").read_text().splitlines()
    play("reproduce", tmp_path, **asked)
    assert len(starts(tmp_path)) == 2
    assert (tmp_path / "reproduce" / "journal.jsonl").read_text().splitlines() == lines
    tables = json.loads((tmp_path / "reproduce" / "reproduce.json").read_text())
    [sparse] = [table for table in tables if table["name"] == "results_397b"]
    known = {figure["row"] for figure in sparse["figures"] if figure["ours"] is not None}
    assert {"c", "a"} <= known


def test_reproduce_prints_all_tables_though_a_plan_does_not_start(tmp_path: Path) -> None:
    plans = [{"plan": "397b", "concurrency": [1, 32]}, {"plan": "397b-b", "concurrency": [1, 64]}]
    plans.append({"plan": "27b", "concurrency": [1, 8, 32, 64, 128]})
    done = play("reproduce", tmp_path, reproduce_plans=plans, stub_unservable=["397b-b"])
    assert done.returncode != 0
    assert "checks of limits are broken" in done.stdout
    assert "397b-b does not start" in done.stdout
    assert (tmp_path / "reproduce" / "junit.xml").exists()
    tables = json.loads((tmp_path / "reproduce" / "reproduce.json").read_text())
    verdicts = {(figure["row"], figure["verdict"]) for table in tables for figure in table["figures"]}
    assert {("N = 128", "pass"), ("c", "pass"), ("b", "missing")} <= verdicts
