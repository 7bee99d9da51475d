"""A comparison as Markdown, for people and for a merge request."""

from __future__ import annotations

from collections.abc import Sequence

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.bench_terms import TERMS
from ansible.module_utils.apollo.compare import BETTER, OPEN, WORSE, Change, Comparison

HEAD = "| N | figure | before | after | ratio | 95 % interval | verdict |\n|--:|---|--:|--:|--:|---|---|"


def summary(comparisons: Sequence[Comparison]) -> str:
    """One line on all of them."""
    changes = [change for comparison in comparisons for change in comparison.changes]
    refused = sum(bool(comparison.refused) for comparison in comparisons)
    counts = {word: sum(change.verdict == word for change in changes) for word in (BETTER, WORSE, OPEN)}
    told = [f"{count} {word}" for word, count in counts.items() if count]
    told += [f"{refused} not comparable"] if refused else []
    return f"{len(changes)} figures compared: {', '.join(told) or 'none changed beyond noise'}"


def markdown(comparisons: Sequence[Comparison], lab: bool) -> str:
    """The whole text; a simulated site says so on top."""
    banner = "> **LAB: simulated hardware. These figures say nothing about an A100.**\n\n" if lab else ""
    parts = [_part(comparison) for comparison in comparisons]
    note = (
        "An interval comes from repeats, or from the noise floor of the machine; without either a difference is open: "
        "one run of each is no evidence.\n"
    )
    return f"# Comparison\n\n{banner}{summary(comparisons)}\n\n{note}\n" + "\n".join(parts)


def _part(comparison: Comparison) -> str:
    lines = [f"## {comparison.after} against {comparison.before}", ""]
    lines += [f"- refused: {line}" for line in comparison.refused]
    lines += [f"- allowed difference: {line}" for line in comparison.allowed]
    if comparison.changes:
        lines += ["", HEAD, *(_row(change) for change in comparison.changes)]
    return "\n".join(lines) + "\n"


def _row(change: Change) -> str:
    unit = TERMS[change.metric].unit
    interval = (
        f"{change.low:.3f} to {change.high:.3f}" if change.low is not None and change.high is not None else show.NOTHING
    )
    numbers = f"{show.number(change.before, 4)} | {show.number(change.after, 4)} | {change.ratio:.3f}"
    verdict = f"**{change.verdict}**" if change.verdict in (BETTER, WORSE) else change.verdict
    return f"| {change.n} | {change.metric}, {unit} | {numbers} | {interval} | {verdict} |"
