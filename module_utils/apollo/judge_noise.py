"""The noise floor: how far a metric moves between runs of one and the same setting on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MULTIPLE = 2.0  # a difference within two standard deviations is no evidence
MOST = 0.5  # a machine that is noisier than this must not turn limits into what cannot fail


@dataclass(frozen=True)
class NoiseFloor:
    """The coefficient of variation of each metric, and what it was measured on."""

    plan: str
    cv: Mapping[str, float]
    run_id: str = ""
    repeats: int = 0
    hardware: Mapping[str, Any] = field(default_factory=dict)

    def fits(self, plan: str, hardware: Mapping[str, Any]) -> bool:
        """A floor of another plan or another machine says nothing here."""
        return self.plan == plan and (not self.hardware or not hardware or self.hardware == hardware)

    def share(self, metric: str) -> float:
        """What noise alone may do to this metric, as a share of its value, and never more than half of it."""
        return min(MOST, MULTIPLE * self.cv.get(metric, 0.0))


def read_noise(data: Any, origin: str) -> list[NoiseFloor]:
    """One floor, or a list of them."""
    entries = data if isinstance(data, list) else [data]
    return [_read(entry, origin) for entry in entries]


def find_noise(floors: Sequence[NoiseFloor], plan: str, hardware: Mapping[str, Any]) -> NoiseFloor | None:
    """The newest floor that fits."""
    return next((floor for floor in reversed(floors) if floor.fits(plan, hardware)), None)


def _read(entry: Any, origin: str) -> NoiseFloor:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("metrics"), Mapping) or not entry.get("plan"):
        raise ValueError(f"{origin}: is no noise floor: it needs plan and metrics")
    cv = {name: value for name, value in entry["metrics"].items() if value is not None}
    wrong = [name for name, value in cv.items() if isinstance(value, bool) or not isinstance(value, int | float)]
    wrong += [name for name, value in cv.items() if name not in wrong and value < 0]
    if wrong:
        raise ValueError(f"{origin}: the noise of {wrong[0]} is '{cv[wrong[0]]}', not a number of at least 0")
    run_id, repeats = str(entry.get("run_id") or ""), int(entry.get("n") or 0)
    return NoiseFloor(str(entry["plan"]), cv, run_id, repeats, entry.get("hardware") or {})
