"""The report: what it shows, what it never mixes, and what it says of a simulated site."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from ansible.module_utils.apollo import report_junit

from tests.conftest import PROJECT, RunModule
from tests.support import bench_samples as samples

Render = Callable[..., Path]
TABLE = re.compile(r"<figure class=\"table\".*?</figure>", re.DOTALL)
PLOT = re.compile(r"<svg class=\"plot\".*?</svg>", re.DOTALL)
LIMITS = str(PROJECT / "reference" / "limits-lab.yml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run-1"


@pytest.fixture
def render(run_module: RunModule, folder: Path) -> Render:
    """Judge and report a run of both plans; `told` is what the report module returned."""

    def rendered(kind: str = "lab", limits: str = LIMITS, **changed: Any) -> Path:
        write_run(folder, kind, **changed)
        verdict = run_module("bench_judge", path=str(folder), limits=[limits])["verdict"]
        assert not run_module("bench_report", **options(folder, verdict))["failed"]
        return folder

    return rendered


def options(folder: Path, verdict: dict[str, Any]) -> dict[str, Any]:
    role = PROJECT / "roles" / "bench"
    places = {
        "templates": str(role / "templates"),
        "assets": str(role / "files"),
        "words": str(PROJECT / "reference" / "words"),
    }
    return {
        "path": str(folder),
        "verdict": verdict,
        "reference": str(PROJECT / "reference" / "published.yml"),
        **places,
    }


def write_run(folder: Path, kind: str, **changed: Any) -> None:
    dense, sparse = samples.sweep(), samples.sweep(plan="397b", variant="397b-c", endpoints=1)
    events = [*samples.runs(dense, **changed), *samples.runs(sparse, spec_decode_acceptance_length=1.2, **changed)]
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(samples.manifest(dense, sparse, kind=kind)))
    (folder / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def html(folder: Path) -> str:
    return (folder / "report.html").read_text()


def split(page: str) -> tuple[str, str]:
    """What was measured here, and the reference behind it."""
    measured, _, reference = page.partition('<aside id="reference"')
    return measured, reference


def test_all_four_files_are_written(render: Render) -> None:
    names = {path.name for path in render().iterdir()}
    assert names >= {"verdict.json", "report.html", "report.md", "junit.xml"}


def test_the_page_needs_no_network(render: Render) -> None:
    page = html(render())
    links = re.findall(r"(?:src|href)=\"([^\"]*)", page)
    assert {link for link in links if not link.startswith("#")} == {"report.de.html"}
    assert not re.search(r"url\(|@import|https?://", page)


def plot_titles(page: str) -> list[str]:
    return re.findall(r'<text class="plot-title"[^>]*>([^<]*)</text>', page)


def test_each_plan_has_its_three_plots_and_both_stand_side_by_side(render: Render) -> None:
    told = ("output tokens per second", "time to first token", "speed of one user")
    own = [f"{plan}, {what}" for plan in ("27b", "397b") for what in told]
    assert plot_titles(html(render("hardware"))) == [*own, *told[:2], "27b, Two nodes against one"]


def test_a_lab_says_so_on_top_in_every_heading_and_in_every_plot(render: Render) -> None:
    measured, _ = split(html(render("lab")))
    assert "LAB: simulated hardware, stand-in models" in measured
    titles = re.findall(r"<h[12]>(.*?)</h", measured) + re.findall(r'class="plot-title"[^>]*>([^<]*)<', measured)
    assert titles
    assert [title for title in titles if not title.startswith("Lab: ")] == []


def test_hardware_has_no_such_banner(render: Render) -> None:
    page = html(render("hardware"))
    assert "LAB:" not in page
    assert "Lab: " not in page


def test_published_figures_stand_in_no_table_and_no_plot_of_this_run(render: Render) -> None:
    measured, reference = split(html(render("lab")))
    own = "".join(TABLE.findall(measured) + PLOT.findall(measured))
    assert all(figure not in own for figure in ("1306", "2618", "5187", "661", "69 tok/s"))
    assert all(figure in reference for figure in ("1306", "2618", "5187", "661", "693", "35.6", "15.3"))
    assert PLOT.findall(reference) == []


@pytest.mark.parametrize(("kind", "lines"), [("lab", 0), ("hardware", 2)])
def test_the_comfort_line_is_drawn_for_hardware_only(render: Render, kind: str, lines: int) -> None:
    assert html(render(kind)).count('class="mark"') == lines


def test_every_published_remark_is_in_the_reference(render: Render) -> None:
    _, reference = split(html(render()))
    assert reference.count("<li>") >= 17 + 6 + 3


def test_the_verdict_is_on_top(render: Render) -> None:
    page = html(render())
    assert page.index('<section class="verdict pass"') < page.index("<main>")
    assert "Passed" in page


def test_a_point_that_does_not_count_is_named_and_not_plotted(render: Render) -> None:
    page = html(render(total_input_tokens=1))
    assert '<section class="verdict fail"' in page
    assert "27b N=1 does not count: input_tokens" in page
    assert PLOT.findall(page) == []
    assert "Not plotted, since no valid run: N = 1, 8" in page


def test_a_name_from_outside_cannot_become_markup(render: Render, folder: Path, run_module: RunModule) -> None:
    render()
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["site_name"] = "<script>alert(1)</script>"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    verdict = json.loads((folder / "verdict.json").read_text())
    run_module("bench_report", **options(folder, verdict))
    assert "<script>alert" not in html(folder)


def test_the_same_run_is_rendered_once(render: Render, run_module: RunModule, folder: Path) -> None:
    render()
    verdict = json.loads((folder / "verdict.json").read_text())
    assert not run_module("bench_report", **options(folder, verdict))["changed"]
    (folder / "report.md").unlink()
    assert run_module("bench_report", check=True, **options(folder, verdict))["changed"]
    assert not (folder / "report.md").exists()


def test_markdown_says_lab_in_every_section_of_this_run(render: Render) -> None:
    text = (render("lab") / "report.md").read_text()
    sections = re.split(r"^## ", text.partition("## Reference")[0], flags=re.MULTILINE)
    assert len(sections) > 7
    assert [section for section in sections if "LAB: simulated" not in section] == []


def test_markdown_tables_are_whole(render: Render) -> None:
    text = (render() / "report.md").read_text()
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) > 10
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_junit_has_one_case_for_each_check_and_one_failure_for_each_broken_one(render: Render) -> None:
    folder = render(limits=str(PROJECT / "reference" / "limits-published.yml"))
    verdict = json.loads((folder / "verdict.json").read_text())
    root = ElementTree.parse(folder / "junit.xml").getroot()
    assert len(root.findall(".//testcase")) == len(verdict["findings"])
    assert len(root.findall(".//failure")) == verdict["counts"]["fail"] + verdict["counts"]["missing"] > 0
    assert sum(int(suite.get("failures", "0")) for suite in root) == len(root.findall(".//failure"))


def test_junit_stays_xml_whatever_an_engine_says() -> None:
    text = report_junit.render("run \x00", {"uncounted_points": ["27b N=1 \x1b[31m<died> & gone"]})
    assert ElementTree.fromstring(text).find(".//failure") is not None


def energetic(folder: Path, run_module: RunModule, figures: dict[str, float], **told: Any) -> str:
    """The energy section of a run whose first record has these figures."""
    swept = samples.sweep()
    first, *others = samples.runs(swept)
    runs = [{**first, **told, "figures": {**first["figures"], **figures}}, *others]
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps(samples.manifest(swept)))
    (folder / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in runs))
    verdict = run_module("bench_judge", path=str(folder))["verdict"]
    run_module("bench_report", **options(folder, verdict))
    return html(folder).partition('<section id="energy">')[2].partition("</section>")[0]


def test_energy_that_was_not_measured_is_said_and_never_zero(folder: Path, run_module: RunModule) -> None:
    shown = energetic(folder, run_module, {})
    assert "Not measured in this run." in shown
    assert "<table" not in shown


@pytest.mark.parametrize(("reasons", "told"), [(["hw_thermal"], "hw_thermal"), ([], "no")])
def test_energy_is_shown_with_what_slowed_the_gpus(
    folder: Path, run_module: RunModule, reasons: list[str], told: str
) -> None:
    figures = {"power_mean_w": 1231.0, "wh_per_1k_tokens_gross": 0.27, "tokens_per_kwh_gross": 3.7e6}
    shown = energetic(folder, run_module, figures, throttle_reasons=reasons)
    assert "1\u202f231" in shown
    assert "0.270" in shown
    assert f">{told}</td>" in shown
    assert "come on top" in shown
