"""The human side of nvidia-smi: the overview, the list, links, topology, row remapping."""

from collections.abc import Sequence
from typing import Any

from .gpus import MEMORY_MIB, NAME, Gpu, Process
from .smi_query import Context

RULE = "+" + "-" * 78 + "+"


def title(gpu: Gpu) -> str:
    """Name a GPU as -L does."""
    return f"GPU {gpu.index}: {NAME} (UUID: {gpu.uuid})"


def overview(context: Context, processes: Sequence[Process]) -> list[str]:
    """Answer nvidia-smi without arguments; the first line says that none of this is real."""
    mode = "On" if context.persistence else "Off"
    lines = [
        RULE,
        f"| {'SIMULATED by the lab: this computer has no GPU':<76} |",
        f"| {f'NVIDIA-SMI {context.driver}   Driver Version: {context.driver}   CUDA Version: 13.0':<76} |",
        RULE,
    ]
    for gpu in context.gpus:
        memory = f"{gpu.memory_used_mib}MiB / {MEMORY_MIB}MiB"
        lines.append(f"| {f'{gpu.index}  {NAME}  Persistence {mode}  {gpu.bus_id}  {memory}':<76} |")
    lines += [RULE, f"| {'Processes:':<76} |"]
    rows = [f"{process.gpu}  {process.pid}  C  {process.name}  {process.memory_mib}MiB" for process in processes]
    lines += [f"| {row:<76} |" for row in rows or ["No running processes found"]]
    return [*lines, RULE]


def nvlinks(state: dict[str, Any], gpus: Sequence[Gpu]) -> list[str]:
    """Answer nvlink -s."""
    lines: list[str] = []
    for gpu in gpus:
        inactive = state["nvlinks"]["inactive"].get(str(gpu.index), [])
        lines.append(title(gpu))
        for link in range(int(state["nvlinks"]["per_gpu"])):
            lines.append(f"\t Link {link}: {'<inactive>' if link in inactive else '25 GB/s'}")
    return lines


def topology(gpus: Sequence[Gpu]) -> list[str]:
    """Answer topo -m: four links between every two GPUs of the board."""
    names = [f"GPU{gpu.index}" for gpu in gpus]
    lines = ["\t" + "\t".join([*names, "NIC0", "CPU Affinity", "NUMA Affinity"])]
    for row in names:
        cells = ["X" if row == column else "NV4" for column in names]
        lines.append("\t".join([row, *cells, "SYS", "0-1", "0"]))
    return [*lines, "", "Legend:", "  X    = Self", "  NV#  = Connection traversing a bonded set of # NVLinks"]


def row_remapper(gpus: Sequence[Gpu]) -> list[str]:
    """Answer -q -d ROW_REMAPPER."""
    lines = [
        "",
        "==============NVSMI LOG==============",
        "",
        f"Attached GPUs                             : {len(gpus)}",
    ]
    for gpu in gpus:
        lines += [
            f"GPU {gpu.bus_id}",
            "    Remapped Rows",
            "        Correctable Error                 : 0",
            "        Uncorrectable Error               : 0",
            "        Pending                           : No",
            "        Remapping Failure Occurred        : No",
        ]
    return lines


def versions(driver: str) -> list[str]:
    """Answer --version."""
    return [
        f"NVIDIA-SMI version  : {driver}",
        f"NVML version        : {'.'.join(driver.split('.')[:2])}",
        f"DRIVER version      : {driver}",
        "CUDA Version        : 13.0",
    ]
