"""A look at what package sources offer, beside the system: apt's options and files for it. Pure: values in, text out.

What is looked at is never installed, so a source whose key is still to come may be read without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

# Where the view has its files, by the name of apt's option.
PLACES = {
    "Dir::Etc::sourcelist": "sources.list",
    "Dir::Etc::sourceparts": "sources",
    "Dir::Etc::preferences": "preferences",
    "Dir::State::lists": "lists",
    "Dir::Cache": "cache",
}
FOLDERS = ("sources", "lists/partial", "cache/archives/partial")
PATIENCE = ("-o=Acquire::http::Timeout=10", "-o=Acquire::https::Timeout=10", "-o=Acquire::Retries=0")
LIMIT_S = 120
OWN = "apollo.sources"
# Leftovers that `prepare` removes: they offer no driver, and beside the right source they stop all of apt.
_LEFTOVER = re.compile(r"nvidia-(container|docker)")
_NOT_APTS = {"name", "key_url"}


def options(folder: str) -> list[str]:
    """Give apt the words that make it read and write below this folder alone."""
    return [f"-o={name}={folder}/{place}" for name, place in PLACES.items()]


def counts(name: str) -> bool:
    """Say whether a file of the system's sources belongs to the view."""
    return name.endswith((".list", ".sources")) and name != OWN and not _LEFTOVER.search(name)


def stanzas(sources: Iterable[Mapping[str, Any]], keys: Iterable[str]) -> str:
    """Write sources as deb822 stanzas; one whose key is not among those that are there is read without it."""
    known = set(keys)
    return "\n".join(_stanza(source, known) for source in sources)


def pin(names: Iterable[str], origin: str) -> str:
    """Prefer one origin for these packages, as the driver's own preferences will."""
    return f"Package: {' '.join(names)}\nPin: release o={origin}\nPin-Priority: 990\n" if origin else ""


def _stanza(source: Mapping[str, Any], keys: set[str]) -> str:
    fields = {name: value for name, value in source.items() if name not in _NOT_APTS}
    if fields.get("signed_by") and fields["signed_by"] not in keys:
        fields = {**fields, "trusted": True}
        del fields["signed_by"]
    return "".join(f"{name.replace('_', '-').title()}: {_value(value)}\n" for name, value in fields.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else " ".join(map(str, value))
