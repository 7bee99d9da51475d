"""Serving arguments as data: merged by name, rendered to an argument list, quoted for systemd."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_CONTINUATION = " \\\n    "


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


def systemd_exec(words: Sequence[str]) -> str:
    """Quote a command for ``ExecStart=``: one flag a line, ``%`` and ``$`` taken literally.

    Raises ValueError for a line break, which a unit file cannot carry.
    """
    lines: list[str] = []
    for word in words:
        quoted = _quote(str(word))
        if lines and not quoted.startswith("-"):
            lines[-1] += f" {quoted}"
        else:
            lines.append(quoted)
    return _CONTINUATION.join(lines)


def _quote(word: str) -> str:
    if "\n" in word or "\r" in word:
        raise ValueError(f"argument {word!r} holds a line break: a unit file cannot carry it")
    escaped = word.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$")
    if word and not set(word) & set(" \t\"';"):
        return escaped
    return '"' + escaped.replace('"', '\\"') + '"'
