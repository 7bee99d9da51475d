"""The catalog: models, variants and plans by name, with variants that build on one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.apollo.arguments import merge
from ansible.module_utils.apollo.names import unknown_name

Entry = Mapping[str, Any]
Catalog = Mapping[str, Mapping[str, Entry]]


def find(catalog: Catalog, kind: str, name: str) -> Entry:
    """Give the entry ``name`` of ``kind`` (``models``, ``variants``, ``plans``).

    Raises ValueError that names the closest entry and all there are.
    """
    entries = catalog.get(kind, {})
    if name not in entries:
        raise ValueError(unknown_name(kind.removesuffix("s"), name, entries))
    return entries[name]


def find_variant(catalog: Catalog, name: str) -> dict[str, Any]:
    """Give a variant with all that it ``extends`` merged in.

    Arguments and environment merge by name, ``null`` removes; every other key replaces its ancestor's.
    Raises ValueError for an unknown ancestor or a circle.
    """
    chain: list[Entry] = []
    seen: list[str] = []
    current: str | None = name
    while current is not None:
        if current in seen:
            raise ValueError(f"variant '{name}' extends itself ({' -> '.join([*seen, current])}): break the circle")
        seen.append(current)
        entry = find(catalog, "variants", current)
        chain.insert(0, entry)
        current = entry.get("extends")
    return _merged(chain)


def _merged(chain: list[Entry]) -> dict[str, Any]:
    variant: dict[str, Any] = {}
    for entry in chain:
        variant.update(entry)
    for part in ("arguments", "environment"):
        variant[part] = merge(*(entry.get(part) for entry in chain))
    variant.pop("extends", None)
    return variant
