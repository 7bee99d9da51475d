"""Energy of a window of time out of samples: the GPUs' own counter first, the area under their power second."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

COUNTER, SAMPLES = "nvml_counter", "power_samples"
GAP_LIMIT_S, GAP_INTERVALS = 3.0, 2.5
ENERGY, POWER, TEMPERATURE, CLOCK, REASONS = range(5)  # places in a GPU's row of a sample

# Bits of the driver's throttle reasons. The power limit is where an A100 works under full load: it is told, and
# does not spoil a run. Heat and hardware faults do.
THROTTLE = {0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x20: "sw_thermal", 0x40: "hw_thermal", 0x80: "hw_power_brake"}
SPOILING = ("hw_slowdown", "sw_thermal", "hw_thermal", "hw_power_brake")


@dataclass(frozen=True)
class Sample:
    """One look at all GPUs of a node; a value that a GPU did not tell is None."""

    unix_s: float
    monotonic_s: float
    gpus: Mapping[str, Sequence[float | None]]
    host_w: float | None


@dataclass(frozen=True)
class Samples:
    """Everything that a node sampled, and from where."""

    source: str | None
    interval_s: float
    looks: Sequence[Sample]

    @property
    def gap_limit_s(self) -> float:
        return max(GAP_LIMIT_S, GAP_INTERVALS * self.interval_s)


@dataclass(frozen=True)
class Window:
    """From when to when, and which GPUs."""

    start_s: float
    end_s: float
    gpus: Sequence[int]

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


def read_samples(text: str) -> Samples:
    """Read the sampler's file; a line that is cut off is left out."""
    source, interval_s, looks = None, 0.0, []
    for line in filter(None, text.splitlines()):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if "gpus" in told:
            looks.append(Sample(told["t"], told["m"], told["gpus"], told.get("host_w")))
        else:
            source, interval_s, looks = told["source"], told["interval_s"], []
    return Samples(source, interval_s, looks)


def measure(samples: Samples, window: Window) -> dict[str, Any]:
    """Everything about one window on one node. What is not known is None; faults are told as reason codes."""
    looks = _around(samples.looks, window)
    inside = [look for look in looks if window.start_s <= look.unix_s <= window.end_s]
    faults = _faults(samples, window, looks)
    by_gpu = {str(gpu): _gpu_energy(looks, window, str(gpu)) for gpu in window.gpus}
    counted = _sum(counter for counter, _ in by_gpu.values())
    sampled = _sum(area for _, area in by_gpu.values())
    usable = not faults and samples.source is not None
    energy = (counted if counted is not None else sampled) if usable else None
    return {
        "source": (COUNTER if counted is not None else SAMPLES) if energy is not None else None,
        "window_s": window.length_s,
        "samples": len(inside),
        "faults": faults,
        "energy_j": energy,
        "counter_j": counted if usable else None,
        "samples_j": sampled if usable else None,
        "power_mean_w": energy / window.length_s if energy is not None and window.length_s > 0 else None,
        "power_peak_w": _peak(inside, window.gpus),
        "temperature_max_c": max(_told(inside, window.gpus, TEMPERATURE), default=None),
        "sm_clock_min_mhz": min(_told(inside, window.gpus, CLOCK), default=None),
        "throttle_reasons": throttle_reasons(_told(inside, window.gpus, REASONS)),
        "host_power_mean_w": _mean([look.host_w for look in inside]),
    }


def throttle_reasons(masks: Iterable[float]) -> list[str]:
    """The names of all reasons that were seen."""
    seen = 0
    for mask in masks:
        seen |= int(mask)
    return [name for bit, name in THROTTLE.items() if seen & bit]


def trapezoid(points: Sequence[tuple[float, float]], start_s: float, end_s: float) -> float | None:
    """The area under straight lines between the points; None where they do not enclose the window."""
    if len(points) < 2 or points[0][0] > start_s or points[-1][0] < end_s:
        return None
    area = 0.0
    for (left, first), (right, last) in pairwise(points):
        begin, end = max(left, start_s), min(right, end_s)
        if end <= begin or right <= left:
            continue
        slope = (last - first) / (right - left)
        area += (end - begin) * (first + slope * ((begin + end) / 2 - left))
    return area


def value_at(points: Sequence[tuple[float, float]], moment: float) -> float | None:
    """The value at a moment between two points, on the straight line between them."""
    for (left, first), (right, last) in pairwise(points):
        if left <= moment <= right:
            return first + (last - first) * (moment - left) / (right - left) if right > left else first
    return None


def _around(looks: Sequence[Sample], window: Window) -> list[Sample]:
    """The looks inside the window and one on each side of it."""
    before = [look for look in looks if look.unix_s < window.start_s]
    after = [look for look in looks if look.unix_s > window.end_s]
    inside = [look for look in looks if window.start_s <= look.unix_s <= window.end_s]
    return [*before[-1:], *inside, *after[:1]]


def _faults(samples: Samples, window: Window, looks: Sequence[Sample]) -> list[str]:
    if samples.source is None or not any(row for look in looks for row in look.gpus.values() if any(row)):
        return []  # nothing was told at all: not measured, which is no fault of the run
    times = [look.unix_s for look in looks]
    gaps = [right - left for left, right in pairwise(times)]
    offsets = [look.unix_s - look.monotonic_s for look in looks]
    found = {
        "energy_window": times[0] > window.start_s or times[-1] < window.end_s,
        "energy_gap": max(gaps, default=0.0) > samples.gap_limit_s,
        "energy_gpus": any(str(gpu) not in look.gpus for look in looks for gpu in window.gpus),
        "energy_counter": any(_runs_back(looks, str(gpu)) for gpu in window.gpus),
        "clock_step": max(offsets) - min(offsets) > 0.05,
    }
    return [code for code, is_so in found.items() if is_so]


def _points(looks: Sequence[Sample], gpu: str, place: int) -> list[tuple[float, float]]:
    told = ((look.unix_s, look.gpus[gpu][place]) for look in looks if gpu in look.gpus)
    return [(moment, value) for moment, value in told if value is not None]


def _runs_back(looks: Sequence[Sample], gpu: str) -> bool:
    values = [value for _, value in _points(looks, gpu, ENERGY)]
    return any(right < left for left, right in pairwise(values))


def _gpu_energy(looks: Sequence[Sample], window: Window, gpu: str) -> tuple[float | None, float | None]:
    """By the counter, and by the power."""
    counter = _points(looks, gpu, ENERGY)
    first, last = value_at(counter, window.start_s), value_at(counter, window.end_s)
    counted = last - first if first is not None and last is not None else None
    return counted, trapezoid(_points(looks, gpu, POWER), window.start_s, window.end_s)


def _peak(looks: Sequence[Sample], gpus: Sequence[int]) -> float | None:
    """The highest power of all GPUs at one moment."""
    return max((total for look in looks if (total := _power(look, gpus)) is not None), default=None)


def _power(look: Sample, gpus: Sequence[int]) -> float | None:
    return _sum(look.gpus[str(gpu)][POWER] if str(gpu) in look.gpus else None for gpu in gpus)


def _told(looks: Sequence[Sample], gpus: Sequence[int], place: int) -> list[float]:
    rows = (look.gpus[str(gpu)] for look in looks for gpu in gpus if str(gpu) in look.gpus)
    return [value for row in rows if (value := row[place]) is not None]


def _sum(values: Iterable[float | None]) -> float | None:
    """All of them, or None: a sum without one part is no sum."""
    known = list(values)
    return sum(value for value in known if value is not None) if known and None not in known else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
