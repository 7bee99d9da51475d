"""What a careless operator gets from bin/lab: one line, and nothing wider than a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
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


def test_two_do_not_work_on_one_lab_not_even_from_two_clones(tmp_path: Path) -> None:
    lab, same = (read_settings({"HOME": str(tmp_path)}, tmp_path / clone) for clone in ("one", "two"))
    with alone(lab), pytest.raises(LabError, match="another bin/lab works on apollo-lab"), alone(same):
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


def test_a_playbook_ends_with_a_lab_that_is_killed_outright(tmp_path: Path) -> None:
    stand_in = tmp_path / "ansible-playbook"
    stand_in.write_text(
        f"#!/bin/sh\necho $$ >{tmp_path}/pid.new && mv {tmp_path}/pid.new {tmp_path}/pid\nexec sleep 60\n"
    )
    stand_in.chmod(0o755)
    script = (
        "import pathlib, sys; from lab.playbook import Playbook, run_playbook; from lab.settings import read_settings\n"
        "lab = read_settings({}, pathlib.Path(sys.argv[1])); lab.logs.mkdir(parents=True)\n"
        "run_playbook(lab, Playbook('site.yml'), print)"
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=house.PROJECT, env=environment) as process:
        pid = wait_for((tmp_path / "pid").is_file) and (tmp_path / "pid").read_text().strip()
        process.kill()
    assert wait_for(lambda: not Path("/proc", str(pid), "cwd").exists())


def wait_for(condition: Callable[[], bool]) -> bool:
    """Look for ten seconds."""
    gives_up = time.monotonic() + 10
    while not condition() and time.monotonic() < gives_up:
        time.sleep(0.1)
    return condition()


def test_termination_is_an_interruption() -> None:
    script = (
        "import os, signal, sys; sys.argv[1:] = ['up']; from lab import cli\n"
        "cli.execute = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
        "sys.exit(cli.main())"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=house.PROJECT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "bin/lab: interrupted; start it again to go on\n")
