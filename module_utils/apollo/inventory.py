"""What is wrong with the variables of an inventory, before any node is touched."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ansible.module_utils.apollo.variable_values import value_faults

MISSPELT = 0.9  # so alike are a name and a known one only when one of them is a slip


class Unreadable:
    """Stands for a variable whose template cannot be resolved, and says why."""

    def __init__(self, why: str) -> None:
        self.why = why


LATER = Unreadable("")  # refers to what is known only on the node


def variable_faults(
    variables: Mapping[str, Any], roles: Mapping[str, Mapping[str, Any]], facts: Collection[str] = ()
) -> list[str]:
    """List the faults of one host's variables, a line each; an empty list means none.

    ``roles`` maps a role's name to the options of its argument specification. A variable that
    begins with a role's name must be one of its options, or one of the ``facts`` that roles set;
    a required option must be there; a value must have the type of its option.
    """
    names = [name for name in variables if name not in facts]
    return _unknown(names, roles) + _missing(variables, roles) + _unfit(variables, roles)


def twin_faults(addresses: Mapping[str, str], node: str) -> list[str]:
    """Name the nodes that one node shares its address for ssh with: two names of one node."""
    twins = [name for name, address in addresses.items() if address == addresses[node]]
    if len(twins) < 2:
        return []
    return [
        f"{' and '.join(twins)} are both reached at {addresses[node]}, one address a node expected: correct host_vars"
    ]


def group_faults(groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Say which of the two groups that the story needs is missing or empty, and that there is one gateway."""
    faults = [
        f"group {name} has no host, {wanted} expected: fill it in the inventory's hosts file"
        for name, wanted in (("apollo", "one or more nodes"), ("gateway", "one host"))
        if not groups.get(name)
    ]
    gateways = groups.get("gateway") or []
    if len(gateways) > 1:
        faults.append(
            f"group gateway has {len(gateways)} hosts ({', '.join(gateways)}), one expected: leave one of them"
        )
    return faults


def stray_faults(files: Collection[str], names: Collection[str], kind: str) -> list[str]:
    """Name the files of variables, such as those in host_vars, that belong to nothing in the inventory."""
    faults = []
    for name in sorted(set(files) - set(names)):
        close = get_close_matches(name, list(names), n=1)
        remedy = f"did you mean '{close[0]}'?" if close else "rename or remove it"
        faults.append(f"{kind}_vars/{name} belongs to no {kind} of the inventory: {remedy}")
    return faults


def _unknown(names: Sequence[str], roles: Mapping[str, Mapping[str, Any]]) -> list[str]:
    faults = []
    known = [option for options in roles.values() for option in options]
    for name in sorted(names):
        role = _owner(name, list(roles))
        if role is None:
            faults += _nearly(name, known)
        elif name not in roles[role]:
            close = get_close_matches(name, list(roles[role]), n=1)
            remedy = f"did you mean '{close[0]}'?" if close else f"see roles/{role}/defaults/main.yml"
            faults.append(f"variable '{name}' is not known to role {role}: {remedy}")
    return faults


def _nearly(name: str, known: Sequence[str]) -> list[str]:
    close = [] if name in known else get_close_matches(name, known, n=1, cutoff=MISSPELT)
    return [f"variable '{name}' is not known to any role: did you mean '{found}'?" for found in close]


def _owner(name: str, roles: Sequence[str]) -> str | None:
    owners = [role for role in roles if name.startswith(f"{role}_")]
    return max(owners, key=len) if owners else None


def _missing(variables: Mapping[str, Any], roles: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [
        f"variable '{name}' is missing, role {role} needs it ({option.get('description', 'no description')}): "
        "set it in the inventory's host_vars or group_vars"
        for role, options in sorted(roles.items())
        for name, option in sorted(options.items())
        if option.get("required") and (name not in variables or variables[name] in (None, ""))
    ]


def _unfit(variables: Mapping[str, Any], roles: Mapping[str, Mapping[str, Any]]) -> list[str]:
    faults = []
    for options in roles.values():
        for name in sorted(set(options) & set(variables)):
            value, option = variables[name], options[name]
            if value is LATER:
                continue
            if isinstance(value, Unreadable):
                faults.append(
                    f"variable '{name}' cannot be read ({value.why}): define what it refers to, or correct it"
                )
            elif not (option.get("required") and value in (None, "")):
                faults += [f"variable {fault}" for fault in value_faults(name, value, option)]
    return faults
