"""The module package_mend over a database of dpkg and programs that answer like the real ones."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

package_mend = importlib.import_module("package_mend")

RunModule = Callable[..., dict[str, Any]]
# dpkg configures what is unpacked, apt-get fetches anew what it is asked to: each leaves its mark on the states.
PROGRAMS = {
    "dpkg-query": "cat {0}/states",
    "dpkg": "echo dpkg $* >>{0}/log; rm -f {0}/updates/*; sed -i s/^iU/ii/ {0}/states",
    "apt-get": "echo apt-get $* >>{0}/log; case $* in *reinstall*) sed -i 's/^iHR/ii /' {0}/states;; esac",
}


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a database of whole packages, and a log of what was asked of dpkg and apt."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(package_mend, "DATABASE", tmp_path)
    monkeypatch.setattr(package_mend, "PAUSE_S", 0.01)
    for folder in ("bin", "updates"):
        (tmp_path / folder).mkdir()
    for name, script in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script.format(tmp_path)}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "lock-frontend").touch()
    (tmp_path / "states").write_text("ii |a|1\nhi |b|2\n")
    return tmp_path


@pytest.mark.parametrize("check", [False, True])
def test_whole_packages_are_left_alone(run_module: RunModule, database: Path, check: bool) -> None:
    result = run_module("package_mend", check=check)
    assert (result["failed"], result["changed"], result["unfinished"], result["journal"]) == (False, False, [], 0)
    assert not (database / "log").exists()


def test_what_is_half_there_is_finished_once(run_module: RunModule, database: Path) -> None:
    (database / "states").write_text("iU |a|1\niHR|b|2\n")
    (database / "updates/0001").touch()
    result = run_module("package_mend")
    assert (result["failed"], result["changed"], result["unfinished"]) == (False, True, ["a", "b"])
    verbs = [line.split()[0] for line in (database / "log").read_text().splitlines()]
    assert verbs == ["dpkg", "apt-get", "apt-get"]
    assert (database / "log").read_text().splitlines()[-1].endswith("--reinstall install b")
    assert run_module("package_mend")["changed"] is False


def test_check_mode_tells_and_touches_nothing(run_module: RunModule, database: Path) -> None:
    (database / "updates/0001").touch()
    result = run_module("package_mend", check=True)
    assert (result["changed"], result["journal"]) == (True, 1)
    assert not (database / "log").exists()


def test_what_stays_half_there_ends_in_one_line(run_module: RunModule, database: Path) -> None:
    (database / "states").write_text("iHR|b|2\n")
    (database / "bin/apt-get").write_text("#!/bin/sh\necho E: no archive for b >&2\nexit 100\n")
    result = run_module("package_mend")
    assert result["failed"]
    assert result["msg"].startswith("b left half-way by an interrupted run, whole packages expected")
    assert result["msg"].endswith("(E: no archive for b)")


def test_another_program_is_waited_for_and_then_named(run_module: RunModule, database: Path) -> None:
    hold = "import fcntl, sys, time; lock = open(sys.argv[1], 'r+'); fcntl.lockf(lock, 2); print('held', flush=True)"
    command = [sys.executable, "-c", f"{hold}; time.sleep(60)", str(database / "lock-frontend")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        result = run_module("package_mend", lock_timeout_s=0)
        other.kill()
    assert result["failed"]
    assert "has locked the packages for 0 s, none expected" in result["msg"]
    assert run_module("package_mend", lock_timeout_s=5)["changed"] is False
