"""Adapters from Ansible's filters to the serving core in module_utils/apollo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ansible.module_utils
from ansible.errors import AnsibleFilterError

CORE = str(Path(__file__).resolve().parents[1] / "module_utils")
if CORE not in ansible.module_utils.__path__:
    ansible.module_utils.__path__.append(CORE)

from ansible.module_utils.apollo import engine  # noqa: E402 - needs the path above


def engine_units(layout: Mapping[str, Any], node: str, container: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the engines of a node, each with its command and its revision."""
    try:
        return engine.engine_units(layout, node, container)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """The filters of serving, by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Give Ansible the filters."""
        return {"engine_units": engine_units}
