"""The verdict as tables: what is broken, line by line, and every limit once with the point that is nearest to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.report_table import Cell, Table, heads
from ansible.module_utils.apollo.report_words import Words

BROKEN_COLUMNS = ("verdict", "limit", "plan", "n", "endpoint", "measured", "wanted")
LIMIT_COLUMNS = ("verdict", "limit", "plan", "holds", "nearest", "measured", "wanted", "source")
WORST = 3
ORDER = ("missing", "fail", "inconclusive", "pass")

Finding = Mapping[str, Any]


def broken_table(verdict: Mapping[str, Any], words: Words) -> Table | None:
    """Each check that did not pass."""
    found = [finding for finding in verdict.get("findings") or [] if finding["verdict"] != "pass"]
    if not found:
        return None
    rows = [_broken_row(finding, words) for finding in sorted(found, key=_severity)]
    return Table("broken-table", words["broken"], heads(BROKEN_COLUMNS, words), rows)


def worst_lines(verdict: Mapping[str, Any], words: Words) -> list[str]:
    """The points that do not count, then the checks that are farthest beyond; three in all."""
    points = [words["uncounted"].format(**point) for point in verdict.get("uncounted") or []]
    broken = [finding for finding in verdict.get("findings") or [] if finding["verdict"] in ("missing", "fail")]
    ordered = sorted(broken, key=lambda finding: _severity(finding)[1])
    return [*points, *(_line(finding, words) for finding in ordered)][:WORST]


def plain_verdict(verdict: Mapping[str, Any], words: Words) -> str:
    """Whether it is set up right, as one says it."""
    counts, points = verdict.get("counts") or {}, len(verdict.get("uncounted") or [])
    broken = counts.get("fail", 0) + counts.get("missing", 0)
    told = {"all": len(verdict.get("findings") or []), "broken": broken, "points": points}
    return words[f"plain_{verdict['overall']}"].format(**told, open=counts.get("inconclusive", 0))


def limit_table(verdict: Mapping[str, Any], words: Words) -> Table | None:
    """Each limit once per plan, those that do not hold first."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in verdict.get("findings") or []:
        groups.setdefault((finding["name"], finding["plan"]), []).append(finding)
    if not groups:
        return None
    ordered = sorted(
        (sorted(group, key=_severity) for group in groups.values()), key=lambda group: _severity(group[0])[0]
    )
    return Table("limits-table", "", heads(LIMIT_COLUMNS, words), [_limit_row(group, words) for group in ordered])


def _severity(finding: Finding) -> tuple[int, float]:
    """Worst first: by verdict, then by how far beyond the limit, or how near to it."""
    excess = finding["excess"]
    return ORDER.index(finding["verdict"]), -(excess if excess is not None else float("inf"))


def _line(finding: Finding, words: Words) -> str:
    where = " ".join(part for part in (finding["plan"], place(finding)) if part)
    value = _measured(finding) if finding["measured"] else words["not_measured"]
    value = words["not_comparable"] if finding.get("refused") else value
    return words["finding"].format(name=words.say(finding["name"]), where=where, value=value, wanted=_wanted(finding))


def _broken_row(finding: Finding, words: Words) -> list[Cell]:
    return [
        Cell(words[finding["verdict"]], finding["verdict"]),
        Cell(words.say(finding["name"]), note=_note(finding, words)),
        Cell(finding["plan"]),
        Cell(show.NOTHING if finding["n"] is None else str(finding["n"])),
        Cell(finding["endpoint"] or show.NOTHING),
        Cell(_measured(finding)),
        Cell(_wanted(finding)),
    ]


def _limit_row(group: Sequence[Finding], words: Words) -> list[Cell]:
    worst = group[0]
    passed = sum(finding["verdict"] == "pass" for finding in group)
    return [
        Cell(words[worst["verdict"]], worst["verdict"]),
        Cell(words.say(worst["name"]), note=_note(worst, words)),
        Cell(worst["plan"]),
        Cell(words["of"].format(part=passed, whole=len(group))),
        Cell(place(worst)),
        Cell(_measured(worst)),
        Cell(_wanted(worst)),
        Cell(words.say(worst["source"])),
    ]


def _measured(finding: Finding) -> str:
    measured = finding["measured"]
    if not measured:
        return show.NOTHING
    value = f"{show.number(measured['mean'], 4)}{_unit(finding)}"
    if measured["low"] is None:
        return value
    return f"{value} [{show.number(measured['low'], 4)}, {show.number(measured['high'], 4)}]"


def _wanted(finding: Finding) -> str:
    return f"{finding['wanted']}{_unit(finding)}"


def place(finding: Finding) -> str:
    """Where a finding was made: its point, its endpoint or node, or that it was nowhere."""
    n = f"N={finding['n']}" if finding["n"] is not None else ""
    return " ".join(part for part in (n, finding["endpoint"]) if part) or show.NOTHING


def _note(finding: Finding, words: Words) -> str:
    """What a reader must know beside the numbers: refused, widened by noise, and the limit's own remark."""
    refused = words["refused"].format(why=finding["refused"]) if finding.get("refused") else ""
    tolerance = finding.get("tolerance") or {}
    stated = tolerance.get("relative", 0.0) + tolerance.get("absolute", 0.0) / (abs(finding["value"]) or 1.0)
    widened = tolerance.get("noise", 0.0) > stated
    noise = words["noise"].format(share=show.percent(tolerance["noise"])) if widened else ""
    return " ".join(part for part in (refused, noise, words.say(finding["remark"])) if part)


def _unit(finding: Finding) -> str:
    return "" if finding["unit"] == "1" else f" {finding['unit']}"
