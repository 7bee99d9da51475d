"""What the README tells a reader to type is there."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise

import pytest

from tests.contract import house, layouts
from tests.support import variables_page

README = house.PROJECT / "README.md"
STORY_TAGS = {"prepare", "accept", "fetch", "serve", "publish"}


def commands() -> list[str]:
    """The lines of the README's shell blocks."""
    blocks = re.findall(r"```(?:sh|bash|console)\n(.*?)```", README.read_text(), flags=re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line.split(" #")[0].strip() for line in lines if line and not line.startswith("#")]


def table(heading: str) -> list[str]:
    """The first column of the table under this heading, without the marks around names."""
    section = README.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")]
    return [re.sub(r"[`*]", "", row) for row in rows[2:]]


def values_of(option: str, words: list[str]) -> list[str]:
    return [value for name, value in pairwise(words) if name == option]


@pytest.mark.parametrize("command", [line for line in commands() if line.startswith("bin/")])
def test_program_is_there_and_can_be_run(command: str) -> None:
    program = house.PROJECT / shlex.split(command)[0]
    assert program.stat().st_mode & 0o111


@pytest.mark.parametrize("command", [line for line in commands() if line.startswith("ansible-playbook")])
def test_playbook_inventory_and_tags_are_there(command: str) -> None:
    words = shlex.split(command)
    paths = [word for word in words if word.endswith(".yml")] + values_of("-i", words)
    assert paths
    assert not [path for path in paths if not (house.PROJECT / path).exists()]
    tags = {tag for value in values_of("--tags", words) for tag in value.split(",")}
    assert tags <= STORY_TAGS | set(layouts.catalog()["plans"])


def test_table_of_playbooks_is_complete() -> None:
    assert sorted(table("Playbooks")) == sorted(house.name(path) for path in house.playbooks())


def test_table_of_plans_is_complete() -> None:
    assert sorted(table("Plans")) == sorted(layouts.catalog()["plans"])


def test_links_lead_somewhere() -> None:
    pages = [README, *house.under("docs", suffix=".md")]
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)#]+)", page.read_text())]
    local = [(page, link) for page, link in links if "://" not in link]
    assert not [f"{house.name(page)}: {link}" for page, link in local if not (page.parent / link).exists()]


def test_page_of_variables_is_what_the_roles_say() -> None:
    assert variables_page.PAGE.read_text() == variables_page.page(), "run python -m tests.support.variables_page"
