"""Write docs/variables.md from the roles' argument specifications: python -m tests.support.variables_page"""

from __future__ import annotations

from typing import Any

import yaml

from tests.contract import house

PAGE = house.PROJECT / "docs" / "variables.md"
HEAD = """\
# Variables

Every input of every role, from the roles' argument specifications. Made by `python -m tests.support.variables_page`;
a test compares the two. Lists and longer values are in the role's `defaults/main.yml`.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(role) for role in house.roles())])


def _section(role: str) -> str:
    spec = yaml.safe_load((house.PROJECT / "roles" / role / "meta" / "argument_specs.yml").read_text())
    main = spec["argument_specs"]["main"]
    rows = [_row(name, option) for name, option in (main.get("options") or {}).items()]
    table = ["| variable | type | default | what it is |", "|---|---|---|---|", *rows]
    return "\n".join([f"## {role}", "", f"{_text(main['short_description'])}.", "", *(table if rows else []), ""])


def _row(name: str, option: dict[str, Any]) -> str:
    default = "**required**" if option.get("required") else _default(option.get("default"))
    return f"| `{name}` | {option.get('type', 'str')} | {default} | {_text(option['description'])} |"


def _default(value: Any) -> str:
    if value is None or (isinstance(value, list | dict) and value):
        return ""
    shown = yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("...\n").strip()
    return f"`{_text(shown)}`"


def _text(words: str | list[str]) -> str:
    text = words if isinstance(words, str) else " ".join(words)
    return " ".join(text.split()).replace("|", r"\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
