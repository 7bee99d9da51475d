"""What the driver would know about each GPU: identity, memory, and the processes that hold it."""

import socket
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAME = "NVIDIA A100-SXM4-40GB"
MEMORY_MIB = 40960
ENGINE_MIB = 36864
BUS_IDS = ("01", "41", "81", "C1", "21", "61", "A1", "E1")
ENGINE_TITLE = "VLLM::"


@dataclass(frozen=True)
class Process:
    """A process that holds memory of one GPU."""

    gpu: int
    pid: int
    name: str
    memory_mib: int


@dataclass(frozen=True)
class Gpu:
    """One GPU as the driver reports it."""

    index: int
    uuid: str
    bus_id: str
    memory_used_mib: int
    ecc_uncorrected: int
    busy: bool


def find_engines(proc: Path = Path("/proc")) -> list[tuple[int, str]]:
    """Find the processes that carry an engine's title, in whatever container of this node they run."""
    engines: list[tuple[int, str]] = []
    for folder in proc.iterdir():
        if folder.name.isdecimal():
            try:
                title = (folder / "cmdline").read_bytes().split(b"\0")[0].decode(errors="replace").strip()
            except OSError:
                continue
            if title.startswith(ENGINE_TITLE):
                engines.append((int(folder.name), title))
    return sorted(engines)


def list_processes(state: dict[str, Any], engines: list[tuple[int, str]]) -> list[Process]:
    """List who holds which GPU: engines hold all of them, the state file adds holders of its own."""
    present = present_indices(state)
    share = ENGINE_MIB // len(engines) if engines else 0
    held = [Process(gpu, pid, title, share) for gpu in present for pid, title in engines]
    for entry in state["held_memory"]:
        gpu = int(entry["gpu"])
        if gpu in present and entry.get("pid", 4242) is not None:
            name, pid = str(entry.get("name", "python3")), int(entry.get("pid", 4242))
            held.append(Process(gpu, pid, name, int(entry["mib"])))
    return sorted(held, key=lambda process: (process.gpu, process.pid))


def leaked_mib(state: dict[str, Any], gpu: int) -> int:
    """Memory that stays occupied although its process is gone: entries whose pid is null."""
    lost = (entry for entry in state["held_memory"] if entry.get("pid", 4242) is None)
    return sum(int(entry["mib"]) for entry in lost if int(entry["gpu"]) == gpu)


def present_indices(state: dict[str, Any]) -> list[int]:
    """Number the GPUs that the driver still sees."""
    return [index for index in range(int(state["gpus"])) if index not in state["missing_gpus"]]


def list_gpus(state: dict[str, Any], processes: list[Process], host: str = "") -> list[Gpu]:
    """Describe every GPU that the driver still sees; identities are the same on every boot of a node."""
    host = host or socket.gethostname()
    gpus: list[Gpu] = []
    for index in present_indices(state):
        mine = [process for process in processes if process.gpu == index]
        used = min(MEMORY_MIB, sum(process.memory_mib for process in mine) + leaked_mib(state, index))
        gpus.append(
            Gpu(
                index=index,
                uuid=f"GPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'gpu{index}.{host}.lab')}",
                bus_id=f"00000000:{BUS_IDS[index]}:00.0",
                memory_used_mib=used,
                ecc_uncorrected=int(state["ecc_uncorrected"].get(str(index), 0)),
                busy=bool(mine),
            )
        )
    return gpus
