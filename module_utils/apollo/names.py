"""One-line errors for names that do not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Say that ``name`` is no known ``kind``, what comes close, and what there is.

    The line carries the value, the limit (what exists) and the remedy (the closest name).
    """
    choices = sorted(known)
    close = get_close_matches(name, choices, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"{kind} '{name}' is not known: {hint}choose one of {', '.join(choices) or '(none defined)'}"
