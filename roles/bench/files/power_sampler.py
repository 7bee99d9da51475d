"""Sample power, energy, heat, clocks and throttle reasons of this node's GPUs into one file of JSON lines.

The driver's library is asked first: it has each GPU's energy counter. Where it cannot be loaded, `nvidia-smi` gives
power alone. A value that a GPU does not tell is null. The first line says which source it is.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SMI_FIELDS = ("index", "power.draw", "temperature.gpu", "clocks.sm", "clocks_event_reasons.active")
NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*W", re.IGNORECASE)
TEMPERATURE_OF_GPU, CLOCK_OF_SM = 0, 1

Row = list[float | None]  # energy in J, power in W, temperature in °C, clock in MHz, throttle reasons as bits


class Library:
    """The driver's own library."""

    def __init__(self, name: str = "libnvidia-ml.so.1") -> None:
        self.nvml = ctypes.CDLL(name)
        if self.nvml.nvmlInit_v2() != 0:
            raise OSError("the driver's library cannot be started")
        count = ctypes.c_uint()
        self.nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        self.handles = [self.handle(index) for index in range(count.value)]
        if not self.handles:
            raise OSError("the driver's library knows no GPU")

    def handle(self, index: int) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
        return handle

    def ask(self, function: str, kind: Any, handle: ctypes.c_void_p, *more: int) -> float | None:
        value = kind()
        code = getattr(self.nvml, function)(handle, *more, ctypes.byref(value))
        return float(value.value) if code == 0 else None

    def row(self, handle: ctypes.c_void_p) -> Row:
        energy = self.ask("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong, handle)
        power = self.ask("nvmlDeviceGetPowerUsage", ctypes.c_uint, handle)
        return [
            energy / 1000 if energy is not None else None,
            power / 1000 if power is not None else None,
            self.ask("nvmlDeviceGetTemperature", ctypes.c_uint, handle, TEMPERATURE_OF_GPU),
            self.ask("nvmlDeviceGetClockInfo", ctypes.c_uint, handle, CLOCK_OF_SM),
            self.ask("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong, handle),
        ]

    def looks(self, interval_s: float) -> Iterator[dict[str, Row]]:
        while True:
            began = time.monotonic()
            yield {str(index): self.row(handle) for index, handle in enumerate(self.handles)}
            time.sleep(max(0.0, interval_s - (time.monotonic() - began)))


def smi_row(cells: list[str]) -> Row:
    """One line of nvidia-smi without its index; what is in brackets is not told."""
    power, temperature, clock, reasons = (cell.strip() for cell in cells)
    told = [None if cell.startswith("[") else float(cell) for cell in (power, temperature, clock)]
    return [None, *told, float(int(reasons, 16)) if reasons.startswith("0x") else None]


def smi_looks(interval_s: float) -> Iterator[dict[str, Row]]:
    """One nvidia-smi that stays; a look is complete when the first GPU comes again."""
    query = ["nvidia-smi", f"--query-gpu={','.join(SMI_FIELDS)}", "--format=csv,noheader,nounits"]
    asked = subprocess.Popen([*query, f"--loop-ms={int(interval_s * 1000)}"], stdout=subprocess.PIPE, text=True)
    seen: dict[str, Row] = {}
    assert asked.stdout is not None
    for line in asked.stdout:
        index, *cells = line.split(",")
        if len(cells) != len(SMI_FIELDS) - 1:
            raise OSError(f"nvidia-smi said {line.strip()}")
        row = smi_row(cells)
        if index in seen:
            yield seen
            seen = {}
        seen[index] = row


class HostPower:
    """The whole node's power, asked now and then beside everything else."""

    def __init__(self, command: list[str], interval_s: float) -> None:
        self.watts: float | None = None
        if command:
            threading.Thread(target=self.follow, args=(command, interval_s), daemon=True).start()

    def follow(self, command: list[str], interval_s: float) -> None:
        while True:
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
                found = NUMBER.search(done.stdout)
            except (OSError, subprocess.TimeoutExpired):
                found = None
            self.watts = float(found[1]) if found else None
            time.sleep(interval_s)


def sources(interval_s: float) -> Iterator[tuple[str, Callable[[], Iterator[dict[str, Row]]]]]:
    try:
        library = Library(os.environ.get("APOLLO_NVML", "libnvidia-ml.so.1"))
        yield "nvml_counter", lambda: library.looks(interval_s)
    except (OSError, AttributeError) as error:
        print(f"no energy counter: {error}", file=sys.stderr)
    yield "power_samples", lambda: smi_looks(interval_s)


def main() -> None:
    own = argparse.ArgumentParser(prog="power_sampler.py")
    own.add_argument("--file", type=Path, required=True)
    own.add_argument("--interval", type=float, required=True, help="seconds between two looks")
    own.add_argument("--host-power-interval", type=float, default=5)
    own.add_argument("host_power_command", nargs="*")
    options = own.parse_args()
    host = HostPower(options.host_power_command, options.host_power_interval)
    with options.file.open("w", encoding="utf-8", buffering=1) as lines:
        for source, looks in sources(options.interval):
            lines.write(json.dumps({"source": source, "interval_s": options.interval}) + "\n")
            try:
                for gpus in looks():
                    told = {"t": time.time(), "m": time.monotonic(), "gpus": gpus, "host_w": host.watts}
                    lines.write(json.dumps(told) + "\n")
            except OSError as error:
                print(f"{source}: {error}", file=sys.stderr)
        lines.write(json.dumps({"source": None, "interval_s": options.interval}) + "\n")


if __name__ == "__main__":
    main()
