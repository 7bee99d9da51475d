"""The published tables with ours beside them, as tables of the report and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.report_table import NUMBER, TEXT, Cell, Head, Table
from ansible.module_utils.apollo.reproduce import NO_LIMIT, Figure, Printed

LEGEND = (
    "Each cell: our value; below it the published one, the deviation of ours, the tolerance of the limit, and the "
    "verdict. A dash was not measured here."
)


def counts(tables: Sequence[Printed]) -> dict[str, int]:
    words = [figure.verdict for table in tables for figure in table.figures]
    return {word: words.count(word) for word in ("pass", "fail", "inconclusive", "missing")}


def view(tables: Sequence[Printed]) -> list[dict[str, Any]]:
    return [{"table": _table(printed), "footnotes": printed.footnotes} for printed in tables]


def markdown(title: str, banner: str, tables: Sequence[Printed]) -> str:
    """The whole page."""
    told = ", ".join(f"{count} {word}" for word, count in counts(tables).items() if count)
    top = [f"# {title}", "", *([f"> **{banner}**", ""] if banner else []), told, "", LEGEND, ""]
    return "\n".join(top) + "\n" + "\n".join(_markdown(printed) for printed in tables)


def _table(printed: Printed) -> Table:
    heads = [Head("", kind=TEXT), *(Head(column, kind=NUMBER) for column in printed.columns)]
    rows = [[Cell(row), *(_cell(printed.at(row, column)) for column in printed.columns)] for row in printed.rows]
    return Table(f"reproduce-{printed.name}", printed.title, heads, rows)


def _cell(figure: Figure | None) -> Cell:
    if figure is None:
        return Cell(show.NOTHING)
    return Cell(_number(figure.ours), "" if figure.verdict == NO_LIMIT else figure.verdict, note=_note(figure))


def _note(figure: Figure) -> str:
    """What stands below our value."""
    if figure.published is None and figure.verdict == NO_LIMIT:
        return "not published"
    deviation = f"{100 * figure.deviation:+.1f} %" if figure.deviation is not None else ""
    tolerance = f"tolerance {100 * figure.tolerance:.0f} %" if figure.tolerance is not None else ""
    verdict = "" if figure.verdict == NO_LIMIT else figure.verdict
    parts = (f"published {_printed(figure.published)}", deviation, tolerance, verdict)
    return ", ".join(part for part in parts if part)


def _printed(value: float | str | None) -> str:
    """As it was printed."""
    whole = isinstance(value, int | float) and float(value).is_integer()
    return _number(value) if value is None or whole else str(value)


def _number(value: float | str | None) -> str:
    """As many digits as a reader needs to see the deviation; whole numbers stay whole."""
    if value is None or isinstance(value, str):
        return value or show.NOTHING
    return show.count(value) if float(value).is_integer() else show.number(value, 4)


def _markdown(printed: Printed) -> str:
    lines = [f"## {printed.title}", "", f"| | {' | '.join(printed.columns)} |", f"|---|{'--:|' * len(printed.columns)}"]
    for row in printed.rows:
        cells = [_cell(printed.at(row, column)) for column in printed.columns]
        told = [f"**{cell.text}**<br>{cell.note}" if cell.note else cell.text for cell in cells]
        lines.append(f"| {row} | {' | '.join(told)} |")
    notes = [f"{number}. {note}" for number, note in enumerate(printed.footnotes, start=1)]
    return "\n".join([*lines, "", *notes, ""])
