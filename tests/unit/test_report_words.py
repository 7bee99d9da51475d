"""Every language says the same: the same texts with the same blanks, the same columns, and terms that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Formatter

import pytest
import yaml
from ansible.module_utils.apollo.bench_terms import LATENCIES, TERMS
from ansible.module_utils.apollo.bench_validity import REASONS
from ansible.module_utils.apollo.report_words import SECTIONS, Words, read_words

from tests.conftest import PROJECT, RunModule
from tests.support import bench_samples as samples

FOLDER = PROJECT / "reference" / "words"


def words(language: str) -> Words:
    path = FOLDER / f"{language}.yml"
    return read_words(yaml.safe_load(path.read_text()), path.name)


def blanks(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


ENGLISH = words("en")
OTHERS = sorted(path.stem for path in FOLDER.glob("*.yml") if path.stem != "en")


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_has_the_same_texts_with_the_same_blanks(language: str) -> None:
    other = words(language)
    assert set(other.texts) == set(ENGLISH.texts)
    assert [name for name in ENGLISH.texts if blanks(ENGLISH[name]) != blanks(other[name])] == []
    assert [name for name in ENGLISH.texts if name != "reference_language" and not other[name]] == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_has_the_same_columns(language: str) -> None:
    assert set(words(language).column_heads) == set(ENGLISH.column_heads)


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_explains_every_term_and_every_reason(language: str) -> None:
    percentiles = tuple(f"{name}_{which}" for name in LATENCIES for which in ("mean", "p5", "p9"))
    terms = [name for name in TERMS if not name.startswith(percentiles)]
    assert [name for name in (*LATENCIES, *terms, *REASONS) if name not in words(language).meanings] == []


def test_every_section_has_a_title() -> None:
    assert [name for name in SECTIONS if not ENGLISH[name]] == []


def test_a_file_that_lacks_something_is_named() -> None:
    with pytest.raises(ValueError, match=r"xx\.yml: lacks texts, heads"):
        read_words({"language": "xx", "language_name": "X"}, "xx.yml")


def test_the_german_report_has_no_english_sentence_of_ours(run_module: RunModule, tmp_path: Path) -> None:
    swept = samples.sweep()
    (tmp_path / "manifest.json").write_text(json.dumps(samples.manifest(swept)))
    (tmp_path / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in samples.runs(swept)))
    verdict = run_module("bench_judge", path=str(tmp_path))["verdict"]
    role = PROJECT / "roles" / "bench"
    places = {"templates": str(role / "templates"), "assets": str(role / "files"), "words": str(FOLDER)}
    assert not run_module("bench_report", path=str(tmp_path), verdict=verdict, **places)["failed"]
    page = (tmp_path / "report.de.html").read_text().partition('<aside id="reference"')[0]
    assert '<html lang="de">' in page
    shown = re.sub(r"<(style|script)>.*?</\1>", "", page, flags=re.DOTALL)
    assert re.findall(r"\b(?:the|of|and|with|measured|users?)\b", re.sub(r"<[^>]+>", " ", shown)) == []
