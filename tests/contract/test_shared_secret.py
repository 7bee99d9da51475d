"""The role gives all nodes one secret, with two folders of this computer in place of nodes."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.contract import house
from tests.support.playbook import recap

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: vllm_server, tasks_from: secret}
      vars: {__vllm_server_secret_path: "{{ folder }}/keeper.secret"}
"""


@dataclass
class Site:
    """Two nodes, and all that a run has printed about them."""

    folder: Path
    output: str = ""

    def run(self, *words: str) -> int:
        """Run the tasks; give the number of changes."""
        environment = {**os.environ, "ANSIBLE_CONFIG": str(house.PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
        command = ["ansible-playbook", "-i", str(self.folder / "hosts.json"), str(self.folder / "play.yml"), *words]
        environment["ANSIBLE_ROLES_PATH"] = str(house.PROJECT / "roles")
        done = subprocess.run(command, cwd=house.PROJECT, env=environment, capture_output=True, text=True, check=False)
        self.output += done.stdout + done.stderr
        assert done.returncode == 0, self.output
        return sum(counters["changed"] for counters in recap(done.stdout).values())

    def path(self, node: str) -> Path:
        return self.folder / node / "keeper.secret"

    def secrets(self) -> list[str]:
        return [self.path(node).read_text() for node in ("node1", "node2")]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    hosts = {node: {"folder": str(tmp_path / node)} for node in ("node1", "node2")}
    local = {"ansible_connection": "local", "ansible_become": False}
    common = {**local, "ansible_python_interpreter": "{{ ansible_playbook_python }}"}
    inventory = {"all": {"vars": common, "hosts": hosts}}
    (tmp_path / "hosts.json").write_text(json.dumps(inventory))
    (tmp_path / "play.yml").write_text(PLAY)
    return Site(tmp_path)


def test_secret_is_made_once_shown_nowhere_and_given_to_a_node_that_was_set_up_anew(site: Site) -> None:
    assert site.run("--check") == 2
    assert not site.path("node1").exists()
    assert site.run("-vvv", "--diff") == 2
    first, second = before = site.secrets()
    assert first == second
    assert site.run("-vvv", "--diff") == 0
    for new in ("node1", "node2"):
        site.path(new).unlink()
        assert site.run() == 1
        assert site.secrets() == before
    assert first.strip() not in site.output
