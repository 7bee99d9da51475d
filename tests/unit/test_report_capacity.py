"""The first sentences of a report: how many people, how fast; of many plans, of each model the one that serves most."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from ansible.module_utils.apollo.bench_rows import Sweep, read_rows
from ansible.module_utils.apollo.report_capacity import capacity_section
from ansible.module_utils.apollo.report_words import Words, read_words

from tests.conftest import PROJECT
from tests.support import published_run


def words(language: str) -> Words:
    return read_words(yaml.safe_load((PROJECT / f"reference/words/{language}.yml").read_text()), language)


def sweeps() -> list[Sweep]:
    manifest, events = published_run.whole()
    for about in manifest["sweeps"]:
        for endpoint in about["layout"]["endpoints"]:
            endpoint["model"] = about["layout"]["plan"].split("-")[0]
    return read_rows(manifest, events)


def answers(chosen: list[Sweep], language: str = "en") -> list[str]:
    section: dict[str, Any] = capacity_section(chosen, {}, {}, words(language), "")
    return list(section["answers"])


@pytest.mark.parametrize("language", ["en", "de"])
def test_people_and_speed_are_told_in_one_sentence_each(language: str) -> None:
    [line] = answers([sweep for sweep in sweeps() if sweep.plan == "27b"], language)
    assert all(number in line for number in ("27b", "804", "256", "18.3", "5.4 s", "512", "28.0 s"))


def test_of_many_plans_each_model_has_the_sentence_of_the_one_that_serves_most() -> None:
    assert [line.split(" serves ")[0] for line in answers(sweeps())] == ["27b", "397b-a"]
