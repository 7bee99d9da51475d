#!/usr/bin/python
"""Render a benchmark run for people and for machines."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.apollo import report_junit, report_view, results
from ansible.module_utils.apollo.report_view import Material
from ansible.module_utils.apollo.report_words import SECTIONS, Words, languages, page, pages
from ansible.module_utils.apollo.whole_files import write_files
from ansible.module_utils.basic import AnsibleModule
from jinja2 import Environment, FileSystemLoader, StrictUndefined

DOCUMENTATION = r"""
module: bench_report
short_description: Render a benchmark run as HTML, Markdown, JSON and JUnit
description:
  - Writes C(verdict.json), C(report.html), C(report.md) and C(junit.xml) into the run's directory. Each HTML file is
    whole in itself and needs no network. C(report.html) and C(report.md) are in English; every other language
    that has a file of words makes C(report.LANGUAGE.html).
  - It measures nothing and judges nothing. Runs on the controller.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: The files are products of the journal.}
  idempotent: {support: full}
options:
  path:
    description: Directory of the run on the controller.
    type: path
    required: true
  verdict:
    description: The verdict that M(bench_judge) returned.
    type: dict
    required: true
  templates:
    description: Directory of the templates on the controller.
    type: path
    required: true
  assets:
    description: Directory on the controller that holds C(report.css) and C(report.js).
    type: path
    required: true
  words:
    description: Directory on the controller with a file C(LANGUAGE.yml) for each language; C(en.yml) must be there.
    type: path
    required: true
  reference:
    description: File of published figures, which are shown in a section of their own.
    type: path
  people:
    description: What people do, for the capacity answer. C(think_time_s), C(answer_tokens) and C(floor_tok_s).
    type: dict
    default: {}
  prices:
    description:
      - What the site pays, for the cost of a million tokens. C(currency), C(hardware_per_node_month),
        C(electricity_per_kwh), C(host_power_w) beside the GPUs of a node, C(utilisation) as a share of the month, and
        C(cloud_per_million_tokens) to compare with. Without a price there is no cost.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Write the report
  bench_report:
    path: results/latest
    verdict: "{{ judged.verdict }}"
    templates: roles/bench/templates
    assets: roles/bench/files
    words: reference/words
    reference: reference/published.yml
    people: {think_time_s: 60, answer_tokens: 512, floor_tok_s: 10}
    prices: {currency: EUR, hardware_per_node_month: 2000, electricity_per_kwh: 0.30, utilisation: 0.4}
"""

RETURN = r"""
files: {description: The files that were written or are up to date., returned: always, type: list, elements: str}
html: {description: Path of the report for people., returned: always, type: str}
"""


ASSETS = {"style": "report.css", "script": "report.js"}
DOCUMENT = "report"


def load(params: dict[str, Any]) -> Material:
    run, reference = results.read_run(Path(params["path"])), params["reference"]
    published = yaml.safe_load(Path(reference).read_text(encoding="utf-8")) if reference else {}
    told = params["verdict"], published, params["people"], params["prices"]
    return Material(run.manifest, run.sweeps, *told, events=run.events)


def load_words(folder: Path) -> list[Words]:
    return languages({path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.glob("*.yml")})


def build_view(material: Material, words: Words, assets: Path) -> dict[str, Any]:
    """The view, with what only this machine can add to it: the local time, style and script."""
    view = report_view.view(material, words)
    opened = view["run"]["opened_s"]
    view["run"]["opened"] = time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(opened)) if opened else ""
    texts = {name: (assets / file).read_text(encoding="utf-8") for name, file in ASSETS.items()}
    return {**view, **texts, "sections": SECTIONS}


def render(params: dict[str, Any]) -> dict[str, str]:
    """Every file's name and text."""
    material, assets = load(params), Path(params["assets"])
    spoken = load_words(Path(params["words"]))
    shared: dict[str, Any] = {
        **{"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True},
        "loader": FileSystemLoader(params["templates"]),
    }
    html = Environment(autoescape=True, **shared).get_template("report.html.j2")
    markdown = Environment(autoescape=False, **shared).get_template("report.md.j2")
    views = {page(DOCUMENT, words): build_view(material, words, assets) for words in spoken}
    others = pages(DOCUMENT, spoken)
    return {
        "verdict.json": json.dumps(params["verdict"], indent=1, sort_keys=True, ensure_ascii=False) + "\n",
        **{name: html.render(**view, page=name, languages=others) + "\n" for name, view in views.items()},
        "report.md": squeeze(markdown.render(views["report.html"])),
        "junit.xml": report_junit.render(views["report.html"]["run"]["id"], params["verdict"]),
    }


def squeeze(text: str) -> str:
    """One empty line where there were several."""
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    return "\n".join(kept).strip() + "\n"


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "verdict": {"type": "dict", "required": True},
            "templates": {"type": "path", "required": True},
            "assets": {"type": "path", "required": True},
            "words": {"type": "path", "required": True},
            "reference": {"type": "path"},
            "people": {"type": "dict", "default": {}},
            "prices": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    folder = Path(module.params["path"])
    try:
        texts = render(module.params)
        changed = write_files(module, folder, texts)
    except ValueError as error:
        module.fail_json(msg=f"the report is not written: {error}", files=[], html="")
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}: the report is not written, the journal is kept")
    files = [str(folder / name) for name in texts]
    module.exit_json(changed=changed, files=files, html=str(folder / "report.html"))


if __name__ == "__main__":
    main()
