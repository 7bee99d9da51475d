"""Words that have no place in this project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.contract import house

# Written in halves, so that this file does not break its own rule.
FORBIDDEN = {
    "ignore_" + "errors:": "a failure is handled by failed_when or a rescue",
    "TO" + "DO": "what is missing goes into an issue",
    "FIX" + "ME": "what is broken is mended or goes into an issue",
    "host_key_checking" + " = False": "a host that cannot be told from another is not deployed to",
    "skip_" + "list": "lint findings are mended",
}
MACHINE_PATHS = re.compile(r"(?<![\w./-])/(?:work|root/\.pyenv|tmp/(?:v|plan))/")
REGISTRIES = re.compile(r"py[p]i\.org|pythonhost[e]d\.org|npmj[s]\.(?:org|com)|deb\.debi[a]n\.org")
EXCEPTION = re.compile(r"#\s*(?:noqa|nosec|type:\s*ignore|yamllint\s+disable)\b(?P<rest>.*)")


def text_files() -> list[Path]:
    binary = {".png", ".ico", ".woff2"}
    return [path for path in house.files() if path.suffix not in binary and path.name != "LICENSE"]


def findings(path: Path, words: re.Pattern[str]) -> list[str]:
    numbered = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    return [f"{house.name(path)}:{number}: {line.strip()}" for number, line in numbered if words.search(line)]


def reason(line: str) -> str:
    """What stands behind a lint exception's codes, after a dash or a second hash."""
    match = EXCEPTION.search(line)
    _, _, told = re.sub(r"\s[-#(]\s?", "\0", match["rest"] if match else "", count=1).partition("\0")
    return told.strip()


@pytest.mark.parametrize("word", FORBIDDEN)
def test_forbidden_word_is_nowhere(word: str) -> None:
    whole_word = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
    found = [finding for path in text_files() for finding in findings(path, whole_word)]
    assert not found, FORBIDDEN[word]


def test_no_path_of_one_machine_is_written_down() -> None:
    assert not [finding for path in text_files() for finding in findings(path, MACHINE_PATHS)]


def test_no_package_registry_is_named_by_its_host() -> None:
    assert not [finding for path in text_files() for finding in findings(path, REGISTRIES)]


def test_every_lint_exception_gives_its_reason() -> None:
    matches = [
        (path, line) for path in text_files() for line in path.read_text().splitlines() if EXCEPTION.search(line)
    ]
    bare = [f"{house.name(path)}: {line.strip()}" for path, line in matches if not reason(line)]
    assert not bare, "write the reason behind the exception, on its line, after ' - '"
