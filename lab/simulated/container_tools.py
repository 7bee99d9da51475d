"""The NVIDIA container tools, as far as a node without GPUs needs them."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from .state import HardwareError, check_driver, read_state

VERSION = "1.20.0"


# What a container needs to see the node's simulated GPUs, as the real runtime adds devices and the driver's libraries.
SHOWN = ("/usr/bin/nvidia-smi", "/usr/lib/apollo-lab", "/etc/lab", "/sys/module", "/run/apollo-lab")


def with_gpus(config: dict[str, Any]) -> dict[str, Any]:
    """Add the GPUs to a container that asks for them by its environment."""
    environment = dict(entry.split("=", 1) for entry in config["process"]["env"] if "=" in entry)
    if environment.get("NVIDIA_VISIBLE_DEVICES", "void") in {"", "void", "none"}:
        return config
    mounts = [{"destination": path, "source": path, "type": "bind", "options": ["rbind", "ro"]} for path in SHOWN]
    return {**config, "mounts": [*config["mounts"], *mounts]}


def runtime() -> int:
    """Run the container with runc, the GPUs added where it asks for them."""
    arguments = sys.argv[1:]
    if "create" in arguments and "--bundle" in arguments:
        file = Path(arguments[arguments.index("--bundle") + 1]) / "config.json"
        file.write_text(json.dumps(with_gpus(json.loads(file.read_text(encoding="utf-8")))), encoding="utf-8")
    os.execvp("runc", ["runc", *arguments])


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
