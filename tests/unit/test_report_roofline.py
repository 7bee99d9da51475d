"""The published 27B rows against the floors of their hardware, and what the report says where there is no floor."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from ansible.module_utils.apollo.bench_rows import Sweep, read_rows
from ansible.module_utils.apollo.report_roofline import roofline_section
from ansible.module_utils.apollo.report_words import read_words

from tests.conftest import PROJECT
from tests.support import bench_samples as samples
from tests.support import published_run

ENGLISH = read_words(yaml.safe_load((PROJECT / "reference" / "words" / "en.yml").read_text()), "en.yml")
CONFIG = json.loads((PROJECT / "tests" / "data" / "models" / "qwen3.6-27b.json").read_text())


def sweeps(rows: list[published_run.Row], **changed: Any) -> list[Sweep]:
    """The published plan 27b, with what a manifest of this toolkit says of model and hardware."""
    about = published_run.swept("27b", "27b-base", 2, rows)
    for engine in about["layout"]["engines"]:
        engine["settings"] = {"tensor-parallel-size": 4, **changed.pop("settings", {})}
    for node in about["hardware"].values():
        node["gpu"] = changed.pop("gpu", "NVIDIA A100-SXM4-40GB")
    about["configs"] = {"qwen3.6-27b": CONFIG, **changed.pop("configs", {})}
    return read_rows(samples.manifest(about), published_run.events(about, rows))


def shares(section: dict[str, Any]) -> list[float]:
    return [float(row[-1].text.split()[0]) for row in section["table"].rows]


def test_published_rows_reach_a_smooth_share_of_the_floor() -> None:
    section = roofline_section(sweeps(published_run.dense()), ENGLISH, "", simulated=False)
    assert section["lines"] == []
    assert len(section["plots"]) == 1
    assert all(57 <= share <= 76 for share in shares(section))


def test_a_row_off_the_curve_is_told() -> None:
    rows = [(n, tok_s * (0.6 if n == 32 else 1), ttft) for n, tok_s, ttft in published_run.dense()]
    section = roofline_section(sweeps(rows), ENGLISH, "", simulated=False)
    assert len(section["lines"]) == 1
    assert section["lines"][0].startswith("27b N=32: share is")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"configs": {"qwen3.6-27b": None}}, "config.json of qwen3.6-27b was not read"),
        ({"settings": {"pipeline-parallel-size": 2}}, "a pipeline of stages has no floor"),
        ({"gpu": "no such GPU"}, "no such GPU"),
    ],
)
def test_a_sweep_without_a_floor_says_why(changed: dict[str, Any], told: str) -> None:
    section = roofline_section(sweeps(published_run.dense(), **changed), ENGLISH, "", simulated=False)
    assert section["table"] is None
    assert told in section["lines"][0]


def test_simulated_hardware_has_no_floor() -> None:
    section = roofline_section(sweeps(published_run.dense()), ENGLISH, "Lab: ", simulated=True)
    assert (section["table"], section["plots"]) == (None, [])
    assert section["note"] == ENGLISH["roofline_simulated"]
