"""Which CPUs and which memory lie next to which GPU, and so which of them an engine gets.

Where several GPUs share one locality, each gets an equal share of its cores, so that engines on one node do not
compete. The facts come from the node's own /sys; nobody has verified the gain on the hardware.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class GpuPlace:
    """Where one GPU sits: its NUMA node, and the CPUs next to it, grouped by core."""

    numa_node: int
    cores: tuple[tuple[int, ...], ...]


def gpu_places(facts: Sequence[Mapping[str, Any]]) -> tuple[GpuPlace, ...]:
    """Take the places from facts as module node_topology reports them."""
    return tuple(GpuPlace(int(fact["numa_node"]), tuple(map(tuple, fact["cores"]))) for fact in facts)


def pinning(places: Sequence[GpuPlace], gpus: Sequence[int]) -> dict[str, str]:
    """Give the CPUs and memory nodes of an engine on these GPUs; empty where one of them is not known."""
    if not gpus or max(gpus) >= len(places) or not all(places[gpu].cores for gpu in gpus):
        return {"cpus": "", "memory_nodes": ""}
    cpus = {cpu for gpu in gpus for core in _share(places, gpu) for cpu in core}
    numa = {places[gpu].numa_node for gpu in gpus}
    return {"cpus": write_list(cpus), "memory_nodes": write_list(numa) if min(numa) >= 0 else ""}


def _share(places: Sequence[GpuPlace], gpu: int) -> Sequence[tuple[int, ...]]:
    neighbours = [index for index, place in enumerate(places) if place.cores == places[gpu].cores]
    cores, turn = places[gpu].cores, neighbours.index(gpu)
    begin, end = (len(cores) * step // len(neighbours) for step in (turn, turn + 1))
    return cores[begin:end] or cores


def read_list(text: str) -> list[int]:
    """Read a list of numbers as the kernel writes it, such as ``0-3,8``."""
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def write_list(numbers: Iterable[int]) -> str:
    """Write numbers as the kernel does, with ranges."""
    ranges: list[list[int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def group_cores(cpus: Sequence[int], siblings: Mapping[int, str]) -> list[list[int]]:
    """Group CPUs by core; a CPU of which no siblings are told is a core of its own."""
    cores: dict[int, list[int]] = {}
    for cpu in cpus:
        told = read_list(siblings.get(cpu, "")) or [cpu]
        cores.setdefault(min(told), []).append(cpu)
    return list(cores.values())
