"""Run a command, and kill it with all its children as soon as it prints a line that holds a text."""

from __future__ import annotations

import os
import signal
import subprocess
import sys


def kill_at(text: str, command: list[str]) -> bool:
    """Run and kill; say whether the line came before the command ended by itself."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            if text in line:
                os.killpg(process.pid, signal.SIGKILL)
                return True
    return False


if __name__ == "__main__":
    sys.exit(0 if kill_at(sys.argv[1], sys.argv[2:]) else 1)
