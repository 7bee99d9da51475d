"""What the NVIDIA driver's tools print, as values, and what is wrong with it.

Pure: text in, values out. Standard library only, since the boot-time program gpu-ready uses this file too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

GPU_FIELDS = (
    "index",
    "uuid",
    "name",
    "pci.bus_id",
    "memory.total",
    "memory.used",
    "persistence_mode",
    "driver_version",
    "ecc.errors.uncorrected.volatile.total",
)
PROCESS_FIELDS = ("pid", "process_name", "gpu_uuid", "used_memory")
MISMATCH = "Driver/library version mismatch"
UNREACHABLE = "couldn't communicate with the NVIDIA driver"

_CONTAINER = re.compile(r"[0-9a-f]{64}")
_GPU_HEADING = re.compile(r"GPU (\d+):")
_LINK = re.compile(r"\s+Link \d+: (.*)")
_LINK_SPEED = re.compile(r"\d+(\.\d+)? GB/s")
_UPSTREAM_VERSION = re.compile(r"(?:\d+:)?(\d+(?:\.\d+)+)")


@dataclass(frozen=True)
class Gpu:
    """One GPU as the driver reports it; None is what it could not tell."""

    index: int
    uuid: str
    name: str
    bus_id: str
    memory_total_mib: int | None
    memory_used_mib: int | None
    persistence_mode: bool | None
    driver_version: str
    ecc_errors: int | None


@dataclass(frozen=True)
class Process:
    """A process that computes on a GPU."""

    pid: int
    name: str
    gpu_uuid: str
    used_memory_mib: int | None
    container: str = ""


@dataclass(frozen=True)
class Links:
    """NVLinks of one GPU."""

    active: int = 0
    inactive: int = 0


@dataclass(frozen=True)
class Driver:
    """Versions of one driver in the places that must agree; empty where unknown."""

    version: str = ""
    loaded: str = ""
    userspace: str = ""


@dataclass(frozen=True)
class Report:
    """All that was read from one node."""

    gpus: tuple[Gpu, ...] = ()
    processes: tuple[Process, ...] = ()
    nvlinks: dict[int, Links] = field(default_factory=dict)
    driver: Driver = Driver()
    trouble: str = ""
    on_bus: int | None = None


@dataclass(frozen=True)
class Expected:
    """What a node must show; None is not judged."""

    count: int | None = None
    on_bus: int | None = None
    name: str | None = None
    memory_min_mib: int | None = None
    nvlinks: int | None = None
    persistence: bool | None = None
    driver_branch: str | None = None
    ecc_errors_max: int | None = None
    idle_memory_max_mib: int | None = None
    containers: tuple[str, ...] | None = None


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """Read ``--query-gpu`` rows of GPU_FIELDS; a line that is no such row is left out."""
    return tuple(_gpu(row) for row in _rows(text, len(GPU_FIELDS)) if row[0].isdecimal())


def parse_processes(text: str) -> tuple[Process, ...]:
    """Read ``--query-compute-apps`` rows of PROCESS_FIELDS; the name may contain commas."""
    rows = (line.split(",", 1) + line.rsplit(",", 2)[-2:] for line in text.splitlines() if line.count(",") >= 3)
    cells = ([cell.strip() for cell in row] for row in rows)
    return tuple(
        Process(int(pid), rest.rsplit(",", 2)[0].strip(), uuid, _number(memory))
        for pid, rest, uuid, memory in cells
        if pid.isdecimal()
    )


def parse_nvlinks(text: str) -> dict[int, Links]:
    """Read ``nvidia-smi nvlink --status``: links with a speed are active, all others are not."""
    links: dict[int, Links] = {}
    gpu = -1
    for line in text.splitlines():
        heading, link = _GPU_HEADING.match(line), _LINK.match(line)
        if heading:
            gpu = int(heading[1])
            links[gpu] = Links()
        elif link and gpu in links:
            up = bool(_LINK_SPEED.match(link[1]))
            links[gpu] = Links(links[gpu].active + up, links[gpu].inactive + (not up))
    return links


def parse_trouble(text: str) -> str:
    """Give the first line that is no GPU row: what nvidia-smi prints when it cannot answer."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if not parse_gpus(line)), "")


def upstream_version(package_versions: str) -> str:
    """Reduce a package version such as ``580.173.02-0ubuntu0.24.04.1`` to the driver's own."""
    match = _UPSTREAM_VERSION.match(package_versions.strip())
    return match[1] if match else ""


def parse_container(cgroup: str) -> str:
    """Give the id of the innermost container in ``/proc/<pid>/cgroup``, or nothing."""
    ids = [found for line in cgroup.splitlines() for found in _CONTAINER.findall(line)[-1:]]
    return ids[0] if ids else ""


def faults(report: Report, expected: Expected) -> list[str]:
    """List what is wrong, a line each with value, limit and remedy; an empty list means nothing."""
    driver = _bus_faults(report, expected) + driver_faults(report, expected)
    if driver and not report.gpus:
        return driver
    return driver + _count_faults(report, expected) + _gpu_faults(report, expected) + _holder_faults(report, expected)


def driver_faults(report: Report, expected: Expected) -> list[str]:
    """List what is wrong with the driver as a whole."""
    driver, branch = report.driver, expected.driver_branch
    if MISMATCH in report.trouble or (driver.loaded and driver.userspace and driver.loaded != driver.userspace):
        return [
            f"driver {driver.loaded or 'of another version'} is loaded, {driver.userspace or 'another one'} is "
            "installed: reboot needed"
        ]
    if UNREACHABLE in report.trouble:
        return [f"driver {driver.userspace or '(unknown)'} is installed but not loaded: reboot needed"]
    if branch and not driver.version:
        told = report.trouble or "no GPU"
        return [f"no driver answers ({told}), branch {branch} expected: see `journalctl -k --grep NVRM`"]
    if branch and driver.version.split(".")[0] != branch:
        return [
            f"driver {driver.version} is in use, branch {branch} expected: purge the packages of the other branch "
            "and reboot, or set nvidia_driver_branch"
        ]
    return []


def _rows(text: str, width: int) -> Iterable[list[str]]:
    rows = ([cell.strip() for cell in line.split(",")] for line in text.splitlines())
    return (row for row in rows if len(row) == width)


def _gpu(row: Sequence[str]) -> Gpu:
    index, uuid, name, bus_id, total, used, persistence, driver, ecc = row
    return Gpu(
        index=int(index),
        uuid=uuid,
        name=name,
        bus_id=bus_id,
        memory_total_mib=_number(total),
        memory_used_mib=_number(used),
        persistence_mode={"Enabled": True, "Disabled": False}.get(persistence),
        driver_version=driver,
        ecc_errors=_number(ecc),
    )


def _number(cell: str) -> int | None:
    return int(cell) if cell.isascii() and cell.isdecimal() else None


def _count_faults(report: Report, expected: Expected) -> list[str]:
    if expected.count is None or len(report.gpus) == expected.count:
        return []
    told = f" ({report.trouble})" if report.trouble else ""
    bus = f", {report.on_bus} are on the PCI bus" if report.on_bus is not None else ""
    return [
        f"{len(report.gpus)} GPUs answer{told}, {expected.count} expected{bus}: look for Xid in `journalctl -k`, then "
        "power-cycle the node, or set gpu_ready_expected_gpus"
    ]


def _bus_faults(report: Report, expected: Expected) -> list[str]:
    if expected.on_bus is None or report.on_bus == expected.on_bus:
        return []
    found = "an unknown number of" if report.on_bus is None else report.on_bus
    return [
        f"{found} GPUs on the PCI bus, {expected.on_bus} expected: see `lspci -d 10de:`, seat the board, or set "
        "gpu_ready_expected_gpus"
    ]


def _gpu_faults(report: Report, expected: Expected) -> list[str]:
    return [fault for gpu in report.gpus for fault in _one_gpu(gpu, report.nvlinks.get(gpu.index, Links()), expected)]


def _one_gpu(gpu: Gpu, links: Links, expected: Expected) -> list[str]:
    found = []
    if expected.name is not None and gpu.name != expected.name:
        found.append(f"is a {gpu.name}, {expected.name} expected: correct the inventory or the hardware")
    if expected.memory_min_mib is not None and (gpu.memory_total_mib or 0) < expected.memory_min_mib:
        found.append(f"has {gpu.memory_total_mib} MiB, at least {expected.memory_min_mib} expected: switch MIG off")
    if expected.nvlinks is not None and links.active != expected.nvlinks:
        found.append(f"has {links.active} active NVLinks, {expected.nvlinks} expected: see `nvidia-smi nvlink -s`")
    if expected.persistence and gpu.persistence_mode is not True:
        found.append("has persistence mode off, on expected: see `systemctl status nvidia-persistenced`")
    if expected.ecc_errors_max is not None and (gpu.ecc_errors or 0) > expected.ecc_errors_max:
        limit = expected.ecc_errors_max
        found.append(f"has {gpu.ecc_errors} uncorrected memory errors, {limit} allowed: reset it or replace it")
    return [f"GPU {gpu.index} {fault}" for fault in found]


def _holder_faults(report: Report, expected: Expected) -> list[str]:
    if expected.containers is None:
        return []
    foreign = [process for process in report.processes if not _is_ours(process, expected.containers)]
    found = [
        f"process {process.pid} ({process.name}) holds {process.used_memory_mib} MiB of {process.gpu_uuid}, none but "
        f"the plan's engines allowed: see `ps -fp {process.pid}` and stop it"
        for process in foreign
    ]
    busy = {process.gpu_uuid for process in report.processes}
    limit = expected.idle_memory_max_mib
    idle = [gpu for gpu in report.gpus if limit is not None and gpu.uuid not in busy]
    return found + [
        f"GPU {gpu.index} holds {gpu.memory_used_mib} MiB without a process, {limit} allowed: reset it or reboot"
        for gpu in idle
        if (gpu.memory_used_mib or 0) > (limit or 0)
    ]


def _is_ours(process: Process, containers: tuple[str, ...]) -> bool:
    return any(process.container.startswith(ours) for ours in containers if ours)
