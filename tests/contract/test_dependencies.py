"""Every dependency has a range and a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.contract import house

FILES = [house.PROJECT / "requirements.txt", house.PROJECT / "requirements-dev.txt"]


def requirements(path: Path) -> dict[str, str]:
    """Name and range of each line that names a package."""
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    named = [re.fullmatch(r"([A-Za-z0-9_.-]+)(.*)", line) for line in lines if line and not line.startswith("-")]
    return {match[1]: match[2] for match in named if match}


def every_requirement() -> dict[str, str]:
    return {name: wanted for path in FILES for name, wanted in requirements(path).items()}


@pytest.mark.parametrize("package", every_requirement())
def test_range_has_both_ends(package: str) -> None:
    assert re.fullmatch(r">=[\w.]+,<[\w.]+", every_requirement()[package])


def test_every_package_and_collection_has_a_reason() -> None:
    collections = house.read_yaml(house.PROJECT / "requirements.yml")["collections"]
    wanted = {name.lower() for name in every_requirement()} | {entry["name"] for entry in collections}
    page = (house.PROJECT / "docs" / "dependencies.md").read_text()
    told = {name.lower() for name in re.findall(r"^\| `([^`]+)` \| \S", page, flags=re.MULTILINE)}
    assert not wanted - told
