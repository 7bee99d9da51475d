"""Serving arguments: merged and rendered."""

from ansible.module_utils.apollo.arguments import merge, render


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
