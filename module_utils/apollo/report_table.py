"""Tables as the templates print them: heads with a hint, cells with a style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ansible.module_utils.apollo.report_format import NOTHING, THIN_SPACE
from ansible.module_utils.apollo.report_words import Words

NUMBER, WORD, TEXT = "number", "word", "text"  # a word is not broken, a text is
WORDS = frozenset({"status", "endpoint", "node", "plan", "verdict", "nearest", "variant", "ended_by"})
TEXTS = frozenset({"checks", "why", "limit", "source", "throttle"})


@dataclass(frozen=True)
class Head:
    text: str
    hint: str = ""
    kind: str = NUMBER


@dataclass(frozen=True)
class Cell:
    """Style is a word such as pass or fail; hint is shown on pointing and, where it matters, in print."""

    text: str
    style: str = ""
    hint: str = ""
    note: str = ""


@dataclass(frozen=True)
class Table:
    id: str
    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


def heads(names: Iterable[str], words: Words) -> list[Head]:
    """The heads of known columns."""
    return [Head(*words.head(name), _kind(name)) for name in names]


def plain_table(
    name: str, caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]], words: Sequence[str] = ()
) -> Table:
    """A table of ready texts; a column is one of numbers where every cell of it is a number, or one of words."""
    texts = [[value if isinstance(value, Cell) else Cell(_text(value)) for value in row] for row in rows]
    numeric = [bool(texts) and all(_is_number(row[index].text) for row in texts) for index in range(len(columns))]
    kinds = [
        NUMBER if is_number else WORD if column in words else TEXT
        for column, is_number in zip(columns, numeric, strict=True)
    ]
    titles = [Head(column, kind=kind) for column, kind in zip(columns, kinds, strict=True)]
    return Table(name, caption, titles, texts)


def _kind(name: str) -> str:
    return WORD if name in WORDS else TEXT if name in TEXTS else NUMBER


def _text(value: object) -> str:
    return NOTHING if value is None else str(value)


def _is_number(text: str) -> bool:
    return text == NOTHING or text.replace(THIN_SPACE, "").replace(".", "", 1).lstrip("-").isdigit()
