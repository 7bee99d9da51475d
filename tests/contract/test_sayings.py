"""Whatever a report can show of the project's own data is there in every language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible.module_utils.apollo.overload import LIMITS
from ansible.module_utils.apollo.report_reference import DERIVED, LISTS, TABLES
from ansible.module_utils.apollo.report_words import read_words

from tests.contract import house

REFERENCE = house.PROJECT / "reference"
LANGUAGES = sorted(path.stem for path in (REFERENCE / "words").glob("*.yml") if path.stem != "en")
SAME = {"TTFT s", "N", "GB", "N=1 TTFT s"}  # the same in every language so far


def data(name: str) -> Any:
    return house.plain_yaml((REFERENCE / name).read_text(encoding="utf-8"))


def remarks() -> Iterator[str]:
    """Every remark of a limit or of the published figures, and what else stands there in sentences."""
    for path in sorted(REFERENCE.glob("limits-*.yml")):
        yield from (limit["remark"] for limit in data(path.name)["limits"] if "remark" in limit)
    published = data("published.yml")
    yield from (remark["text"] for remark in published["remarks"])
    yield from (line for name, _ in LISTS for line in published[name])
    yield from (remark for *_, remark in LIMITS if remark)
    yield DERIVED


def names() -> Iterator[str]:
    yield from (limit["name"] for limit in data("limits-lab.yml")["limits"])
    yield from (name for name, *_ in LIMITS)
    for _, caption, columns in TABLES:
        yield from (caption, *(head for head, _ in columns))
    yield from (title for _, title in LISTS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_remark_that_a_report_can_show_is_there_in_every_language(language: str) -> None:
    known = read_words(data(f"words/{language}.yml"), language).sayings
    assert [remark for remark in remarks() if not known.get(" ".join(remark.split()))] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_and_captions_are_there_in_every_language(language: str) -> None:
    known = read_words(data(f"words/{language}.yml"), language).sayings
    assert [name for name in names() if name not in known and name not in SAME] == []
