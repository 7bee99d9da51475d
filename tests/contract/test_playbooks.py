"""Every playbook parses on each inventory, and a plan can be asked for by its tag."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lab.cli import COMMANDS
from tests.contract import house, layouts

INVENTORIES = ["inventory/apollo", "inventory/lab"]
PLAN_STAGES = ("fetch", "serve", "publish")


def imports() -> list[dict[str, Any]]:
    site: list[dict[str, Any]] = house.read_yaml(house.PROJECT / "site.yml")
    return [play for play in site if "ansible.builtin.import_playbook" in play]


def stage(play: dict[str, Any]) -> str:
    return Path(play["ansible.builtin.import_playbook"]).stem


@pytest.mark.parametrize("inventory", INVENTORIES)
def test_every_playbook_passes_the_syntax_check(inventory: str) -> None:
    command = ["ansible-playbook", "--syntax-check", "-i", inventory, *map(house.name, house.playbooks())]
    done = subprocess.run(command, cwd=house.PROJECT, env=settings(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("inventory", INVENTORIES)
def test_inventory_names_nodes_and_one_gateway(inventory: str) -> None:
    command = ["ansible-inventory", "-i", inventory, "--graph"]
    done = subprocess.run(command, cwd=house.PROJECT, env=settings(), capture_output=True, text=True, check=True)
    assert "@apollo" in done.stdout
    assert "@gateway" in done.stdout
    assert "[WARNING]" not in done.stderr


@pytest.mark.parametrize("plan", layouts.catalog()["plans"])
def test_plan_is_a_tag_of_what_a_switch_needs(plan: str) -> None:
    tagged = {stage(play) for play in imports() if plan in play["tags"]}
    assert tagged == set(PLAN_STAGES)


def test_every_stage_has_its_own_name_as_a_tag() -> None:
    assert not [stage(play) for play in imports() if stage(play) not in play["tags"] and "always" not in play["tags"]]


def test_every_other_tag_of_the_story_is_a_plan() -> None:
    stages = {stage(play) for play in imports()} | {"always"}
    tags = {tag for play in imports() for tag in play["tags"]}
    assert tags - stages == set(layouts.catalog()["plans"])


def test_every_tag_of_the_story_may_be_asked_for() -> None:
    plays = [play for path in house.playbooks() for play in house.read_yaml(path)]
    roles = [role for play in plays for role in play.get("roles", [])]
    tags = {tag for entry in [*plays, *roles] for tag in entry.get("tags", [])}
    asked = house.read_yaml(house.PROJECT / "roles/plan/defaults/main.yml")["plan_stage_tags"]
    assert tags <= {*asked, *layouts.catalog()["plans"]}


def settings() -> dict[str, str]:
    return {**os.environ, "ANSIBLE_CONFIG": str(house.PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}


def test_a_clone_may_lie_in_a_folder_with_a_blank() -> None:
    connection = house.read_yaml(house.PROJECT / "inventory/lab/group_vars/apollo/connection.yml")
    words = shlex.split(connection["ansible_ssh_common_args"].replace("{{ lab_state }}", "/a clone"))
    assert 'UserKnownHostsFile="/a clone/known_hosts"' in words  # ssh itself takes the blank for a second file


@pytest.mark.parametrize("program", ["bin/lab", "bin/test"])
def test_programs_find_their_clone_through_a_link(program: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(house.PROJECT / program)
    done = subprocess.run([str(link), "--help"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_only_commands_of_the_lab_bring_an_engine() -> None:
    text = (house.PROJECT / "bin/lab").read_text()
    assert f"    {' | '.join(COMMANDS)})\n" in text
