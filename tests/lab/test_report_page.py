"""The report of a whole chassis, with every section and in every language, on a telephone, a tablet and a desk."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import overload
from ansible.module_utils.apollo.bench_result import read_result

from tests.contract import house
from tests.support import browser, published_run
from tests.unit import test_overload, test_report_overload

PAGES = ("report.html", "report.de.html")
WIDTHS = (360, 768, 1280)
PLANS = 7
PLOTS = 3 * PLANS + 2 + 1 + 1  # three for each plan, two side by side, two nodes against one, energy


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    published_run.write(folder)
    overloaded = {**overload.told(read_result(test_overload.text()), test_report_overload.OFFER), "plan": "27b"}
    with (folder / "journal.jsonl").open("a") as journal:
        journal.write(json.dumps(overloaded) + "\n")
    verdict = published_run.judge_events(*published_run.whole()).as_dict()
    role, reference = house.PROJECT / "roles/bench", house.PROJECT / "reference"
    options: dict[str, Any] = {
        **{"path": str(folder), "verdict": verdict, "people": {}, "words": str(reference / "words")},
        **{"templates": str(role / "templates"), "assets": str(role / "files")},
        **{"prices": {"electricity_per_kwh": 0.3, "currency": "EUR"}, "reference": str(reference / "published.yml")},
    }
    tables, _ = importlib.import_module("bench_reproduce").render(options)
    for name, text in {**importlib.import_module("bench_report").render(options), **tables}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=[(page, width) for page in PAGES for width in WIDTHS], ids=str)
def page(request: pytest.FixtureRequest, report: Path) -> browser.Page:
    if browser.program() is None:
        pytest.skip("no Chromium here: install your system's package chromium")
    name, width = request.param
    return browser.open_page(report / name, width)


@pytest.mark.parametrize("width", [WIDTHS[0], WIDTHS[-1]])
@pytest.mark.parametrize("name", ["reproduce.html", "reproduce.de.html"])
def test_the_tables_measured_again_are_a_page_as_well(report: Path, name: str, width: int) -> None:
    if browser.program() is None:
        pytest.skip("no Chromium here: install your system's package chromium")
    page = browser.open_page(report / name, width)
    assert page.errors == []
    assert page.width <= page.room


def test_page_loads_without_errors(page: browser.Page) -> None:
    assert page.errors == []


def test_page_fits_its_window(page: browser.Page) -> None:
    assert page.width <= page.room


def test_every_plot_is_there_and_has_marks(page: browser.Page) -> None:
    assert len(page.plots) == PLOTS
    assert all(int(plot["marks"]) > 0 for plot in page.plots)


def test_a_page_of_hardware_never_says_that_it_is_simulated(page: browser.Page) -> None:
    assert not re.search(r"\bLAB\b|simul", page.text)
