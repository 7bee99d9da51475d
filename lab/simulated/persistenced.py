"""nvidia-persistenced: its start ends when every GPU is awake, as the real one's does."""

import os
import signal
import sys
from pathlib import Path

from .state import HardwareError, check_driver, flag, initialise_gpus, raise_flag, read_state

SOCKET_FOLDER = Path("/run/nvidia-persistenced")


def wait_for_end() -> None:
    """Sleep until asked to stop, then let the GPUs go to sleep."""
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    for name in ("persistence", "initialised"):
        flag(name).unlink(missing_ok=True)


def main() -> int:
    """Wake the GPUs if persistence mode is wanted, then go on in the background."""
    try:
        state = read_state()
        check_driver(state)
    except HardwareError as error:
        print(f"nvidia-persistenced failed to initialize: {error}", file=sys.stderr)
        return 1
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    if "--persistence-mode" in sys.argv:
        raise_flag("persistence")
        initialise_gpus(state, busy=False)
    if os.fork():
        return 0
    os.setsid()
    SOCKET_FOLDER.mkdir(exist_ok=True)
    (SOCKET_FOLDER / "nvidia-persistenced.pid").write_text(f"{os.getpid()}\n")
    (SOCKET_FOLDER / "socket").touch()
    wait_for_end()
    return 0
