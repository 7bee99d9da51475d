"""Names and addresses of a lab."""

from pathlib import Path

import pytest

from lab.settings import LabError, read_settings

ROOT = Path("/clone")


def test_two_labs_share_no_address_and_no_name() -> None:
    first = read_settings({"LAB_NAME": "one", "LAB_SUBNET": "81"}, ROOT)
    second = read_settings({"LAB_NAME": "two", "LAB_SUBNET": "82"}, ROOT)
    for field in ("container", "management_address", "fabric_address"):
        ours = {getattr(node, field) for node in first.nodes}
        theirs = {getattr(node, field) for node in second.nodes}
        assert ours.isdisjoint(theirs)
    assert first.state != second.state


def test_nodes_lie_in_their_subnets_and_leave_the_gateway_free() -> None:
    lab = read_settings({"LAB_SUBNET": "90"}, ROOT)
    assert [node.management_address for node in lab.nodes] == ["172.30.90.11", "172.30.90.12"]
    assert [node.fabric_address for node in lab.nodes] == ["10.90.0.1", "10.90.0.2"]
    assert (lab.management_subnet, lab.fabric_subnet) == ("172.30.90.0/24", "10.90.0.0/24")


@pytest.mark.parametrize("name", ["", "apollo-lab"])
def test_the_default_name_is_apollo_lab(name: str) -> None:
    assert read_settings({"LAB_NAME": name}, ROOT).name == "apollo-lab"


@pytest.mark.parametrize("name", ["Apollo", "a b", "9lives", "-x", "x" * 32, "shared", "a/b"])
def test_a_name_that_docker_or_the_labels_cannot_carry_is_refused(name: str) -> None:
    with pytest.raises(LabError, match="LAB_NAME is"):
        read_settings({"LAB_NAME": name}, ROOT)


@pytest.mark.parametrize("subnet", ["0", "255", "-1", "7.5", "abc", "077", "٣", "87 ", "10.87.0"])
def test_a_subnet_that_is_no_byte_is_refused(subnet: str) -> None:
    with pytest.raises(LabError, match="LAB_SUBNET is"):
        read_settings({"LAB_SUBNET": subnet}, ROOT)


def test_the_cache_follows_the_user() -> None:
    assert read_settings({"HOME": "/home/a"}, ROOT).cache == Path("/home/a/.cache/apollo-lab")
    assert read_settings({"XDG_CACHE_HOME": "/c"}, ROOT).cache == Path("/c/apollo-lab")
