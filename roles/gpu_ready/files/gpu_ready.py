#!/usr/bin/python3
"""Wait until all GPUs of this computer are initialised and linked; end with 1 when that will not happen.

systemd runs it once at boot, before Docker. What it prints is one line whenever the state changes.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import gpu  # these two lie beside this program on a node
import pci

INTERVAL_S = 2.0
DEVICES = Path("/sys/bus/pci/devices")


class NeverReadyError(Exception):
    """Waiting longer will not help."""


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, required=True, help="number of GPUs that must answer")
    parser.add_argument("--nvlinks", type=int, required=True, help="number of active NVLinks of each GPU")
    parser.add_argument("--call-timeout", type=float, default=120, help="seconds that one call may take")
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which to give up")
    return parser.parse_args(arguments)


def run(limit_s: float, *command: str) -> str:
    """Run a command and give what it printed, or why there is nothing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return f"{command[0]} gave no answer within {limit_s:.0f} s"
    return done.stdout if done.returncode == 0 else f"{done.stdout}\n{done.stderr}"


def look(limit_s: float) -> gpu.Report:
    """Ask the driver once."""
    text = run(limit_s, "nvidia-smi", f"--query-gpu={','.join(gpu.GPU_FIELDS)}", "--format=csv,noheader,nounits")
    gpus, trouble = gpu.parse_gpus(text), gpu.parse_trouble(text)
    if gpu.MISMATCH in trouble:
        raise NeverReadyError(f"{trouble}: reboot needed")
    if gpu.UNREACHABLE in trouble and not module_exists():
        raise NeverReadyError("the running kernel has no NVIDIA module: install it for this kernel and reboot")
    links = gpu.parse_nvlinks(run(limit_s, "nvidia-smi", "nvlink", "--status")) if gpus else {}
    return gpu.Report(gpus=gpus, nvlinks=links, trouble=trouble, on_bus=on_bus())


def on_bus() -> int | None:
    """Count the GPUs on the PCI bus, where the kernel shows it."""
    files = [(folder / "vendor", folder / "class") for folder in DEVICES.glob("*")]
    devices = [pci.parse_device(vendor.read_text(), kind.read_text()) for vendor, kind in files]
    return pci.count(devices).gpus if files else None


def module_exists() -> bool:
    """Say whether the running kernel has the driver's module, where that can be told."""
    modinfo = shutil.which("modinfo")
    command = [modinfo or "modinfo", "--field", "version", "nvidia"]
    return modinfo is None or subprocess.run(command, capture_output=True, check=False).returncode == 0


def wait(wanted: argparse.Namespace) -> str:
    """Ask until nothing is wrong, and give what is so then; raise when that cannot come or the time is over."""
    expected = gpu.Expected(count=wanted.gpus, nvlinks=wanted.nvlinks)
    end, told = time.monotonic() + wanted.timeout, ""
    while True:
        report = look(min(wanted.call_timeout, max(1.0, end - time.monotonic())))
        faults = gpu.faults(report, expected)
        if not faults:
            return f"{len(report.gpus)} GPUs with {wanted.nvlinks} NVLinks each are ready"
        if faults[0] != told:
            told = faults[0]
            print(f"waiting: {told}", flush=True)
        if time.monotonic() + INTERVAL_S > end:
            raise NeverReadyError(f"not ready within {wanted.timeout:.0f} s: {'; '.join(faults)}")
        time.sleep(INTERVAL_S)


def main() -> int:
    """Wait, create the device that CUDA needs, and say how it ended."""
    wanted = options()
    if shutil.which("nvidia-smi") is None:
        print("nvidia-smi is not installed: install the driver", file=sys.stderr)
        return 1
    try:
        state = wait(wanted)
    except NeverReadyError as error:
        print(error, file=sys.stderr)
        return 1
    if shutil.which("nvidia-modprobe"):
        run(wanted.call_timeout, "nvidia-modprobe", "-u", "-c", "0")
    print(state)
    return 0


if __name__ == "__main__":
    sys.exit(main())
