"""One run of ansible-playbook: its output goes to a log, its tasks to the display, its failure into one message."""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lab.settings import Lab, LabError

HEADING = re.compile(r"^(PLAY|TASK|RUNNING HANDLER) \[(.*)\] \*+$")
FAILED = re.compile(r"^(fatal|failed): ")
TAIL_LINES = 15
SHOWN_WIDTH = 300
END_TIMEOUT_S = 10
# Where bin/lab is killed outright, nobody is left to end its playbook but the kernel.
ENDS_WITH_ITS_PARENT = ("setpriv", "--pdeathsig", "TERM")


@dataclass(frozen=True)
class Playbook:
    """What to run: the playbook, tags, and variables on top of the inventory's."""

    path: str
    tags: str = ""
    variables: dict[str, Any] = field(default_factory=dict)

    def command(self) -> list[str]:
        """Return the command line, as the operator would type it."""
        command = ["ansible-playbook", "-i", "inventory/lab", self.path]
        if self.tags:
            command += ["--tags", self.tags]
        if self.variables:
            command += ["--extra-vars", json.dumps(self.variables)]
        return command


def log_path(lab: Lab, playbook: Playbook) -> Path:
    """Name the log of one run: when, what, and for which plan."""
    parts = [time.strftime("%Y%m%d-%H%M%S"), Path(playbook.path).stem, playbook.tags]
    return lab.logs / f"{'-'.join(part for part in parts if part)}.log"


def activity(line: str) -> str:
    """Turn a heading of Ansible's output into a note; other lines give nothing."""
    match = HEADING.match(line)
    return match.group(2) if match and match.group(1) != "PLAY" else ""


def failure_lines(lines: list[str]) -> list[str]:
    """Pick what explains a failure: from the first host that failed on, or the end."""
    for number, line in enumerate(lines):
        if FAILED.match(line):
            return lines[number : number + TAIL_LINES]
    return lines[-TAIL_LINES:]


def shorten(line: str, width: int) -> str:
    """Cut a line that would fill the screen; the log has it whole."""
    return line if len(line) <= width else f"{line[:width]} ..."


def run_playbook(lab: Lab, playbook: Playbook, note: Callable[[str], None]) -> Path:
    """Run a playbook and return its log; a failure shows its last lines and where the rest is."""
    path = log_path(lab, playbook)
    environment = os.environ | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_CONFIG": str(lab.root / "ansible.cfg")}
    environment |= {"LAB_NAME": lab.name, "LAB_SUBNET": str(lab.subnet), "PYTHONUNBUFFERED": "1"}
    with path.open("w", encoding="utf-8") as log:
        log.write(f"$ {' '.join(playbook.command())}\n")
        log.flush()
        process = subprocess.Popen(
            [*ENDS_WITH_ITS_PARENT, *playbook.command()],
            cwd=lab.root,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        with ended_with(process):
            lines = follow(process, log, note)
    if process.wait() != 0:
        shown = "\n".join(f"    {shorten(line, SHOWN_WIDTH)}" for line in failure_lines(lines))
        raise LabError(f"{playbook.path} failed, log in {path.relative_to(lab.root)}\n{shown}")
    return path


@contextmanager
def ended_with(process: subprocess.Popen[str]) -> Iterator[None]:
    """Leave no playbook behind that goes on changing nodes while nobody looks, or while the next one starts."""
    try:
        yield
    except BaseException:
        process.terminate()
        try:
            process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
        raise


def follow(process: subprocess.Popen[str], log: IO[str], note: Callable[[str], None]) -> list[str]:
    """Copy the output into the log and tell the display what is going on."""
    lines: list[str] = []
    if process.stdout is not None:
        for line in process.stdout:
            log.write(line)
            log.flush()
            lines.append(line.rstrip())
            if text := activity(lines[-1]):
                note(text)
    return lines
