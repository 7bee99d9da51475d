"""Short files: over budget means a name is missing, not that the budget is wrong."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.contract import house

TASK_FILE_LINES = 60
TEMPLATE_LINES = 80
PLAYBOOK_LINES = 60
MODULE_LINES = 200
FUNCTION_LINES = 25
DOCUMENTATION = {"DOCUMENTATION", "EXAMPLES", "RETURN"}


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())


def python_files() -> list[Path]:
    return house.under("library", "module_utils", "filter_plugins", "lab", "tests", suffix=".py")


def statement_lines(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def documentation_lines(tree: ast.Module) -> int:
    texts = [node for node in tree.body if isinstance(node, ast.Assign)]
    named = [node for node in texts if isinstance(node.targets[0], ast.Name) and node.targets[0].id in DOCUMENTATION]
    return sum(statement_lines(node) for node in named)


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines a reader must hold in mind: signature and body, without the docstring."""
    docstring = function.body[0] if ast.get_docstring(function) else None
    return statement_lines(function) - (statement_lines(docstring) if docstring else 0)


@pytest.mark.parametrize("path", house.role_task_files(), ids=house.name)
def test_task_file_is_short(path: Path) -> None:
    assert lines(path) <= TASK_FILE_LINES


@pytest.mark.parametrize("path", house.under("roles", suffix=".j2"), ids=house.name)
def test_template_is_short(path: Path) -> None:
    assert lines(path) <= TEMPLATE_LINES


@pytest.mark.parametrize("path", house.playbooks(), ids=house.name)
def test_playbook_is_short(path: Path) -> None:
    assert lines(path) <= PLAYBOOK_LINES


@pytest.mark.parametrize("path", house.under("library", suffix=".py"), ids=house.name)
def test_module_is_a_thin_shell(path: Path) -> None:
    assert lines(path) - documentation_lines(ast.parse(path.read_text())) <= MODULE_LINES


@pytest.mark.parametrize("path", python_files(), ids=house.name)
def test_functions_are_short(path: Path) -> None:
    nodes = ast.walk(ast.parse(path.read_text()))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {node.name: body_lines(node) for node in functions if body_lines(node) > FUNCTION_LINES}
    assert not long
