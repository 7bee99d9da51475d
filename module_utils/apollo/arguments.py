"""Serving arguments as data: merged by name, rendered to an argument list."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def merge(*layers: Mapping[str, Any] | None) -> dict[str, Any]:
    """Merge argument maps, later ones win; a value of ``None`` or ``False`` removes the argument."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged.update(layer or {})
    return {name: value for name, value in merged.items() if value is not None and value is not False}


def render(arguments: Mapping[str, Any]) -> list[str]:
    """Render ``{"max-num-seqs": 64, "async-scheduling": True}`` as a list of command line words.

    ``True`` is a bare flag, a list several words behind one flag, a mapping compact JSON,
    everything else its text.
    """
    words: list[str] = []
    for name, value in arguments.items():
        words.append(f"--{name}")
        if value is not True:
            words += [_word(item) for item in (value if isinstance(value, list) else [value])]
    return words


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return json.dumps(value, separators=(",", ":"), sort_keys=True)
    return str(value)
