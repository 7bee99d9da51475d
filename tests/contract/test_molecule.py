"""Every step that a scenario names has its playbook: molecule itself passes over a missing one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.contract import house
from tests.runner.stages import SCENARIOS

FOLDER = house.PROJECT / "molecule"
STEPS_WITH_PLAYBOOK = {"create", "prepare", "converge", "side_effect", "verify", "cleanup"}
SAME_PLAYBOOK = {"check": "converge", "idempotence": "converge", "syntax": "converge"}


def settings(scenario: str) -> dict[str, Any]:
    own: dict[str, Any] = house.read_yaml(FOLDER / scenario / "molecule.yml")
    return own


def shared_playbooks() -> dict[str, str]:
    shared = house.read_yaml(house.PROJECT / ".config" / "molecule" / "config.yml")["ansible"]
    return shared.get("playbooks") or {}


def playbooks(scenario: str) -> list[Path]:
    """The file behind each step of the scenario's sequence."""
    named = {**shared_playbooks(), **settings(scenario).get("ansible", {}).get("playbooks", {})}
    paths = []
    for step in settings(scenario)["scenario"]["test_sequence"]:
        verb, _, argument = step.partition(" ")
        verb = SAME_PLAYBOOK.get(verb, verb)
        if verb in STEPS_WITH_PLAYBOOK:
            paths.append(FOLDER / scenario / (argument or named.get(verb, f"{verb}.yml")))
            paths.append(FOLDER / scenario / named.get(verb, f"{verb}.yml"))
    return paths


def test_bin_test_runs_every_scenario() -> None:
    assert {path.parent.name for path in house.under("molecule") if path.name == "molecule.yml"} == set(SCENARIOS)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_step_has_its_playbook(scenario: str) -> None:
    assert not [str(path) for path in playbooks(scenario) if not path.resolve().is_file()]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_verifies(scenario: str) -> None:
    steps = settings(scenario)["scenario"]["test_sequence"]
    assert steps[-1].split(" ")[0] == "verify"
