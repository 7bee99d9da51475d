"""status.yml is asked for when something is down: it shows what is left, also without the gateway's own node."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.playbook import run_playbook

INVENTORY = """
all:
  vars: {ansible_become: false, ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  children:
    apollo: {hosts: {node1: {ansible_host: 127.0.0.1, ansible_port: 1}, node2: {ansible_connection: local}}}
    gateway: {hosts: {node1: {}}}
"""


def test_a_node_that_is_down_hides_no_other(tmp_path: Path) -> None:
    inventory, state = tmp_path / "inventory.yml", tmp_path / "state.json"
    inventory.write_text(INVENTORY)
    told = json.dumps({"ansible_become": False, "status_json": str(state)})
    run = run_playbook("playbooks/status.yml", "--extra-vars", told, inventory=str(inventory))
    lines = [line.strip() for line in run.output.splitlines()]
    assert "node1 does not answer" in lines
    assert "gateway node1" in lines
    assert json.loads(state.read_text())["silent_nodes"] == ["node1"]
