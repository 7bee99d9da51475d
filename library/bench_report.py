#!/usr/bin/python
"""Render a benchmark run for people and for machines."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.apollo import bench_rows, journal, report_junit, report_view
from ansible.module_utils.apollo.report_words import SECTIONS
from ansible.module_utils.basic import AnsibleModule
from jinja2 import Environment, FileSystemLoader, StrictUndefined

DOCUMENTATION = r"""
module: bench_report
short_description: Render a benchmark run as HTML, Markdown, JSON and JUnit
description:
  - Writes C(verdict.json), C(report.html), C(report.md) and C(junit.xml) into the run's directory. The HTML file is
    whole in itself and needs no network.
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
  reference:
    description: File of published figures, which are shown in a section of their own.
    type: path
"""

EXAMPLES = r"""
- name: Write the report
  bench_report:
    path: results/latest
    verdict: "{{ judged.verdict }}"
    templates: roles/bench/templates
    assets: roles/bench/files
    reference: reference/published.yml
"""

RETURN = r"""
files: {description: The files that were written or are up to date., returned: always, type: list, elements: str}
html: {description: Path of the report for people., returned: always, type: str}
"""


def load(folder: Path) -> tuple[dict[str, Any], list[bench_rows.Sweep]]:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    lines = folder / "journal.jsonl"
    events = journal.read(lines.read_text(encoding="utf-8") if lines.exists() else "").events
    return manifest, bench_rows.read_rows(manifest, events)


def build_view(params: dict[str, Any]) -> dict[str, Any]:
    """The view, with what only this machine can add to it: the local time, style and script."""
    manifest, sweeps = load(Path(params["path"]))
    reference = params["reference"]
    published = yaml.safe_load(Path(reference).read_text(encoding="utf-8")) if reference else {}
    view = report_view.view(manifest, sweeps, params["verdict"], published)
    opened = view["run"]["opened_s"]
    view["run"]["opened"] = time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(opened)) if opened else ""
    assets = Path(params["assets"])
    texts = {name: (assets / file).read_text(encoding="utf-8") for name, file in ASSETS.items()}
    return {**view, **texts, "sections": SECTIONS}


ASSETS = {"style": "report.css", "script": "report.js"}


def render(params: dict[str, Any]) -> dict[str, str]:
    """Every file's name and text."""
    view = build_view(params)
    loader = FileSystemLoader(params["templates"])
    shared: dict[str, Any] = {
        "undefined": StrictUndefined,
        "trim_blocks": True,
        "lstrip_blocks": True,
        "loader": loader,
    }
    html = Environment(autoescape=True, **shared).get_template("report.html.j2").render(view)
    markdown = Environment(autoescape=False, **shared).get_template("report.md.j2").render(view)
    return {
        "verdict.json": json.dumps(params["verdict"], indent=1, sort_keys=True, ensure_ascii=False) + "\n",
        "report.html": html + "\n",
        "report.md": squeeze(markdown),
        "junit.xml": report_junit.render(view["run"]["id"], params["verdict"]),
    }


def squeeze(text: str) -> str:
    """One empty line where there were several."""
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for number, line in enumerate(lines) if line or (number and lines[number - 1])]
    return "\n".join(kept).strip() + "\n"


def write(module: AnsibleModule, folder: Path, texts: dict[str, str]) -> bool:
    """Write what differs, each file in one step."""
    stale = [
        name for name, text in texts.items() if not (folder / name).exists() or (folder / name).read_text() != text
    ]
    for name in [] if module.check_mode else stale:
        part = folder / f"{name}.part"
        part.write_text(texts[name], encoding="utf-8")
        module.atomic_move(str(part), str(folder / name))
    return bool(stale)


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "verdict": {"type": "dict", "required": True},
            "templates": {"type": "path", "required": True},
            "assets": {"type": "path", "required": True},
            "reference": {"type": "path"},
        },
        supports_check_mode=True,
    )
    folder = Path(module.params["path"])
    try:
        texts = render(module.params)
        changed = write(module, folder, texts)
    except OSError as error:
        module.fail_json(msg=f"{error.filename}: {error.strerror}: the report is not written, the journal is kept")
    files = [str(folder / name) for name in texts]
    module.exit_json(changed=changed, files=files, html=str(folder / "report.html"))


if __name__ == "__main__":
    main()
