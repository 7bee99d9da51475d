"""Which plan the tags ask for."""

import pytest
from ansible.module_utils.apollo.choice import choose_plan

PLANS = ["27b", "397b"]
STAGES = ["all", "serve"]


def test_no_tag_takes_the_default() -> None:
    assert choose_plan(["all"], PLANS, STAGES, "27b") == "27b"


def test_a_plan_tag_wins_over_the_default_beside_a_stage() -> None:
    assert choose_plan(["serve", "397b"], PLANS, STAGES, "27b") == "397b"


def test_two_plan_tags_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two plans asked for by tags \(27b, 397b\)"):
        choose_plan(["27b", "397b"], PLANS, STAGES, "27b")


def test_unknown_tag_names_the_closest() -> None:
    with pytest.raises(ValueError, match="'398b' is not known: did you mean '397b'"):
        choose_plan(["398b"], PLANS, STAGES, "27b")


def test_unknown_default_is_refused() -> None:
    with pytest.raises(ValueError, match="plan '28b' is not known"):
        choose_plan(["all"], PLANS, STAGES, "28b")


def test_plan_that_yaml_reads_as_a_number_is_just_unknown() -> None:
    with pytest.raises(ValueError, match="plan '27' is not known"):
        choose_plan([], PLANS, STAGES, 27)  # type: ignore[arg-type] # what an inventory may hold
