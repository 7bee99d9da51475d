"""What a careless operator gets from bin/lab: one line, and nothing wider than a terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError

from lab import cli
from lab.job import alone
from lab.networks import refuse_another_subnet
from lab.playbook import ended_with
from lab.settings import Lab, LabError, read_settings
from tests.contract import house


def client_with(*subnets: str) -> Any:
    network = SimpleNamespace(attrs={"IPAM": {"Config": [{"Subnet": subnet} for subnet in subnets]}})
    return SimpleNamespace(networks=SimpleNamespace(list=lambda **_: [network] if subnets else []))


def test_a_lab_is_not_looked_for_in_another_subnet() -> None:
    lab = read_settings({"LAB_SUBNET": "88"}, Path("/clone"))
    for fine in (client_with(), client_with("172.30.88.0/24")):
        refuse_another_subnet(fine, lab)
    with pytest.raises(LabError, match=r"LAB_SUBNET is 88, but apollo-lab stands in 172\.30\.87\.0/24: set LAB_SUBNET"):
        refuse_another_subnet(client_with("172.30.87.0/24"), lab)


def test_two_do_not_work_on_one_lab(tmp_path: Path) -> None:
    lab = read_settings({}, tmp_path)
    with alone(lab), pytest.raises(LabError, match="another bin/lab works on apollo-lab"), alone(lab):
        pass


@pytest.mark.parametrize(
    "error", [APIError("no\nspace"), OSError(28, "No space left"), subprocess.SubprocessError("x")]
)
def test_an_error_of_the_computer_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    def fail(_command: str, _lab: Lab) -> None:
        raise error

    monkeypatch.setattr(cli, "execute", fail)
    monkeypatch.setattr("sys.argv", ["bin/lab", "up"])
    assert cli.main() == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("module", ["lab", "tests.runner"])
def test_help_fits_a_terminal(module: str) -> None:
    command = ["python3", "-m", module, "--help"]
    shown = subprocess.run(command, cwd=house.PROJECT, capture_output=True, text=True, check=True).stdout
    assert not [line for line in shown.splitlines() if len(line) > 80]


def test_a_playbook_ends_with_the_lab_that_started_it() -> None:
    process = subprocess.Popen(["sleep", "60"], text=True)
    with pytest.raises(KeyboardInterrupt), ended_with(process):
        raise KeyboardInterrupt
    assert process.returncode is not None


def test_termination_is_an_interruption() -> None:
    script = (
        "import os, signal, sys; sys.argv[1:] = ['up']; from lab import cli\n"
        "cli.execute = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.exit(cli.main())"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=house.PROJECT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "bin/lab: interrupted; start it again to go on\n")
