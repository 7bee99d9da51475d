"""Run a playbook as a person would, in a process of its own, and read what its recap says."""

from __future__ import annotations

import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
INVENTORY = "inventory/lab"


@dataclass(frozen=True)
class Run:
    """How a run ended: its exit code, its time, and per host the counters of the recap."""

    code: int
    seconds: float
    output: str
    recap: dict[str, dict[str, int]]


def run_playbook(*arguments: str, inventory: str = INVENTORY) -> Run:
    start = time.monotonic()
    command = ["ansible-playbook", f"--inventory={inventory}", *arguments]
    done = subprocess.run(command, cwd=PROJECT, env=_environment(), capture_output=True, text=True, check=False)
    return Run(done.returncode, time.monotonic() - start, done.stdout + done.stderr, recap(done.stdout))


def recap(output: str) -> dict[str, dict[str, int]]:
    """The counters behind PLAY RECAP, by host."""
    _, _, tail = output.rpartition("PLAY RECAP")
    lines = re.findall(r"^(\S+)\s+:\s+((?:\w+=\d+\s*)+)$", tail, flags=re.MULTILINE)
    return {host: {key: int(number) for key, number in re.findall(r"(\w+)=(\d+)", text)} for host, text in lines}


def _environment() -> dict[str, str]:
    return {**os.environ, "ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
