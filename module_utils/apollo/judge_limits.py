"""Limits are data: read them, and refuse one that could not mean what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from ansible.module_utils.apollo.bench_terms import TERMS

AT_LEAST, AT_MOST, EQUAL = "at_least", "at_most", "equal"
DIRECTIONS = {AT_LEAST: ("higher",), AT_MOST: ("lower",), EQUAL: ("higher", "lower", "none")}
NEEDED = ("name", "metric", "plan", "n", "value", "unit", "direction", "source")
OPTIONAL = ("variant", "tolerance", "remark")
EVERY = "*"


class LimitError(ValueError):
    """A limit that could not mean what it says."""


@dataclass(frozen=True)
class Limit:
    """One number with all that it takes to hold a measurement against it; `*` stands for every plan or point."""

    name: str
    metric: str
    plan: str | Sequence[str]  # one, several, or every
    n: int | str
    value: float
    unit: str
    direction: str
    source: str
    variant: str = EVERY
    relative: float = 0.0
    absolute: float = 0.0
    remark: str = ""
    made_with: Mapping[str, Any] = field(default_factory=dict)  # settings that a run must share to be compared
    noise: float = 0.0  # what this machine's noise floor allows, as a share of the value

    @property
    def tolerance(self) -> float:
        """The larger of what is stated, a share for noise plus a part for rounding, and what noise does here."""
        return max(abs(self.value) * self.relative + self.absolute, abs(self.value) * self.noise)

    @property
    def tolerance_parts(self) -> dict[str, float]:
        stated = {"relative": self.relative, "absolute": self.absolute}
        return {**stated, "noise": self.noise, "used": self.tolerance}

    @property
    def low(self) -> float | None:
        return self.value - self.tolerance if self.direction in (AT_LEAST, EQUAL) else None

    @property
    def high(self) -> float | None:
        return self.value + self.tolerance if self.direction in (AT_MOST, EQUAL) else None

    @property
    def scope(self) -> str:
        return TERMS[self.metric].scope

    @property
    def plans(self) -> Sequence[str]:
        return [self.plan] if isinstance(self.plan, str) else self.plan

    @property
    def is_about_every_plan(self) -> bool:
        return EVERY in self.plans

    def is_about(self, plan: str, variants: list[str]) -> bool:
        known = self.is_about_every_plan or plan in self.plans
        return known and (self.variant == EVERY or self.variant in variants)


def read_limits(data: Mapping[str, Any], origin: str) -> list[Limit]:
    """Read a limits file; LimitError names the file, the limit and what is wrong with it."""
    entries, made_with = data.get("limits"), _read_settings(data, origin)
    if not isinstance(entries, list):
        raise LimitError(f"{origin}: has no list named 'limits'")
    limits = [_read(entry, f"{origin}: limit {number}", made_with) for number, entry in enumerate(entries, start=1)]
    names = [limit.name for limit in limits]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise LimitError(f"{origin}: two limits are named '{double[0]}': a name tells limits apart")
    return limits


def _read_settings(data: Mapping[str, Any], origin: str) -> dict[str, Any]:
    """The settings that the limits were made with, less those that may differ."""
    unknown = sorted(set(data) - {"limits", "made_with", "may_differ"})
    if unknown:
        raise LimitError(f"{origin}: does not know '{unknown[0]}': parts are made_with, may_differ and limits")
    made_with, may_differ = data.get("made_with") or {}, data.get("may_differ") or []
    strange = sorted(set(may_differ) - set(made_with))
    if strange:
        raise LimitError(f"{origin}: may_differ names '{strange[0]}', which made_with does not have")
    return {name: value for name, value in made_with.items() if name not in may_differ}


def _read(entry: Any, where: str, made_with: Mapping[str, Any]) -> Limit:
    if not isinstance(entry, Mapping):
        raise LimitError(f"{where}: is no mapping")
    where = f"{where} ({entry.get('name', 'without a name')})"
    _check_keys(entry, where)
    _check_values(entry, where)
    tolerance = entry.get("tolerance") or {}
    plain = {key: entry[key] for key in (*NEEDED, "variant", "remark") if key in entry}
    parts = {key: tolerance.get(key, 0.0) for key in ("relative", "absolute")}
    return Limit(**plain, **parts, made_with=made_with)


def _check_keys(entry: Mapping[str, Any], where: str) -> None:
    missing = [key for key in NEEDED if entry.get(key) is None]
    if missing:
        raise LimitError(f"{where}: lacks {', '.join(missing)}")
    unknown = sorted(set(entry) - {*NEEDED, *OPTIONAL})
    if unknown:
        raise LimitError(f"{where}: does not know '{unknown[0]}': keys are {', '.join((*NEEDED, *OPTIONAL))}")


def _check_values(entry: Mapping[str, Any], where: str) -> None:
    metric, direction, n = entry["metric"], entry["direction"], entry["n"]
    term = TERMS.get(metric)
    if term is None:
        close = get_close_matches(metric, TERMS, n=1)
        raise LimitError(f"{where}: metric '{metric}' is not known{f': did you mean {close[0]}?' if close else ''}")
    if entry["unit"] != term.unit:
        raise LimitError(f"{where}: {metric} is measured in {term.unit}, not in {entry['unit']}")
    if direction not in DIRECTIONS:
        raise LimitError(f"{where}: direction '{direction}' is not known: choose one of {', '.join(DIRECTIONS)}")
    if term.better not in DIRECTIONS[direction]:
        raise LimitError(f"{where}: {direction} cannot hold {metric}, where {term.better} is better")
    if n != EVERY and (not isinstance(n, int) or isinstance(n, bool) or n < 1):
        raise LimitError(f"{where}: n is '{n}': give a concurrency of at least 1, or '*' for every point")
    if not _is_plan(entry["plan"]):
        raise LimitError(f"{where}: plan is '{entry['plan']}': give a plan's name, a list of names, or '*'")
    if term.scope == "fact" and n != EVERY:
        raise LimitError(f"{where}: {metric} belongs to no point: give n as '*'")
    _check_numbers(entry, where)


def _is_plan(plan: Any) -> bool:
    names = plan if isinstance(plan, list) else [plan]
    return bool(names) and all(isinstance(name, str) and name for name in names)


def _check_numbers(entry: Mapping[str, Any], where: str) -> None:
    tolerance = entry.get("tolerance") or {}
    unknown = sorted(set(tolerance) - {"relative", "absolute"})
    if unknown:
        raise LimitError(f"{where}: tolerance does not know '{unknown[0]}': parts are relative and absolute")
    for key, value in {"value": entry["value"], **tolerance}.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise LimitError(f"{where}: {key} is '{value}', not a number")
        if key != "value" and value < 0:
            raise LimitError(f"{where}: {key} tolerance is {value}: it cannot be below 0")
