"""A module's documentation, its argument specification and its examples say the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract import house, modules

every_module = pytest.mark.parametrize("module", house.modules())

COMPARED = ("type", "required", "default", "choices", "elements", "aliases")


def facts(option: dict[str, Any]) -> dict[str, Any]:
    """What two descriptions of an option must share, with Ansible's own defaults filled in."""
    said = {key: option[key] for key in COMPARED if key in option}
    return {"type": "str", "required": False, **said}


def shape(options: dict[str, Any], nested: str) -> dict[str, Any]:
    """The options with those below them, as a comparable table."""
    return {
        name: {**facts(option), "below": shape(option.get(nested) or {}, nested)} for name, option in options.items()
    }


def example_tasks(module: str) -> list[dict[str, Any]]:
    tasks = house.plain_yaml(modules.load(module).EXAMPLES)
    return [task for task in house.tasks_in(tasks) if module in task]


@every_module
def test_documented_options_are_the_options(module: str) -> None:
    documented = modules.documentation(module).get("options") or {}
    taken = modules.specification(module)["argument_spec"]
    assert shape(documented, "suboptions") == shape(taken, "options")


@every_module
def test_every_option_is_described_in_a_sentence(module: str) -> None:
    for name, option in (modules.documentation(module).get("options") or {}).items():
        description = option.get("description")
        first = description[0] if isinstance(description, list) else description
        assert isinstance(first, str), f"{module}: {name} has no description"
        assert first.rstrip().endswith("."), f"{module}: {name}: {first!r} is no sentence"


@every_module
def test_name_and_short_description_are_given(module: str) -> None:
    documented = modules.documentation(module)
    assert documented["module"] == module
    assert documented["short_description"]
    assert documented["author"]


@every_module
def test_support_for_check_and_diff_mode_is_declared_and_true(module: str) -> None:
    attributes = modules.documentation(module)["attributes"]
    assert {"check_mode", "diff_mode", "idempotent"} <= set(attributes)
    for attribute, told in attributes.items():
        assert told["support"] in {"full", "partial", "none"}, f"{module}: {attribute}"
        assert told["support"] == "full" or told.get("details"), f"{module}: {attribute} needs details"
    assert modules.specification(module).get("supports_check_mode") is True


@every_module
def test_examples_use_real_options(module: str) -> None:
    tasks = example_tasks(module)
    assert tasks, f"{module} has no example"
    for task in tasks:
        unknown = set(task[module] or {}) - modules.accepted_options(module)
        assert not unknown, f"{module}: example {task.get('name')!r} uses {sorted(unknown)}"


@every_module
def test_examples_give_what_is_required(module: str) -> None:
    spec = modules.specification(module)["argument_spec"]
    required = {name for name, option in spec.items() if option.get("required")}
    for task in example_tasks(module):
        missing = required - set(task[module] or {})
        assert not missing, f"{module}: example {task.get('name')!r} lacks {sorted(missing)}"


@every_module
def test_every_returned_value_is_described(module: str) -> None:
    returned = house.plain_yaml(modules.load(module).RETURN)
    assert returned, f"{module} documents no return value"
    for name, value in returned.items():
        assert {"description", "returned", "type"} <= set(value), f"{module}: {name}"
