"""Misspelt and missing inventory variables."""

from typing import Any

from ansible.module_utils.apollo.inventory import variable_faults

ROLES: dict[str, dict[str, Any]] = {
    "fabric": {"fabric_address": {"required": True, "description": "Address."}, "fabric_mtu": {}},
    "gpu_ready": {"gpu_ready_timeout_s": {}},
}


def test_known_and_complete_variables_have_no_fault() -> None:
    assert variable_faults({"fabric_address": "10.0.0.1/24", "ansible_host": "x", "site_name": "s"}, ROLES) == []


def test_misspelt_variable_names_the_right_one() -> None:
    faults = variable_faults({"fabric_address": "a", "gpu_ready_timout_s": 1}, ROLES)
    assert faults == [
        "variable 'gpu_ready_timout_s' is not known to role gpu_ready: did you mean 'gpu_ready_timeout_s'?"
    ]


def test_missing_required_variable_says_what_it_is() -> None:
    assert variable_faults({}, ROLES) == ["variable 'fabric_address' is missing: role fabric needs it (Address.)"]


def test_a_fact_that_a_role_sets_is_no_fault() -> None:
    assert variable_faults({"fabric_address": "a", "fabric_state": "up"}, ROLES, ["fabric_state"]) == []
