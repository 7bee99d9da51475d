"""The report says of an overload what came of those let in, of those refused, and of everything else."""

from __future__ import annotations

import pytest
import yaml
from ansible.module_utils.apollo import overload
from ansible.module_utils.apollo.bench_result import read_result
from ansible.module_utils.apollo.report_format import NOTHING
from ansible.module_utils.apollo.report_overload import overload_section
from ansible.module_utils.apollo.report_words import Words, read_words

from tests.conftest import PROJECT
from tests.unit.test_overload import text

OFFER = {"seats": 8, "answer_s": 1.0, "factor": 2.0, "requests": 80, "request_rate": 16.0, "limit_s": 90.0}


def words(language: str = "en") -> Words:
    return read_words(yaml.safe_load((PROJECT / f"reference/words/{language}.yml").read_text()), language)


def test_a_run_without_an_overload_has_no_section() -> None:
    assert overload_section([{"event": "run"}], words(), "") is None


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_sentence_and_a_row_tell_what_came_of_it(language: str) -> None:
    event = {**overload.told(read_result(text(**{"Service Unavailable": 2})), OFFER), "plan": "27b"}
    section = overload_section([event], words(language), "Lab: ")
    assert section is not None
    [line], [row] = section["lines"], section["table"].rows
    assert all(number in line for number in ("27b", "82", "40", "0.0100"))
    assert [cell.text for cell in row] == ["27b", "80", "40", "40", "2 x 503", "0.0100", "1.00", "16.0"]


def test_a_plan_of_several_models_names_each() -> None:
    told = overload.told(read_result(text()), OFFER)
    events = [{**told, "plan": "both", "model": "large"}, {**told, "plan": "both", "model": "small"}]
    events.append({**told, "plan": "27b", "model": "small"})
    section = overload_section(events, words(), "")
    assert section is not None
    assert [row[0].text for row in section["table"].rows] == ["both large", "both small", "27b"]
    assert [line.split(",")[0] for line in section["lines"]] == ["both large", "both small", "27b"]


def test_what_could_not_be_measured_is_told_with_dashes() -> None:
    why = "client_timeout: a request had not ended after 90 s"
    event = {**overload.failed(why, OFFER), "plan": "27b"}
    section = overload_section([event], words(), "")
    assert section is not None
    assert section["lines"] == [f"27b: the overload could not be measured: {why}"]
    assert {cell.text for cell in section["table"].rows[0][2:]} == {NOTHING}
