"""What is wrong with the variables of an inventory, before any node is touched."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any


def variable_faults(
    variables: Mapping[str, Any], roles: Mapping[str, Mapping[str, Any]], facts: Collection[str] = ()
) -> list[str]:
    """List the faults of one host's variables, a line each; an empty list means none.

    ``roles`` maps a role's name to the options of its argument specification. A variable that
    begins with a role's name must be one of its options, or one of the ``facts`` that roles set;
    a required option must be there.
    """
    given = {name: value for name, value in variables.items() if name not in facts}
    return _unknown(given, roles) + _missing(given, roles)


def twin_faults(addresses: Mapping[str, str], node: str) -> list[str]:
    """Name the nodes that one node shares its address for ssh with: two names of one node."""
    twins = [name for name, address in addresses.items() if address == addresses[node]]
    if len(twins) < 2:
        return []
    return [
        f"{' and '.join(twins)} are both reached at {addresses[node]}, one address a node expected: correct host_vars"
    ]


def _unknown(variables: Mapping[str, Any], roles: Mapping[str, Mapping[str, Any]]) -> list[str]:
    faults = []
    for name in sorted(variables):
        role = _owner(name, list(roles))
        if role is None or name in roles[role]:
            continue
        close = get_close_matches(name, list(roles[role]), n=1)
        remedy = f"did you mean '{close[0]}'?" if close else f"see roles/{role}/defaults/main.yml"
        faults.append(f"variable '{name}' is not known to role {role}: {remedy}")
    return faults


def _owner(name: str, roles: Sequence[str]) -> str | None:
    owners = [role for role in roles if name.startswith(f"{role}_")]
    return max(owners, key=len) if owners else None


def _missing(variables: Mapping[str, Any], roles: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [
        f"variable '{name}' is missing: role {role} needs it ({option.get('description', 'no description')})"
        for role, options in sorted(roles.items())
        for name, option in sorted(options.items())
        if option.get("required") and name not in variables
    ]
