"""The published tables again: the same rows and columns, ours beside them, and the rows that were left out there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo.reproduce import Evidence

from tests.conftest import PROJECT, RunModule
from tests.support import bench_samples as samples
from tests.support import published_run

Reproduce = Callable[..., dict[str, Any]]
PUBLISHED = published_run.PUBLISHED
LIMITS = [str(PROJECT / "reference" / name) for name in published_run.FILES]


@pytest.fixture
def reproduce(run_module: RunModule, tmp_path: Path) -> Reproduce:
    """Judge and print a run; gives what the module returned, with its three files as text."""

    def reproduced(manifest: dict[str, Any], events: list[dict[str, Any]], **run: Any) -> dict[str, Any]:
        (tmp_path / "manifest.json").write_text(json.dumps(manifest))
        (tmp_path / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        verdict = run_module("bench_judge", path=str(tmp_path), limits=LIMITS)["verdict"]
        told = run_module("bench_reproduce", **options(tmp_path, verdict), **run)
        texts = {path.name: path.read_text() for path in tmp_path.glob("reproduce.*")}
        return {**told, **texts, "tables": json.loads(texts.get("reproduce.json", "[]"))}

    return reproduced


def options(folder: Path, verdict: dict[str, Any]) -> dict[str, Any]:
    role, reference = PROJECT / "roles" / "bench", PROJECT / "reference"
    return {
        **{"path": str(folder), "verdict": verdict, "reference": str(reference / "published.yml")},
        **{"templates": str(role / "templates"), "assets": str(role / "files"), "words": str(reference / "words")},
    }


def figure(told: dict[str, Any], table: str, row: str, column: str) -> dict[str, Any]:
    [printed] = [entry for entry in told["tables"] if entry["name"] == table]
    [found] = [entry for entry in printed["figures"] if (entry["row"], entry["column"]) == (row, column)]
    return dict(found)


def test_the_published_figures_deviate_from_themselves_by_nothing(reproduce: Reproduce) -> None:
    told = reproduce(*published_run.whole())
    figures = [entry for table in told["tables"] for entry in table["figures"] if entry["deviation"] is not None]
    assert len(figures) > 15 + 24 + 6 + 6 + 4
    assert {entry["verdict"] for entry in figures} == {"pass"}
    assert max(abs(entry["deviation"]) for entry in figures) < 0.01
    assert told["counts"]["missing"] == told["counts"]["fail"] == 0


def test_every_printed_figure_of_a_result_is_there(reproduce: Reproduce) -> None:
    told = reproduce(*published_run.whole())
    shown = {entry["published"] for table in told["tables"] for entry in table["figures"]}
    for row in PUBLISHED["results_27b"]:
        assert {row["node_tok_s"], row["ttft_s"], row["total_tok_s"]} <= shown
    for row in PUBLISHED["results_397b"]:
        assert {
            row["single_tok_s"],
            row["single_ttft_s"],
            row["best_tok_s"],
            row["best_n"],
            row["best_ttft_s"],
        } <= shown


def test_rows_that_were_left_out_there_are_there_and_not_measured(reproduce: Reproduce) -> None:
    told = reproduce(*published_run.whole())
    assert figure(told, "results_27b", "with MTP, N = 32", "one node tok/s")["ours"] is None
    left_out = "397B, energy per 1,000 tokens (left out there)"
    assert figure(told, "energy", left_out, "one node, 27B at N = 32")["published"] is None
    assert left_out in told["reproduce.md"]


def test_rows_that_were_left_out_there_show_what_was_measured_here(reproduce: Reproduce) -> None:
    manifest, events = published_run.whole()
    rows = [(32, 1500.0, 1.5)]
    about = published_run.swept("27b-mtp", "27b-mtp", 2, rows)
    told = reproduce(
        {**manifest, "sweeps": [*manifest["sweeps"], about]}, [*events, *published_run.events(about, rows)]
    )
    found = figure(told, "results_27b", "with MTP, N = 32", "one node tok/s")
    assert (found["ours"], found["verdict"]) == (pytest.approx(1500), "no limit")


def test_a_slower_row_shows_its_deviation_its_tolerance_and_fails(reproduce: Reproduce) -> None:
    manifest, events = published_run.whole()
    for event in events:
        if event.get("endpoint") == "vllm-397b-0":
            event["figures"]["output_tok_s"] *= 0.8
    found = figure(reproduce(manifest, events), "results_397b", "c", "best tok/s")
    assert found["deviation"] == pytest.approx(-0.2, abs=0.01)
    assert found["tolerance"] == pytest.approx(0.1, abs=0.01)
    assert found["verdict"] == "fail"


def test_a_limit_of_another_value_says_nothing_of_a_published_figure() -> None:
    finding = {"plan": "27b", "n": 1, "metric": "output_tok_s", "value": 1.0, "verdict": "pass", "unit": "tok/s"}
    told = {**finding, "measured": {"mean": 353.0}, "tolerance": {"used": 0.0}}
    for value, verdict in ((1.0, "missing"), (69.0, "pass")):
        evidence = Evidence({}, [{**told, "value": value}], [])
        assert evidence.judged("N = 1", "one node tok/s", 69, ["27b"], 1, "output_tok_s").verdict == verdict


def test_what_was_not_measured_is_missing_and_a_dash(reproduce: Reproduce) -> None:
    told = reproduce(samples.manifest(), [])
    figures = [entry for table in told["tables"] for entry in table["figures"]]
    assert {entry["ours"] for entry in figures} == {None}
    assert figure(told, "results_27b", "N = 8", "TTFT s")["verdict"] == "missing"


def test_each_table_has_its_remarks_as_footnotes(reproduce: Reproduce) -> None:
    text = reproduce(*published_run.whole())["reproduce.md"]
    assert "1. 'PP is slower in every load situation' contradicts the table" in text
    assert "The rows with MTP were left out" in text


def test_markdown_tables_are_whole(reproduce: Reproduce) -> None:
    text = reproduce(*published_run.whole())["reproduce.md"]
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) == 5
    for table in tables:
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_a_simulated_site_says_so(reproduce: Reproduce) -> None:
    manifest, events = published_run.whole()
    told = reproduce({**manifest, "site_kind": "lab"}, events)
    assert "LAB: simulated" in told["reproduce.md"]
    assert "<h1>Lab: " in told["reproduce.html"]


def test_the_german_page_has_no_english_sentence_of_ours(reproduce: Reproduce) -> None:
    told = reproduce(*published_run.whole())
    english, german = told["reproduce.html"], told["reproduce.de.html"]
    assert '<html lang="de">' in german
    assert 'href="reproduce.de.html"' in english
    assert 'href="reproduce.html"' in german
    shown = re.sub(r"<(style|script)>.*?</\1>", "", german.partition("<main>")[2], flags=re.DOTALL)
    assert re.findall(r"\b(?:the|of|and|with|measured|users?|node|published)\b", re.sub(r"<[^>]+>", " ", shown)) == []
    assert "veröffentlicht 69" in shown


def test_check_mode_writes_nothing_and_a_second_run_changes_nothing(reproduce: Reproduce) -> None:
    manifest, events = published_run.whole()
    assert "reproduce.md" not in reproduce(manifest, events, check=True)
    assert reproduce(manifest, events)["changed"]
    assert not reproduce(manifest, events)["changed"]
