"""docs/benchmarking.md explains every number and every reason code, in the words of the code."""

from __future__ import annotations

from pathlib import Path

from ansible.module_utils.apollo.bench_terms import TERMS
from ansible.module_utils.apollo.bench_validity import REASONS


def test_every_number_is_explained(project: Path) -> None:
    text = (project / "docs" / "benchmarking.md").read_text()
    assert [name for name in TERMS if f"`{name}`" not in text] == []


def test_every_reason_is_explained_in_the_words_of_the_report(project: Path) -> None:
    text = (project / "docs" / "benchmarking.md").read_text()
    assert [code for code, meaning in REASONS.items() if f"| `{code}` | {meaning} |" not in text] == []
