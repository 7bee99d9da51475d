"""Whatever a report can show of the project's own data is there in every language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from ansible.module_utils.apollo.overload import LIMITS, overload_limits
from ansible.module_utils.apollo.report_reference import DERIVED, LISTS, TABLES
from ansible.module_utils.apollo.report_words import read_words
from ansible.module_utils.apollo.reproduce import Evidence
from ansible.module_utils.apollo.reproduce_tables import printed_tables

from tests.contract import house

REFERENCE = house.PROJECT / "reference"
LANGUAGES = sorted(path.stem for path in (REFERENCE / "words").glob("*.yml") if path.stem != "en")
# The same in every language so far.
SAME = {"TTFT s", "N", "GB", "N=1 TTFT s", "W", "°C", "s", "tok", "Wh", "GB/s", *("base", "pp", "a", "b", "c", "d")}
ALSO_SAME = re.compile(
    r"published\.yml, \w+|N = \d+|qwen[\w.-]+|GPTQ int4|TP4 x PP2|bfloat16"
)  # addresses, names, symbols


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


def limits() -> Iterator[str]:
    """Names and sources of all limits that ship."""
    for path in sorted(REFERENCE.glob("limits-*.yml")):
        for limit in data(path.name)["limits"]:
            yield from (limit["name"], limit["source"])
    told = overload_limits({"ttft_p95_ms": 1, "floor_tok_s": 1, "refused_p95_ms": 1}, "27b")
    yield from (limit[part] for limit in told for part in ("name", "source"))


def printed() -> Iterator[str]:
    """The published tables, there and measured again, with all words that stand in their cells."""
    published = data("published.yml")
    for name, caption, columns in TABLES:
        yield from (caption, *(head for head, _ in columns))
        yield from (
            value for entry in published[name] for _, key in columns if isinstance(value := entry.get(key), str)
        )
    yield from (title for _, title in LISTS)
    for table in printed_tables(Evidence(published, [], [])):
        yield from (table.title, *table.rows, *table.columns, *table.footnotes)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_remark_that_a_report_can_show_is_there_in_every_language(language: str) -> None:
    known = read_words(data(f"words/{language}.yml"), language).sayings
    assert [remark for remark in remarks() if not known.get(" ".join(remark.split()))] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_and_captions_are_there_in_every_language(language: str) -> None:
    known = read_words(data(f"words/{language}.yml"), language).sayings
    told = [" ".join(name.split()) for name in (*limits(), *printed())]
    assert [name for name in told if name not in known and name not in SAME and not ALSO_SAME.fullmatch(name)] == []
