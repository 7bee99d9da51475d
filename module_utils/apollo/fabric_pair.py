"""What two nodes measured between them: bandwidth by ib_write_bw, an all-reduce by torch and NCCL."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.apollo.machine_facts import Event, fact

# perftest prints MiB/s (once under the name MB/s) unless it is told otherwise; a MiB is 2^20 bytes.
GBPS_OF = {"Gb/sec": 1.0, "MiB/sec": 8 * 2**20 / 1e9, "MB/sec": 8 * 2**20 / 1e9}
MARK = "apollo-allreduce "
SIMULATED = re.compile(r"\bSIMULATED\b")
_UNIT = re.compile(r"BW average\[([^\]]+)\]")
_ROW = re.compile(r"^\s*(\d+)\s+\d+\s+[\d.]+\s+([\d.]+)(?:\s+[\d.]+)?\s*$", re.MULTILINE)
_CHANNEL = re.compile(r" via NET/(\w+)/\d+(/GDRDMA)?")
NCCL, INFINIBAND, OWN_CHOICE = "nccl", "IB", "default"


@dataclass(frozen=True)
class Bandwidth:
    """One direction of the link."""

    gbps: float
    size_bytes: int
    simulated: bool


@dataclass(frozen=True)
class AllReduce:
    """An all-reduce of the largest size, and how its bytes went from node to node."""

    algorithm: str
    backend: str
    version: str
    ranks: int
    hosts: tuple[str, ...]
    size_bytes: int
    algbw_gbytes_s: float
    busbw_gbytes_s: float
    wrong: int
    networks: tuple[str, ...]
    direct: bool  # from GPU to card without a stop in the node's memory


def parse_bandwidth(text: str) -> Bandwidth:
    """Read what the client's ib_write_bw printed, in its own unit; ValueError where there is no figure."""
    units, rows = _UNIT.findall(text), _ROW.findall(text)
    if not units or not rows:
        raise ValueError("ib_write_bw printed no figure")
    if units[-1] not in GBPS_OF:
        raise ValueError(f"ib_write_bw printed {units[-1]}, one of {', '.join(GBPS_OF)} is known")
    size, rate = max(rows, key=lambda row: int(row[0]))
    return Bandwidth(float(rate) * GBPS_OF[units[-1]], int(size), bool(SIMULATED.search(text)))


def parse_allreduce(text: str) -> AllReduce:
    """Read our program's line and NCCL's own log around it; ValueError where there is no line."""
    line = next((line for line in text.splitlines() if line.startswith(MARK)), "")
    if not line:
        raise ValueError("the all-reduce ended without a figure")
    told = json.loads(line.removeprefix(MARK))
    largest = max(told.pop("sizes"), key=lambda each: int(each["size_bytes"]))
    channels = _CHANNEL.findall(text)
    networks = tuple(sorted({network for network, _ in channels}))
    direct = bool(channels) and all(way for _, way in channels)
    told["hosts"] = tuple(sorted(set(told["hosts"])))
    return AllReduce(**told, **largest, networks=networks, direct=direct)


def bandwidth_fact(measured: Bandwidth, way: str, measured_s: float) -> Event:
    """A simulated figure is none: it goes into the remark."""
    made_with = f"ib_write_bw, {measured.size_bytes} bytes a message"
    if measured.simulated:
        remark = f"the tool says that it is simulated; it printed {measured.gbps:.1f} Gb/s"
        return {**fact("ib_bandwidth_gbps", way, None, measured_s, made_with), "remark": remark}
    return fact("ib_bandwidth_gbps", way, round(measured.gbps, 2), measured_s, made_with)


def allreduce_facts(measured: AllReduce, between: str, measured_s: float) -> list[Event]:
    """What NCCL reached. Another backend, or NCCL's ring, must not be taken for it."""
    ring = "ring_" if measured.algorithm else ""
    values = {f"allreduce_{ring}busbw_gbytes_s": measured.busbw_gbytes_s}
    if not ring:
        values["allreduce_algbw_gbytes_s"] = measured.algbw_gbytes_s
    over = "/".join(measured.networks) or "no network seen"
    made_with = (
        f"torch, {measured.backend} {measured.version}, {measured.ranks} ranks, {measured.size_bytes} bytes, {over}"
    )
    found = []
    for metric, value in values.items():
        known = value if measured.backend == NCCL else None
        remark = {} if known is not None else {"remark": f"{measured.backend} is not NCCL; it reached {value:.2f} GB/s"}
        found.append({**fact(metric, between, known, measured_s, made_with), **remark})
    return found


def bandwidth_faults(measured: Bandwidth, way: str, least_gbps: float) -> list[str]:
    if measured.gbps >= least_gbps:
        return []
    return [
        f"{way}: ib_write_bw reaches {measured.gbps:.1f} Gb/s, at least {least_gbps:g} expected: see `lspci -vv` for "
        "the card's width and speed, and `ibstat` for the cable's rate"
    ]


def allreduce_faults(measured: AllReduce, between: str, expected: Mapping[str, Any]) -> list[str]:
    """A fast figure alone proves nothing: all ranks, the right network and right sums belong to it."""
    what = f"{between}: all-reduce{f' by {measured.algorithm}' if measured.algorithm else ''}"
    seen = (measured.backend, measured.ranks, len(measured.hosts))
    if seen != (NCCL, expected["ranks"], 2):
        return [
            f"{what} ran on {measured.backend} with {measured.ranks} ranks on {len(measured.hosts)} nodes, nccl with "
            f"{expected['ranks']} on 2 expected: see whether the container gets the GPUs"
        ]
    found = []
    if measured.wrong:
        found.append(f"{what} gave {measured.wrong} wrong sums, 0 expected: see `nvidia-smi -q` for memory errors")
    if measured.networks != (INFINIBAND,):
        found.append(
            f"{what} went over {', '.join(measured.networks) or 'no network'}, IB expected: the container needs "
            "/dev/infiniband, IPC_LOCK and unlimited memlock"
        )
    return found + _speed_faults(measured, what, expected["limits"].get(measured.algorithm or OWN_CHOICE) or {})


def _speed_faults(measured: AllReduce, what: str, limits: Mapping[str, float]) -> list[str]:
    speed, least, most = measured.busbw_gbytes_s, limits.get("at_least"), limits.get("at_most")
    if least is not None and speed < least:
        return [
            f"{what} reaches {speed:.1f} GB/s busbw, at least {least:g} expected: see ACS, IOMMU and the card's slot"
        ]
    if most is not None and speed > most:
        return [f"{what} reaches {speed:.1f} GB/s busbw, at most {most:g} possible: it did not cross the link"]
    return []


def way(names: Sequence[str]) -> str:
    return " to ".join(names)


def pair(names: Sequence[str]) -> str:
    return " and ".join(names)
