"""An address on the fabric belongs to one node and lies in the fabric's network."""

from __future__ import annotations

import pytest
from ansible.module_utils.apollo import fabric, inventory

GOOD = {"a": "10.77.0.1/30", "b": "10.77.0.2/30"}


@pytest.mark.parametrize("node", GOOD)
def test_good_addresses_have_no_fault(node: str) -> None:
    assert fabric.address_faults(GOOD, node) == []
    assert fabric.address_faults(GOOD, node, "10.77.0.0/30") == []


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("10.77.0.1/30", "10.77.0.1/30 is used by a and b"),
        ("10.77.0.1/24", "10.77.0.1/24 is used by a and b"),
        ("10.77.0.6/30", "10.77.0.6/30 is no host's address in the fabric's network 10.77.0.0/30"),
        ("10.77.0.3/30", "10.77.0.3/30 is no host's address"),
        ("10.77.0.2/24", "10.77.0.2/24 is no host's address"),
        ("10.77.0.2", "fabric_address is 10.77.0.2, an IPv4 address with prefix length"),
        ("10.77.0/30", "fabric_address is 10.77.0/30, an IPv4 address with prefix length"),
    ],
)
def test_bad_address_is_told_in_one_line(address: str, told: str) -> None:
    faults = fabric.address_faults({**GOOD, "b": address}, "b")
    assert len(faults) == 1
    assert faults[0].startswith(told)


def test_network_of_the_site_counts_more_than_the_first_address() -> None:
    assert "network 10.78.0.0/30" in fabric.address_faults(GOOD, "a", "10.78.0.0/30")[0]


def test_two_names_for_one_node_are_told() -> None:
    addresses = {"a": "192.0.2.11", "b": "192.0.2.11", "c": "192.0.2.12"}
    assert inventory.twin_faults(addresses, "c") == []
    assert inventory.twin_faults(addresses, "b")[0].startswith("a and b are both reached at 192.0.2.11")
