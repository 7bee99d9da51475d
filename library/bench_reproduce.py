#!/usr/bin/python
"""Write the published tables with our figures beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.apollo import reproduce_text, results
from ansible.module_utils.apollo.judge_facts import read_facts
from ansible.module_utils.apollo.report_words import REAL_KIND, Words, languages, page, pages
from ansible.module_utils.apollo.reproduce import Evidence, Printed
from ansible.module_utils.apollo.reproduce_tables import printed_tables
from ansible.module_utils.apollo.whole_files import write_files
from ansible.module_utils.basic import AnsibleModule
from jinja2 import Environment, FileSystemLoader, StrictUndefined

DOCUMENTATION = r"""
module: bench_reproduce
short_description: Write the published tables with our figures beside them
description:
  - Writes C(reproduce.html), the same page in every other language that there is, C(reproduce.md) and
    C(reproduce.json) into the run's directory. The same rows and columns as published, with the published value, ours,
    the deviation, the tolerance and the verdict, and the remarks as footnotes. What the published test left out has a
    row too.
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
    description: The verdict that M(bench_judge) returned for the limits of the published figures.
    type: dict
    required: true
  reference:
    description: File of published figures.
    type: path
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
    description: Directory on the controller with one file of words per language, such as C(en.yml).
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Write the published tables again
  bench_reproduce:
    path: results/latest
    verdict: "{{ judged.verdict }}"
    reference: reference/published.yml
    templates: roles/bench/templates
    assets: roles/bench/files
    words: reference/words
"""

RETURN = r"""
files: {description: The files that were written or are up to date., returned: always, type: list, elements: str}
counts: {description: How many printed figures have which verdict., returned: always, type: dict}
"""

DOCUMENT = "reproduce"


def load(params: dict[str, Any]) -> tuple[Mapping[str, Any], Evidence]:
    run = results.read_run(Path(params["path"]))
    published = yaml.safe_load(Path(params["reference"]).read_text(encoding="utf-8"))
    findings = params["verdict"].get("findings") or []
    return run.manifest, Evidence(published, findings, run.sweeps, read_facts(run.events))


def render(params: dict[str, Any]) -> tuple[dict[str, str], dict[str, int]]:
    """Every file's name and text, and how many figures have which verdict."""
    manifest, evidence = load(params)
    tables = printed_tables(evidence)
    spoken, assets = load_words(Path(params["words"])), Path(params["assets"])
    others = pages(DOCUMENT, spoken)
    shared = {
        **{"source": evidence.published["source"], "counts": reproduce_text.counts(tables), "languages": others},
        "overall": params["verdict"].get("overall", "inconclusive"),
        "style": (assets / "report.css").read_text(encoding="utf-8"),
        "script": (assets / "report.js").read_text(encoding="utf-8"),
    }
    is_lab = manifest.get("site_kind") != REAL_KIND
    views = [{**shared, **view(tables, words, is_lab)} for words in spoken]
    options: dict[str, Any] = {"autoescape": True, "undefined": StrictUndefined, "trim_blocks": True}
    environment = Environment(loader=FileSystemLoader(params["templates"]), lstrip_blocks=True, **options)
    template, first = environment.get_template("reproduce.html.j2"), views[0]
    return {
        **{each["page"]: template.render(each) + "\n" for each in views},
        "reproduce.md": reproduce_text.markdown(first["title"], first["banner"], tables, spoken[0]),
        "reproduce.json": json.dumps([table.as_dict() for table in tables], indent=1, ensure_ascii=False) + "\n",
    }, shared["counts"]


def load_words(folder: Path) -> list[Words]:
    return languages({path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in folder.glob("*.yml")})


def view(tables: Sequence[Printed], words: Words, is_lab: bool) -> dict[str, Any]:
    """What one language says."""
    return {
        **{"words": words, "page": page(DOCUMENT, words), "tables": reproduce_text.view(tables, words)},
        "title": f"{words['simulated_prefix'] if is_lab else ''}{words['reproduce_title']}",
        "banner": words["simulated_banner"] if is_lab else "",
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "verdict": {"type": "dict", "required": True},
            "reference": {"type": "path", "required": True},
            "templates": {"type": "path", "required": True},
            "assets": {"type": "path", "required": True},
            "words": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    folder = Path(module.params["path"])
    try:
        texts, counts = render(module.params)
        changed = write_files(module, folder, texts)
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"the published tables are not written: {error}", files=[], counts={})
    module.exit_json(changed=changed, files=[str(folder / name) for name in texts], counts=counts)


if __name__ == "__main__":
    main()
