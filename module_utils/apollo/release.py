"""Who holds GPUs that should be free, whether it is ours, and what may be done about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ansible.module_utils.apollo.engine import UNIT_PREFIX
from ansible.module_utils.apollo.gpu import Gpu, Process


@dataclass(frozen=True)
class Holder:
    """A process on GPUs that nobody is meant to use; ours when its container or unit is one of the plan's."""

    pid: int
    name: str
    gpus: tuple[int, ...]
    memory_mib: int | None
    container: str
    unit: str
    ours: bool


@dataclass(frozen=True)
class Owner:
    """Where a process belongs: the innermost container and unit of its control group."""

    container: str = ""
    unit: str = ""


def holders(
    gpus: Sequence[Gpu],
    processes: Sequence[Process],
    owners: Mapping[int, Owner],
    keep: Sequence[str],
    our_containers: Sequence[str],
) -> list[Holder]:
    """List the processes that are not in a container to keep, one entry per process."""
    numbers = {gpu.uuid: gpu.index for gpu in gpus}
    by_pid: dict[int, list[Process]] = {}
    for process in processes:
        owner = owners.get(process.pid, Owner())
        if not _one_of(owner.container, keep):
            by_pid.setdefault(process.pid, []).append(process)
    return [_holder(rows, numbers, owners.get(pid, Owner()), our_containers) for pid, rows in sorted(by_pid.items())]


def leaks(gpus: Sequence[Gpu], processes: Sequence[Process], limit_mib: int) -> list[Gpu]:
    """List GPUs whose memory is occupied although no process is on them."""
    busy = {process.gpu_uuid for process in processes}
    return [gpu for gpu in gpus if gpu.uuid not in busy and (gpu.memory_used_mib or 0) > limit_mib]


def holder_fault(holder: Holder) -> str:
    """Name a holder that is not ours, with what an operator can do."""
    place = f"container {holder.container[:12]}" if holder.container else f"unit {holder.unit or 'none'}"
    remedy = f"docker stop {holder.container[:12]}" if holder.container else f"kill {holder.pid}"
    memory = "an unknown amount" if holder.memory_mib is None else f"{holder.memory_mib} MiB"
    return (
        f"process {holder.pid} ({holder.name}, {place}) holds {memory} of GPU {_list(holder.gpus)} and is not ours: "
        f"see `ps -fp {holder.pid}`, end it with `{remedy}`"
    )


def leak_fault(gpu: Gpu, limit_mib: int, refusal: str) -> str:
    """Name a GPU with memory that no process holds; ``refusal`` is what a reset answered, if it was tried."""
    told = f"GPU {gpu.index} holds {gpu.memory_used_mib} MiB without a process, {limit_mib} allowed"
    if refusal:
        return f"{told}, and its reset failed ({refusal}): reboot the node"
    return f"{told}: allow a reset with vllm_server_gpu_reset=true, or reboot the node"


def _holder(rows: Sequence[Process], numbers: Mapping[str, int], owner: Owner, our_containers: Sequence[str]) -> Holder:
    known = [row.used_memory_mib for row in rows if row.used_memory_mib is not None]
    return Holder(
        pid=rows[0].pid,
        name=rows[0].name,
        gpus=tuple(sorted(numbers[row.gpu_uuid] for row in rows if row.gpu_uuid in numbers)),
        memory_mib=sum(known) if known else None,
        container=owner.container,
        unit=owner.unit,
        ours=_one_of(owner.container, our_containers) or (not owner.container and owner.unit.startswith(UNIT_PREFIX)),
    )


def _one_of(container: str, ids: Sequence[str]) -> bool:
    return bool(container) and any(container.startswith(known) for known in ids if known)


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "unknown"
