"""The published tables with ours beside them, as tables of the report and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.report_table import NUMBER, TEXT, Cell, Head, Table
from ansible.module_utils.apollo.report_words import Words
from ansible.module_utils.apollo.reproduce import NO_LIMIT, Figure, Printed

PERCENT = "\u00a0%"  # which never stands at the beginning of a line


def counts(tables: Sequence[Printed]) -> dict[str, int]:
    words = [figure.verdict for table in tables for figure in table.figures]
    return {word: words.count(word) for word in ("pass", "fail", "inconclusive", "missing")}


def view(tables: Sequence[Printed], words: Words) -> list[dict[str, Any]]:
    return [{"table": _table(printed, words), "footnotes": _footnotes(printed, words)} for printed in tables]


def markdown(title: str, banner: str, tables: Sequence[Printed], words: Words) -> str:
    """The whole page."""
    told = ", ".join(f"{count} {words[word]}" for word, count in counts(tables).items() if count)
    top = [f"# {title}", "", *([f"> **{banner}**", ""] if banner else []), told, "", words["reproduce_legend"], ""]
    return "\n".join(top) + "\n" + "\n".join(_markdown(printed, words) for printed in tables)


def _table(printed: Printed, words: Words) -> Table:
    heads = [Head("", kind=TEXT), *(Head(words.say(column), kind=NUMBER) for column in printed.columns)]
    rows = [
        [Cell(words.say(row)), *(_cell(printed.at(row, column), words) for column in printed.columns)]
        for row in printed.rows
    ]
    return Table(f"reproduce-{printed.name}", words.say(printed.title), heads, rows)


def _footnotes(printed: Printed, words: Words) -> list[str]:
    return [words.say(note) for note in printed.footnotes]


def _cell(figure: Figure | None, words: Words) -> Cell:
    if figure is None:
        return Cell(show.NOTHING)
    style = "" if figure.verdict == NO_LIMIT else figure.verdict
    return Cell(_number(figure.ours), style, note=_note(figure, words))


def _note(figure: Figure, words: Words) -> str:
    """What stands below our value."""
    if figure.published is None and figure.verdict == NO_LIMIT:
        return words["reproduce_not_published"]
    deviation = f"{100 * figure.deviation:+.1f}{PERCENT}" if figure.deviation is not None else ""
    share = f"{100 * figure.tolerance:.0f}{PERCENT}" if figure.tolerance is not None else ""
    tolerance = words["reproduce_tolerance"].format(share=share) if share else ""
    verdict = "" if figure.verdict == NO_LIMIT else words[figure.verdict]
    published = words["reproduce_published"].format(value=_printed(figure.published))
    return ", ".join(part for part in (published, deviation, tolerance, verdict) if part)


def _printed(value: float | str | None) -> str:
    """As it was printed."""
    whole = isinstance(value, int | float) and float(value).is_integer()
    return _number(value) if value is None or whole else str(value)


def _number(value: float | str | None) -> str:
    """As many digits as a reader needs to see the deviation; whole numbers stay whole."""
    if value is None or isinstance(value, str):
        return value or show.NOTHING
    return show.count(value) if float(value).is_integer() else show.number(value, 4)


def _markdown(printed: Printed, words: Words) -> str:
    table = _table(printed, words)
    heads = [head.text for head in table.heads[1:]]
    lines = [f"## {table.caption}", "", f"| | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    for first, *cells in table.rows:
        told = [f"**{cell.text}**<br>{cell.note}" if cell.note else cell.text for cell in cells]
        lines.append(f"| {first.text} | {' | '.join(told)} |")
    notes = [f"{number}. {note}" for number, note in enumerate(_footnotes(printed, words), start=1)]
    return "\n".join([*lines, "", *notes, ""])
