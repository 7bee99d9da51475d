"""What -e name=value gives is a text: 'false' counts as true and '4' is not 4, unless an expression says more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract import house

CONDITIONS = ("when", "that", "until", "failed_when", "changed_when")
COMPARED = r"==|!=|<=?|>=?|\+|-|\*|//?|%"


def options(*types: str) -> list[str]:
    specs = [house.read_yaml(path) for path in house.PROJECT.glob("roles/*/meta/argument_specs.yml")]
    known = {
        name: option for spec in specs for name, option in (spec["argument_specs"]["main"].get("options") or {}).items()
    }
    return [name for name, option in known.items() if option.get("type") in types]


def conditions(node: Any, key: str = "") -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            yield from conditions(value, name if name in CONDITIONS or not isinstance(value, str) else "")
    elif isinstance(node, list):
        for value in node:
            yield from conditions(value, key)
    elif isinstance(node, str):
        yield from [node] if key in CONDITIONS else blocks(node)


def blocks(text: str) -> list[str]:
    return [block.strip() for block in re.findall(r"\{[{%](.*?)[}%]\}", text, flags=re.DOTALL)]


def expressions() -> Iterator[tuple[Path, str]]:
    for path in sorted(house.PROJECT.glob("roles/*/*/*")):
        found: list[str] = []
        if path.suffix == ".yml" and path.parent.name in ("tasks", "vars", "handlers"):
            found = list(conditions(house.read_yaml(path)))
        elif path.suffix == ".j2":
            found = blocks(path.read_text())
        yield from ((path, re.sub(r"'[^']*'", "''", expression)) for expression in found)


def unsaid(expression: str, truths: list[str], numbers: list[str]) -> list[str]:
    """Names whose type the expression takes for granted; handing one on as it is leaves that to who gets it."""
    said = r"(?!\w)(?!\s*\|\s*(?:bool|int|float)\b)"
    names = [name for name in truths if expression != name and re.search(rf"\b{name}{said}", expression)]
    for name in numbers:
        before, after = rf"(?:{COMPARED})\s*{name}{said}", rf"\b{name}\s*(?:{COMPARED})"
        names += [name] if re.search(before, expression) or re.search(after, expression) else []
    return names


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("not may_x", ["may_x"]),
        ("not may_x | bool and y", []),
        ("may_x", []),
        ("wait_s + 60", ["wait_s"]),
        ("60 + wait_s | int", []),
        ("more_wait_s + 60", []),
    ],
)
def test_an_expression_is_looked_at_as_it_should(expression: str, expected: list[str]) -> None:
    assert unsaid(expression, ["may_x"], ["wait_s"]) == expected


def test_no_expression_takes_a_type_for_granted() -> None:
    truths, numbers = options("bool"), options("int", "float")
    found = [(house.name(path), unsaid(expression, truths, numbers)) for path, expression in expressions()]
    assert not [entry for entry in found if entry[1]]


def test_a_condition_on_its_own_says_that_it_is_one() -> None:
    truths = options("bool")
    files = sorted(house.PROJECT.glob("roles/*/tasks/*.yml"))
    bare = [
        (house.name(path), name)
        for path in files
        for name in truths
        if re.search(rf"(when: |- ){name}$", path.read_text(), re.M)
    ]
    assert not bare
