"""Limits are data, and one that could not mean what it says is refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.apollo.judge_limits import LimitError, read_limits

GOOD = {
    "name": "One user",
    "metric": "output_tok_s",
    "plan": "27b",
    "n": 1,
    "value": 69,
    "unit": "tok/s",
    "direction": "at_least",
    "tolerance": {"relative": 0.1, "absolute": 0.5},
    "source": "a table",
}


def read(**changed: Any) -> Any:
    entry = {key: value for key, value in {**GOOD, **changed}.items() if value is not None}
    return read_limits({"limits": [entry]}, "limits.yml")[0]


def test_both_parts_of_the_tolerance_add_up() -> None:
    limit = read()
    assert limit.low == pytest.approx(69 - 6.9 - 0.5)
    assert limit.high is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"metric": "output_tok"}, "did you mean output_tok_s?"),
        ({"unit": "tok/min"}, "is measured in tok/s, not in tok/min"),
        ({"direction": "below"}, "choose one of at_least, at_most, equal"),
        ({"direction": "at_most"}, "at_most cannot hold output_tok_s, where higher is better"),
        ({"n": 0}, "at least 1"),
        ({"n": "all"}, "or '\\*' for every point"),
        ({"value": "69"}, "value is '69', not a number"),
        ({"value": True}, "not a number"),
        ({"tolerance": {"relative": -0.1}}, "cannot be below 0"),
        ({"tolerance": {"percent": 10}}, "parts are relative and absolute"),
        ({"limit": 5}, "does not know 'limit'"),
        ({"source": None}, "lacks source"),
        ({"plan": None, "unit": None}, "lacks plan, unit"),
        ({"plan": []}, "give a plan's name, a list of names"),
        ({"plan": ["27b", 4]}, "give a plan's name, a list of names"),
        ({"metric": "start_s", "unit": "s", "direction": "at_most"}, "belongs to no point: give n as '\\*'"),
    ],
)
def test_a_limit_that_means_nothing_is_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(LimitError, match=told) as error:
        read(**changed)
    assert str(error.value).startswith("limits.yml: limit 1 (One user): ")


@pytest.mark.parametrize("data", [{}, {"limits": None}, {"limits": {"name": "x"}}])
def test_a_file_without_a_list_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(LimitError, match="has no list named 'limits'"):
        read_limits(data, "limits.yml")


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(LimitError, match="limit 1: is no mapping"):
        read_limits({"limits": ["69 tok/s"]}, "limits.yml")


def test_a_name_tells_limits_apart() -> None:
    with pytest.raises(LimitError, match="two limits are named 'One user'"):
        read_limits({"limits": [GOOD, GOOD]}, "limits.yml")


def test_a_limit_is_about_its_plan_and_variant_only() -> None:
    limit = read(variant="27b-base")
    assert limit.is_about("27b", ["27b-base"])
    assert not limit.is_about("27b", ["27b-mtp"])
    assert not limit.is_about("397b", ["27b-base"])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"made_of": {}}, "does not know 'made_of'"),
        ({"may_differ": ["seed"]}, "may_differ names 'seed', which made_with does not have"),
    ],
)
def test_settings_that_mean_nothing_are_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(LimitError, match=told):
        read_limits({"limits": [GOOD], **changed}, "limits.yml")


def test_what_may_differ_is_not_asked_for() -> None:
    data = {"made_with": {"seed": 0, "input_tokens": 64}, "may_differ": ["seed"], "limits": [GOOD]}
    assert read_limits(data, "limits.yml")[0].made_with == {"input_tokens": 64}


def published(project: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((project / "reference" / "published.yml").read_text())
    return data


def limit_values(project: Path) -> set[tuple[str, str, int, float]]:
    data = yaml.safe_load((project / "reference" / "limits-published.yml").read_text())
    limits = read_limits(data, "limits-published.yml")
    return {(plan, limit.metric, int(limit.n), limit.value) for limit in limits for plan in limit.plans}


def test_each_printed_27b_figure_is_a_limit(project: Path) -> None:
    for row in published(project)["results_27b"]:
        n = row["n"]
        wanted = {
            ("27b", "output_tok_s", n, row["node_tok_s"]),
            ("27b", "ttft_mean_ms", n, 1000 * row["ttft_s"]),
            ("27b", "total_output_tok_s", n, row["total_tok_s"]),
        }
        assert wanted <= limit_values(project)


def test_each_printed_397b_figure_is_a_limit(project: Path) -> None:
    for row in published(project)["results_397b"]:
        plan = "397b" if row["variant"] == "c" else f"397b-{row['variant']}"
        wanted = {
            (plan, "output_tok_s", 1, row["single_tok_s"]),
            (plan, "ttft_mean_ms", 1, 1000 * row["single_ttft_s"]),
            (plan, "output_tok_s", row["best_n"], row["best_tok_s"]),
            (plan, "ttft_mean_ms", row["best_n"], 1000 * row["best_ttft_s"]),
        }
        assert wanted <= limit_values(project)


def test_limits_from_printed_figures_tolerate_at_least_a_tenth(project: Path) -> None:
    data = yaml.safe_load((project / "reference" / "limits-published.yml").read_text())
    assert all(limit.relative >= 0.1 for limit in read_limits(data, "limits-published.yml"))
