"""What a run counts, and how it is told."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Counts:
    """Tests, as pytest counts them; a stage without tests of its own counts as one."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def counts_in(report: Path | None, passed: bool) -> Counts:
    """Read a JUnit file of pytest; a stage that failed has at least one failure, whatever the file says."""
    if report is None or not report.exists():
        return Counts(passed=1) if passed else Counts(failed=1)
    suites = list(ElementTree.parse(report).iter("testsuite"))
    total = sum(int(suite.get("tests", 0)) for suite in suites)
    skipped = sum(int(suite.get("skipped", 0)) for suite in suites)
    failed = sum(int(suite.get(key, 0)) for suite in suites for key in ("failures", "errors"))
    return Counts(total - skipped - failed, failed if passed else max(failed, 1), skipped)


def slowest(seconds: Iterable[tuple[str, float]], number: int = 8) -> list[str]:
    """The longest parts, longest first, as lines."""
    longest = sorted(seconds, key=lambda part: part[1], reverse=True)[:number]
    return [f"{duration:7.1f} s  {name}" for name, duration in longest if duration >= 1]
