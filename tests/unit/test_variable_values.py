"""A variable of the wrong type is named in one line, with what it is and what it should be."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.module_utils.apollo.variable_values import value_faults


@pytest.mark.parametrize(
    ("name", "value", "option", "line"),
    [
        ("x_port", "abc", {"type": "int"}, "'x_port' is 'abc', a whole number expected: correct it"),
        ("x_port", 70000, {"type": "int"}, "'x_port' is 70000, a port from 1 to 65535 expected: correct it"),
        ("x_wait_s", -1, {"type": "int"}, "'x_wait_s' is -1, 0 or more expected: correct it"),
        ("x_wait_s", True, {"type": "int"}, "'x_wait_s' is 'True', a whole number expected: correct it"),
        ("x_share", "half", {"type": "float"}, "'x_share' is 'half', a number expected: correct it"),
        ("x_may", "sometimes", {"type": "bool"}, "'x_may' is 'sometimes', true or false expected: correct it"),
        ("x_name", ["a"], {"type": "str"}, "'x_name' is a list, a text expected: correct it"),
        ("x_name", None, {"type": "str"}, "'x_name' is empty, a text expected: set it or leave it out"),
        ("x_all", "/dev/x", {"type": "list"}, "'x_all' is a single value, a list expected: correct it"),
        (
            "x_keys",
            "secret",
            {"type": "dict"},
            "'x_keys' is a single value, a mapping of names to values expected: correct it",
        ),
        (
            "x_kind",
            "zfs",
            {"choices": ["ext4", "xfs"]},
            "'x_kind' is 'zfs', one of ext4, xfs expected: choose one of them",
        ),
        (
            "x_n",
            [1, "two"],
            {"type": "list", "elements": "int"},
            "'x_n[1]' is 'two', a whole number expected: correct it",
        ),
    ],
)
def test_unfit_value_is_one_line(name: str, value: Any, option: dict[str, Any], line: str) -> None:
    assert value_faults(name, value, option) == [line]


@pytest.mark.parametrize(
    ("value", "option"),
    [
        ("8080", {"type": "int"}),
        ("true", {"type": "bool"}),
        (580, {"type": "str"}),
        (1, {"type": "float"}),
        (None, {"type": "int", "nullable": True}),
        ([{"a": 1}], {"type": "list", "elements": "dict"}),
    ],
)
def test_what_the_command_line_can_say_counts(value: Any, option: dict[str, Any]) -> None:
    assert value_faults("x", value, option) == []


def test_parts_of_an_entry_are_looked_at() -> None:
    parts = {"path": {"type": "path", "required": True, "description": "Where"}, "size": {"type": "int"}}
    option = {"type": "list", "elements": "dict", "options": parts}
    assert value_faults("x", [{"paht": "/a", "size": "big"}], option) == [
        "'x[0]' has an unknown 'paht', path, size expected: correct it",
        "'x[0]' has no 'path' (Where): add it",
        "'x[0].size' is 'big', a whole number expected: correct it",
    ]


@pytest.mark.parametrize("image", ["", "vllm/vllm-openai:v0.32.0", f"host.example:5000/a/b:c@sha256:{'0a' * 32}"])
def test_name_of_an_image_is_one(image: str) -> None:
    assert value_faults("x_image", image, {"type": "str"}) == []


@pytest.mark.parametrize("image", ["a:b@sha256:...", "a b", f"a@sha256:{'0' * 63}", "docker pull a:b"])
def test_image_with_half_a_digest_is_refused(image: str) -> None:
    assert "with 64 hexadecimal digits expected" in value_faults("x_image", image, {"type": "str"})[0]


def test_a_secret_is_not_shown() -> None:
    assert "geheim" not in value_faults("gateway_keys", "geheim", {"type": "dict"})[0]
