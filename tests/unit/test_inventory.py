"""Misspelt, missing and unfit inventory variables, and groups without hosts."""

from typing import Any

from ansible.module_utils.apollo.inventory import LATER, Unreadable, group_faults, stray_faults, variable_faults

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
    (line,) = variable_faults({}, ROLES)
    assert "'fabric_address' is missing, role fabric needs it (Address.): set it in" in line


def test_a_fact_that_a_role_sets_is_no_fault() -> None:
    assert variable_faults({"fabric_address": "a", "fabric_state": "up"}, ROLES, ["fabric_state"]) == []


def test_empty_required_variable_counts_as_missing() -> None:
    for empty in (None, ""):
        assert "is missing" in variable_faults({"fabric_address": empty}, ROLES)[0]


def test_misspelt_role_is_noticed() -> None:
    assert variable_faults({"fabric_address": "a", "gpu_redy_timeout_s": 1}, ROLES) == [
        "variable 'gpu_redy_timeout_s' is not known to any role: did you mean 'gpu_ready_timeout_s'?"
    ]


def test_what_cannot_be_read_is_said_and_what_is_known_later_is_not() -> None:
    lost = Unreadable("'x' is undefined")
    faults = variable_faults({"fabric_address": lost, "fabric_mtu": LATER}, ROLES)
    assert faults == [
        "variable 'fabric_address' cannot be read ('x' is undefined): define what it refers to, or correct it"
    ]


def test_a_group_without_hosts_is_a_fault() -> None:
    assert group_faults({"apollo": ["a"], "gateway": ["a"]}) == []
    assert [fault.split(",")[0] for fault in group_faults({"apollo": []})] == [
        "group apollo has no host",
        "group gateway has no host",
    ]
    assert group_faults({"apollo": ["a"], "gateway": ["a", "b"]}) == [
        "group gateway has 2 hosts (a, b), one expected: leave one of them"
    ]


def test_a_file_of_variables_for_nobody_is_a_fault() -> None:
    assert stray_faults(["node1"], ["node1", "node2"], "host") == []
    assert stray_faults(["node3", "x"], ["node1"], "host") == [
        "host_vars/node3 belongs to no host of the inventory: did you mean 'node1'?",
        "host_vars/x belongs to no host of the inventory: rename or remove it",
    ]
