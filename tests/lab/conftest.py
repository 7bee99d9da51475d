"""What the tests of a whole lab share: the second run of the story, and the gateway that stands after it."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from lab.settings import read_settings
from tests.contract import house
from tests.support.playbook import Run, run_playbook


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have measured, also where they passed."""
    measured = [report for report in terminalreporter.getreports("passed") if report.user_properties]
    if measured:
        terminalreporter.section("measured")
    for report in measured:
        terminalreporter.line(report.nodeid.rpartition("::")[2])
        for name, value in report.user_properties:
            terminalreporter.line(f"  {name} = {value}")


@dataclass(frozen=True)
class Gateway:
    """Where the gateway is, and a key that it knows."""

    url: str
    key: str


@pytest.fixture(scope="session")
def second_run() -> Run:
    """The story, run again right after a run that may have had something to change: bin/lab ends with another plan."""
    first = run_playbook("site.yml")
    assert first.code == 0, first.output
    return run_playbook("site.yml")


@pytest.fixture(scope="session")
def gateway(second_run: Run) -> Gateway:
    assert second_run.code == 0, second_run.output
    address = read_settings(os.environ, house.PROJECT).nodes[0].management_address
    keys = house.read_yaml(house.PROJECT / "inventory/lab/group_vars/all/gateway.yml")["gateway_keys"]
    return Gateway(f"http://{address}:8080", next(iter(keys.values())))
