"""What a module says of itself in its documentation, and what it really takes."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType
from typing import Any

import ansible.module_utils.basic as basic
import pytest

from tests.contract import house


class Asked(Exception):  # noqa: N818 - a signal that carries the specification out of main(), no error
    """Raised in place of building the AnsibleModule."""

    def __init__(self, **specification: Any) -> None:
        super().__init__("specification")
        self.specification = specification


def _ask(argument_spec: dict[str, Any], **rest: Any) -> None:
    raise Asked(argument_spec=argument_spec, **rest)


@cache
def load(module: str) -> ModuleType:
    return importlib.import_module(module)


@cache
def specification(module: str) -> dict[str, Any]:
    """The keyword arguments with which the module's main() builds its AnsibleModule."""
    program = load(module)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(basic, "AnsibleModule", _ask)
        if hasattr(program, "AnsibleModule"):
            patch.setattr(program, "AnsibleModule", _ask)
        with pytest.raises(Asked) as asked:
            program.main()
    return asked.value.specification


@cache
def documentation(module: str) -> dict[str, Any]:
    documented: dict[str, Any] = house.plain_yaml(load(module).DOCUMENTATION)
    return documented


def accepted_options(module: str) -> set[str]:
    """Every name under which the module takes an option."""
    spec = specification(module)["argument_spec"]
    return set(spec) | {alias for option in spec.values() for alias in option.get("aliases", [])}
