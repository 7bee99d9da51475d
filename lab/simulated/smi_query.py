"""The --query-* side of nvidia-smi: comma lists of fields in, CSV out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .gpus import MEMORY_MIB, NAME, Gpu, Process
from .state import HardwareError


@dataclass(frozen=True)
class Context:
    """What a field may need beside the GPU itself."""

    driver: str
    persistence: bool
    gpus: Sequence[Gpu]


GpuField = tuple[str, Callable[[Gpu, Context], object]]
ProcessField = tuple[str, Callable[[Process, Gpu], object]]

GPU_FIELDS: dict[str, GpuField] = {
    "index": ("", lambda gpu, _: gpu.index),
    "uuid": ("", lambda gpu, _: gpu.uuid),
    "name": ("", lambda gpu, _: NAME),
    "count": ("", lambda gpu, context: len(context.gpus)),
    "driver_version": ("", lambda gpu, context: context.driver),
    "serial": ("", lambda gpu, _: 1320000000000 + gpu.index),
    "pci.bus_id": ("", lambda gpu, _: gpu.bus_id),
    "pci.device_id": ("", lambda gpu, _: "0x20B010DE"),
    "pcie.link.gen.current": ("", lambda gpu, _: 4),
    "pcie.link.width.current": ("", lambda gpu, _: 16),
    "persistence_mode": ("", lambda gpu, context: "Enabled" if context.persistence else "Disabled"),
    "compute_mode": ("", lambda gpu, _: "Default"),
    "compute_cap": ("", lambda gpu, _: "8.0"),
    "mig.mode.current": ("", lambda gpu, _: "Disabled"),
    "pstate": ("", lambda gpu, _: "P0"),
    "memory.total": ("MiB", lambda gpu, _: MEMORY_MIB),
    "memory.reserved": ("MiB", lambda gpu, _: 486),
    "memory.used": ("MiB", lambda gpu, _: gpu.memory_used_mib),
    "memory.free": ("MiB", lambda gpu, _: MEMORY_MIB - gpu.memory_used_mib),
    "power.draw": ("W", lambda gpu, _: "212.40" if gpu.busy else "51.27"),
    "power.limit": ("W", lambda gpu, _: "400.00"),
    "temperature.gpu": ("", lambda gpu, _: 54 if gpu.busy else 31),
    "temperature.memory": ("", lambda gpu, _: 61 if gpu.busy else 33),
    "utilization.gpu": ("%", lambda gpu, _: 0),
    "utilization.memory": ("%", lambda gpu, _: 0),
    "clocks.sm": ("MHz", lambda gpu, _: 1410 if gpu.busy else 210),
    "clocks.mem": ("MHz", lambda gpu, _: 1215),
    "clocks.max.sm": ("MHz", lambda gpu, _: 1410),
    "clocks_throttle_reasons.active": ("", lambda gpu, _: "0x0000000000000001"),
    "clocks_event_reasons.active": ("", lambda gpu, _: "0x0000000000000001"),
    "ecc.mode.current": ("", lambda gpu, _: "Enabled"),
    "ecc.errors.corrected.volatile.total": ("", lambda gpu, _: 0),
    "ecc.errors.corrected.aggregate.total": ("", lambda gpu, _: 0),
    "ecc.errors.uncorrected.volatile.total": ("", lambda gpu, _: gpu.ecc_uncorrected),
    "ecc.errors.uncorrected.aggregate.total": ("", lambda gpu, _: gpu.ecc_uncorrected),
    "retired_pages.pending": ("", lambda gpu, _: "[N/A]"),
}
GPU_ALIASES = {"gpu_uuid": "uuid", "gpu_name": "name", "gpu_bus_id": "pci.bus_id", "gpu_serial": "serial"}

PROCESS_FIELDS: dict[str, ProcessField] = {
    "pid": ("", lambda process, _: process.pid),
    "process_name": ("", lambda process, _: process.name),
    "used_gpu_memory": ("MiB", lambda process, _: process.memory_mib),
    "gpu_uuid": ("", lambda _, gpu: gpu.uuid),
    "gpu_name": ("", lambda _, gpu: NAME),
    "gpu_bus_id": ("", lambda _, gpu: gpu.bus_id),
    "gpu_serial": ("", lambda _, gpu: 1320000000000 + gpu.index),
}
PROCESS_ALIASES = {"name": "process_name", "used_memory": "used_gpu_memory"}


def resolve(name: str, known: Sequence[str], aliases: dict[str, str]) -> str:
    """Find a field by name or alias, or fail as the real tool does."""
    field = aliases.get(name.strip(), name.strip())
    if field not in known:
        raise HardwareError(f'Field "{name.strip()}" is not a valid field to query.\n', 2)
    return field


def render(value: object, unit: str, show_units: bool) -> str:
    """Write one value, with its unit where it has one and units are wanted."""
    return f"{value} {unit}" if unit and show_units else str(value)


def table(header: list[tuple[str, str]], rows: list[list[object]], options: Sequence[str]) -> list[str]:
    """Lay out rows as the real tool's CSV."""
    units = "nounits" not in options
    lines: list[str] = []
    if "noheader" not in options:
        lines.append(", ".join(f"{name} [{unit}]" if unit else name for name, unit in header))
    for row in rows:
        cells = [render(value, unit, units) for value, (_, unit) in zip(row, header, strict=True)]
        lines.append(", ".join(cells))
    return lines


def query_gpus(fields: Sequence[str], options: Sequence[str], context: Context) -> list[str]:
    """Answer --query-gpu."""
    names = [resolve(field, list(GPU_FIELDS), GPU_ALIASES) for field in fields]
    header = [(name, GPU_FIELDS[name][0]) for name in names]
    return table(header, [[GPU_FIELDS[name][1](gpu, context) for name in names] for gpu in context.gpus], options)


def query_processes(
    fields: Sequence[str], options: Sequence[str], processes: Sequence[Process], gpus: Sequence[Gpu]
) -> list[str]:
    """Answer --query-compute-apps."""
    names = [resolve(field, list(PROCESS_FIELDS), PROCESS_ALIASES) for field in fields]
    header = [(name, PROCESS_FIELDS[name][0]) for name in names]
    by_index = {gpu.index: gpu for gpu in gpus}
    rows = [
        [PROCESS_FIELDS[name][1](process, by_index[process.gpu]) for name in names]
        for process in processes
        if process.gpu in by_index
    ]
    return table(header, rows, options)
