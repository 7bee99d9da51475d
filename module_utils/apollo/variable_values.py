"""Whether a variable's value has the type that a role's argument specification gives it, in one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

TRUTH = ("yes", "no", "on", "off", "true", "false", "y", "n", "t", "f", "1", "0", "1.0", "0.0")
WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
    "path": "a path",
    "list": "a list",
    "dict": "a mapping of names to values",
}
NEVER_NEGATIVE = re.compile(r"_(s|ms|mib|gb|gbps|minutes)$")
IMAGE = re.compile(r"\w[\w.:/-]*(@sha256:[0-9a-f]{64})?")
PORTS = range(1, 65536)


def value_faults(name: str, value: Any, option: Mapping[str, Any]) -> list[str]:
    """List what is wrong with one value, a line each.

    A text that reads as a number or a truth counts, since the command line has no other. What stands in
    place of a list or a mapping is not shown: it may be a secret.
    """
    kind = str(option.get("type", "str"))
    if value is None:
        return [] if option.get("nullable") else [f"'{name}' is empty, {WORDS[kind]} expected: set it or leave it out"]
    if not _is_a(kind, value):
        return [f"'{name}' is {_told(kind, value)}, {WORDS[kind]} expected: correct it"]
    if kind in ("int", "float"):
        return _beyond(name, float(value))
    return _not_a_choice(name, value, option) + _no_image(name, value) + _inside(name, value, option)


def _is_a(kind: str, value: Any) -> bool:
    if kind in ("list", "dict"):
        return isinstance(value, list | tuple if kind == "list" else Mapping)
    if kind == "bool":
        return isinstance(value, bool) or str(value).lower() in TRUTH
    if kind in ("int", "float") and isinstance(value, str):
        return re.fullmatch(r"-?\d+" if kind == "int" else r"-?\d+(\.\d+)?", value.strip()) is not None
    kinds = {"int": int, "float": int | float}.get(kind, str | int | float)
    return isinstance(value, kinds) and not isinstance(value, bool)


def _told(kind: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, Mapping):
        return "a mapping"
    return f"{str(value)!r}" if kind not in ("list", "dict") else "a single value"


def _beyond(name: str, number: float) -> list[str]:
    if name.endswith("_port") and number not in PORTS:
        return [f"'{name}' is {number:.0f}, a port from {PORTS.start} to {PORTS.stop - 1} expected: correct it"]
    if NEVER_NEGATIVE.search(name) and number < 0:
        return [f"'{name}' is {number:g}, 0 or more expected: correct it"]
    return []


def _not_a_choice(name: str, value: Any, option: Mapping[str, Any]) -> list[str]:
    choices = option.get("choices")
    if not choices or value in choices:
        return []
    return [f"'{name}' is {str(value)!r}, one of {', '.join(map(str, choices))} expected: choose one of them"]


def _no_image(name: str, value: Any) -> list[str]:
    if not name.endswith("_image") or value == "" or IMAGE.fullmatch(str(value)):
        return []
    return [f"'{name}' is {str(value)!r}, name:tag or name:tag@sha256: with 64 hexadecimal digits expected: correct it"]


def _inside(name: str, value: Any, option: Mapping[str, Any]) -> list[str]:
    if isinstance(value, list | tuple):
        element = {"type": option.get("elements", "raw"), "options": option.get("options")}
        if element["type"] not in WORDS:
            return []
        return [fault for place, part in enumerate(value) for fault in value_faults(f"{name}[{place}]", part, element)]
    return _parts(name, value, option["options"]) if isinstance(value, Mapping) and option.get("options") else []


def _parts(name: str, value: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
    known = ", ".join(options)
    faults = [
        f"'{name}' has an unknown '{part}', {known} expected: correct it" for part in value if part not in options
    ]
    faults += [
        f"'{name}' has no '{part}' ({option.get('description', part)}): add it"
        for part, option in options.items()
        if option.get("required") and part not in value
    ]
    for part in (part for part in value if part in options):
        faults += value_faults(f"{name}.{part}", value[part], options[part])
    return faults
