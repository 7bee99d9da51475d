"""Serving arguments: merged, rendered, quoted."""

import shlex

import pytest
from ansible.module_utils.apollo.arguments import merge, render, systemd_exec
from hypothesis import given
from hypothesis import strategies as st

WORDS = st.text(alphabet=st.characters(exclude_characters="\n\r\0", exclude_categories=["Cs"]), min_size=1)


def test_later_layer_wins_and_null_removes() -> None:
    base = {"dtype": "bfloat16", "quantization": "moe_wna16", "max-num-seqs": 64}
    assert merge(base, {"quantization": None, "max-num-seqs": 8}) == {"dtype": "bfloat16", "max-num-seqs": 8}


def test_false_removes_a_flag() -> None:
    assert merge({"headless": True}, {"headless": False}) == {}


def test_a_zero_is_a_value_and_stays() -> None:
    assert merge({"seed": 0}) == {"seed": 0}


def test_flags_values_and_mappings_render_as_words() -> None:
    arguments = {"async-scheduling": True, "max-num-seqs": 64, "speculative-config": {"method": "mtp", "k": 2}}
    words = ["--async-scheduling", "--max-num-seqs", "64", "--speculative-config", '{"k":2,"method":"mtp"}']
    assert render(arguments) == words


def test_a_list_is_several_words_behind_one_flag() -> None:
    assert render({"cudagraph-capture-sizes": [1, 2]}) == ["--cudagraph-capture-sizes", "1", "2"]


def test_each_flag_stands_on_its_own_line() -> None:
    text = systemd_exec(["/models/m", "--port", "8000", "--headless"])
    assert text == "/models/m \\\n    --port 8000 \\\n    --headless"


def test_percent_and_dollar_are_literal_for_systemd() -> None:
    assert systemd_exec(["50%", "$HOME"]) == "50%% $$HOME"


def test_line_break_is_refused() -> None:
    with pytest.raises(ValueError, match="line break"):
        systemd_exec(["a\nb"])


@given(st.lists(WORDS, min_size=1))
def test_quoting_is_undone_by_reading_it_back(words: list[str]) -> None:
    text = systemd_exec(words).replace(" \\\n    ", " ")
    read = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(text)]
    assert read == words
