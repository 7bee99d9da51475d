"""The hardware of a node, as /etc/lab/hardware.json says, and what has happened to it since boot."""

import copy
import json
import time
from pathlib import Path
from typing import Any

STATE_FILE = Path("/etc/lab/hardware.json")
BOOT_FOLDER = Path("/run/apollo-lab")
MODULE_VERSION_FILE = Path("/sys/module/nvidia/version")
LIBRARY_VERSION_FILE = Path("/usr/lib/apollo-lab/nvidia-library-version")

DEFAULT: dict[str, Any] = {
    "gpus": 4,
    "missing_gpus": [],
    "gpu_init_s": 1,
    "held_memory": [],
    "driver": {"loaded": None, "userspace": None},
    "nouveau": False,
    "nvswitches": 0,
    "secure_boot": False,
    "nvlinks": {"per_gpu": 12, "inactive": {}},
    "ecc_uncorrected": {},
    "infiniband": {
        "state": "auto",
        "physical_state": "LinkUp",
        "rate_gbits": 100,
        "remote_sm": False,
        "bandwidth_gbits": 96.5,
    },
}


class HardwareError(Exception):
    """What the tool prints instead of an answer, and the exit code that goes with it."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


def merge(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Lay `change` over `base`, dictionaries key by key; an unknown key is a mistake and is named."""
    merged = copy.deepcopy(base)
    for key, value in change.items():
        if key not in base:
            raise HardwareError(f"{STATE_FILE}: unknown key {key!r}, known are {', '.join(sorted(base))}", 255)
        nested = isinstance(value, dict) and isinstance(base[key], dict) and base[key]
        merged[key] = merge(base[key], value) if nested and key != "inactive" else value
    return merged


def read_state(path: Path = STATE_FILE) -> dict[str, Any]:
    """Read the state file; what it does not name is healthy."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return copy.deepcopy(DEFAULT)
    return merge(DEFAULT, json.loads(text))


def forget_leaks(path: Path = STATE_FILE) -> None:
    """Take memory without a process out of the state file, as a reset does."""
    if path.exists():
        state = json.loads(path.read_text(encoding="utf-8"))
        held = [entry for entry in state.get("held_memory", []) if entry.get("pid", 4242) is not None]
        path.write_text(json.dumps({**state, "held_memory": held}, indent=2) + "\n", encoding="utf-8")


def read_version(path: Path) -> str | None:
    """Read a version that an installed package left behind."""
    return path.read_text(encoding="utf-8").strip() if path.exists() else None


def check_driver(state: dict[str, Any]) -> str:
    """Return the loaded driver's version, or fail as the driver's library does."""
    loaded = state["driver"]["loaded"] or read_version(MODULE_VERSION_FILE)
    library = state["driver"]["userspace"] or read_version(LIBRARY_VERSION_FILE)
    if loaded is None or loaded == "none":
        raise HardwareError(
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
            "Make sure that the latest NVIDIA driver is installed and running.\n",
            9,
        )
    if library is None:
        raise HardwareError("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.", 12)
    if loaded != library:
        short = ".".join(library.split(".")[:2])
        text = f"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: {short}"
        raise HardwareError(text, 18)
    return str(loaded)


def flag(name: str) -> Path:
    """Return the file that says something happened since boot."""
    return BOOT_FOLDER / name


def raise_flag(name: str) -> None:
    """Remember until the next boot that something happened."""
    BOOT_FOLDER.mkdir(parents=True, exist_ok=True)
    flag(name).touch()


def initialise_gpus(state: dict[str, Any], busy: bool) -> None:
    """Take the time that GPUs need to wake up, unless a client or persistence mode holds them awake."""
    awake = busy or (flag("persistence").exists() and flag("initialised").exists())
    if not awake:
        time.sleep(float(state["gpu_init_s"]))
        if flag("persistence").exists():
            raise_flag("initialised")
