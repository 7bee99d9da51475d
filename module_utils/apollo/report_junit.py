"""The verdict as JUnit XML, so that any CI can gate on it: one test case per limit and point."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ansible.module_utils.apollo.report_limits import place

CONTROL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(run_id: str, verdict: Mapping[str, Any]) -> str:
    """The whole document."""
    root = Element("testsuites", name="benchmark")
    _suite(root, f"{run_id} limits", [_limit_case(finding) for finding in verdict.get("findings", [])])
    _suite(root, f"{run_id} points", [_point_case(line) for line in verdict.get("uncounted_points", [])])
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(root: Element, name: str, cases: Sequence[Element]) -> None:
    tags = [child.tag for case in cases for child in case]
    counts = {"tests": len(cases), "failures": tags.count("failure"), "skipped": tags.count("skipped"), "errors": 0}
    numbers = {key: str(value) for key, value in counts.items()}
    suite = SubElement(root, "testsuite", {"name": _clean(name), **numbers})
    suite.extend(cases)


def _limit_case(finding: Mapping[str, Any]) -> Element:
    where = place(finding)
    case = Element(
        "testcase", classname=_clean(f"limits.{finding['plan']}"), name=_clean(f"{finding['name']} at {where}")
    )
    if finding["verdict"] in ("fail", "missing"):
        SubElement(case, "failure", type=finding["verdict"], message=_clean(finding["line"]))
    if finding["verdict"] == "inconclusive":
        SubElement(case, "skipped", message=_clean(f"inconclusive: {finding['line']}"))
    return case


def _point_case(line: str) -> Element:
    case = Element("testcase", classname="points", name=_clean(line))
    SubElement(case, "failure", type="uncounted", message=_clean(line))
    return case


def _clean(text: str) -> str:
    """XML knows no control characters, and an engine's last words may hold some."""
    return CONTROL.sub("?", text)
