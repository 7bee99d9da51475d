"""The newest report opens in a real browser and shows what it should."""

from __future__ import annotations

import json
import re

import pytest

from tests.contract import house
from tests.support import browser

LATEST = house.PROJECT / "results" / "latest"
PLANS = ("27b", "397b")
WIDTHS = (1280, 768, 360)


@pytest.fixture(scope="module", params=WIDTHS)
def page(request: pytest.FixtureRequest) -> browser.Page:
    if browser.program() is None:
        pytest.skip("no Chromium here: install your system's package chromium")
    return browser.open_page(LATEST / "report.html", request.param)


def test_page_loads_without_errors(page: browser.Page) -> None:
    assert page.errors == []


def test_page_fits_its_window(page: browser.Page) -> None:
    assert page.width <= page.room


@pytest.mark.parametrize("plan", PLANS)
def test_page_has_plots_with_marks_for_the_plan(page: browser.Page, plan: str) -> None:
    word = re.compile(rf"(?<![\w-]){plan}(?![\w-])")
    plots = [plot for plot in page.plots if word.search(str(plot["near"]))]
    assert plots
    assert all(int(plot["marks"]) > 0 for plot in plots)


def test_page_says_that_this_is_a_lab(page: browser.Page) -> None:
    assert re.search(r"\blab\b", page.text, flags=re.IGNORECASE)
    assert "A100" in page.text


@pytest.mark.parametrize(
    "name", ["manifest.json", "journal.jsonl", "verdict.json", "report.html", "report.md", "junit.xml"]
)
def test_result_has_all_its_files(name: str) -> None:
    assert (LATEST / name).stat().st_size > 0


def test_every_line_of_the_journal_is_json() -> None:
    lines = (LATEST / "journal.jsonl").read_text().splitlines()
    assert lines
    assert all(isinstance(json.loads(line), dict) for line in lines)


def test_raw_results_of_the_client_are_kept() -> None:
    assert list((LATEST / "raw").glob("*.tar.gz"))
