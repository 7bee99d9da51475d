"""The published tables again, row by row and column by column, each figure with ours beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isclose
from typing import Any

from ansible.module_utils.apollo.bench_rows import Sweep
from ansible.module_utils.apollo.judge_facts import Fact

NO_LIMIT = "no limit"  # nothing was published, or what was published cannot be measured
PRINTED = 0.02  # how far rounding in print takes a figure from the limit that was made of it
ORDER = ("missing", "fail", "inconclusive", "pass")
ONE_NODE = ("27b-one", "27b")
PLANS = {"c": "397b"}

Finding = Mapping[str, Any]


@dataclass(frozen=True)
class Figure:
    """One printed figure, or one that the published test left out."""

    row: str
    column: str
    published: float | str | None
    ours: float | None
    unit: str
    deviation: float | None = None
    tolerance: float | None = None
    verdict: str = NO_LIMIT


@dataclass(frozen=True)
class Printed:
    """A published table: its rows and columns as printed, its figures, and the remarks that belong to it."""

    name: str
    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    figures: Sequence[Figure]
    footnotes: Sequence[str]

    def at(self, row: str, column: str) -> Figure | None:
        return next((figure for figure in self.figures if (figure.row, figure.column) == (row, column)), None)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Evidence:
    """What was measured here: findings against the limits of the published figures, and everything else."""

    published: Mapping[str, Any]
    findings: Sequence[Finding]
    sweeps: Sequence[Sweep]
    facts: Sequence[Fact] = ()

    def judged(
        self,
        row: str,
        column: str,
        published: float,
        plans: Sequence[str],
        n: int | None,
        metric: str,
        scale: float = 1.0,
    ) -> Figure:
        """A figure with a limit: ours is the mean of the endpoints, the verdict that of the worst of them.

        Only a limit that has the published value says anything of it, others may be about the same point.
        """
        for plan in plans:
            about = [finding for finding in self.findings if _is(finding, plan, n, metric)]
            found = [finding for finding in about if isclose(scale * finding["value"], published, rel_tol=PRINTED)]
            if found:
                return _judged(row, column, published, found, scale)
        return Figure(row, column, published, None, "", verdict="missing")

    def plain(self, row: str, column: str, plans: Sequence[str], n: int, metric: str, scale: float = 1.0) -> Figure:
        """A figure that was never published, so that no limit is about it."""
        known = [value for sweep in self.sweeps if sweep.plan in plans for value in _means(sweep, n, metric)]
        return Figure(row, column, None, scale * sum(known) / len(known) if known else None, "")

    def footnotes(self, *tables: str) -> list[str]:
        remarks = self.published.get("remarks") or []
        return [remark["text"] for remark in remarks if set(remark.get("about") or []) & set(tables)]


def _is(finding: Finding, plan: str, n: int | None, metric: str) -> bool:
    return (finding["plan"], finding["n"], finding["metric"]) == (plan, n, metric)


def _judged(row: str, column: str, published: float, found: Sequence[Finding], scale: float) -> Figure:
    worst = min(found, key=lambda finding: ORDER.index(finding["verdict"]))
    known = [finding["measured"]["mean"] for finding in found if finding["measured"] and not finding.get("refused")]
    ours = scale * sum(known) / len(known) if known else None
    limit = abs(worst["value"])
    return Figure(
        row,
        column,
        published,
        ours,
        worst["unit"],
        ours / published - 1 if ours is not None and published else None,
        worst["tolerance"]["used"] / limit if limit else None,
        worst["verdict"],
    )


def _means(sweep: Sweep, n: int, metric: str) -> list[float]:
    rows = [row for row in sweep.rows if row.concurrency == n]
    values = [row.mean(metric, endpoint) for row in rows for endpoint in sweep.endpoints]
    return [value for value in values if value is not None]


def plan_of(variant: str) -> str:
    return PLANS.get(variant, f"397b-{variant}")
