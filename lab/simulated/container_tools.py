"""The NVIDIA container tools, as far as a node without GPUs needs them."""

import os
import sys

from .state import HardwareError, check_driver, read_state

VERSION = "1.20.0"


def runtime() -> int:
    """Run the container with runc, nothing added."""
    os.execvp("runc", ["runc", *sys.argv[1:]])


def hook() -> int:
    """Add nothing to the container."""
    return 0


def ctk() -> int:
    """Answer nvidia-ctk --version; say so for everything else."""
    if "--version" in sys.argv or "-v" in sys.argv:
        print(f"NVIDIA Container Toolkit CLI version {VERSION}\ncommit: simulated")
        return 0
    print(f"nvidia-ctk: not simulated: {' '.join(sys.argv[1:])}", file=sys.stderr)
    return 1


def cli() -> int:
    """Answer nvidia-container-cli info and list."""
    try:
        driver = check_driver(read_state())
    except HardwareError as error:
        print(f"nvidia-container-cli: initialization error: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    if "info" in sys.argv:
        print(f"NVRM version:   {driver}\nCUDA version:   13.0")
    if "--version" in sys.argv or "-V" in sys.argv:
        print(f"cli-version: {VERSION}")
    return 0


def modprobe() -> int:
    """Let nvidia-modprobe succeed: there is no module to load."""
    return 0
