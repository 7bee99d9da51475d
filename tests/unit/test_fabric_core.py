"""What ibstat, sminfo and ip print becomes values, and values become faults."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from ansible.module_utils.apollo.fabric import (
    Expected,
    Interface,
    Port,
    Report,
    SubnetManager,
    choose_port,
    faults,
    parse_ibstat,
    parse_interfaces,
    parse_sminfo,
)
from hypothesis import given
from hypothesis import strategies as st

PORT = Port("ibp65s0", 1, "0xb8599f0300001f2a", "Active", "LinkUp", 100, 3, 1, "InfiniBand")
MANAGER = SubnetManager(1, "0xb8599f0300001f2a", 14, "SMINFO_MASTER")
INTERFACE = Interface("ibp65s0", ("10.77.0.1/30",), 4092, "UP")
GOOD = Report(PORT, MANAGER, INTERFACE, {"10.77.0.2": True})
ALL = Expected(interface="ibp65s0", address="10.77.0.1/30", rate_gbps=100)

ports = st.builds(
    Port,
    device=st.from_regex(r"[a-z][a-z0-9_]{1,8}", fullmatch=True),
    port=st.integers(1, 2),
    guid=st.from_regex(r"0x[0-9a-f]{16}", fullmatch=True),
    state=st.sampled_from(["Active", "Initializing", "Down", "Armed"]),
    physical_state=st.sampled_from(["LinkUp", "Polling", "Disabled"]),
    rate_gbps=st.sampled_from([2.5, 10, 56, 100, 200]),
    base_lid=st.integers(0, 65535),
    sm_lid=st.integers(0, 65535),
    link_layer=st.sampled_from(["InfiniBand", "Ethernet"]),
)


def ibstat(port: Port) -> str:
    """Print a device as ibstat does, with the lines that nobody asks for."""
    return f"""CA '{port.device}'
\tCA type: MT4123
\tNumber of ports: 1
\tFirmware version: 20.39.3004
\tNode GUID: 0xb8599f0310001f2a
\tPort {port.port}:
\t\tState: {port.state}
\t\tPhysical state: {port.physical_state}
\t\tRate: {port.rate_gbps:g}
\t\tBase lid: {port.base_lid}
\t\tLMC: 0
\t\tSM lid: {port.sm_lid}
\t\tCapability mask: 0xa651e84a
\t\tPort GUID: {port.guid}
\t\tLink layer: {port.link_layer}
"""


@given(st.lists(ports, max_size=4))
def test_any_ports_are_read_back_as_they_were(known: list[Port]) -> None:
    assert parse_ibstat("".join(map(ibstat, known))) == tuple(known)


def test_rate_with_a_word_behind_it_is_a_number() -> None:
    assert parse_ibstat(ibstat(PORT).replace("Rate: 100", "Rate: 100 (HDR100)"))[0].rate_gbps == 100


@given(st.text())
def test_no_text_breaks_a_parser(text: str) -> None:
    parse_ibstat(text)
    parse_sminfo(text)


def test_subnet_manager_is_read() -> None:
    text = "sminfo: sm lid 1 sm guid 0xb8599f0300001f2a, activity count 731 priority 14 state 3 SMINFO_MASTER\n"
    assert parse_sminfo(text) == MANAGER


def test_silent_fabric_has_no_subnet_manager() -> None:
    assert parse_sminfo("sminfo: iberror: failed: query") is None


@given(st.lists(st.ip_addresses(v=4).map(str), max_size=3), st.integers(68, 65520))
def test_interface_is_read_with_all_its_addresses(addresses: list[str], mtu: int) -> None:
    info = [{"family": "inet", "local": address, "prefixlen": 24} for address in addresses]
    text = json.dumps([{}, {"ifname": "ib0", "mtu": mtu, "operstate": "UP", "addr_info": info}])
    assert parse_interfaces(text) == (Interface("ib0", tuple(f"{address}/24" for address in addresses), mtu, "UP"),)


def test_no_output_is_no_interface() -> None:
    assert parse_interfaces("") == ()


@given(st.lists(ports))
def test_chosen_port_is_infiniband_and_has_a_link_if_any_has(known: list[Port]) -> None:
    chosen = choose_port(known)
    usable = [port for port in known if port.link_layer == "InfiniBand"]
    assert (chosen is None) == (not usable)
    if chosen:
        linked = any(port.physical_state == "LinkUp" for port in usable)
        assert chosen in usable
        assert (chosen.physical_state == "LinkUp") == linked


def test_named_device_is_chosen_even_without_a_link() -> None:
    other = replace(PORT, device="ibp129s0", physical_state="Polling")
    assert choose_port([PORT, other], "ibp129s0") == other
    assert choose_port([PORT], "mlx5_0") is None


def test_good_fabric_has_no_fault() -> None:
    assert faults(GOOD, ALL) == []


def test_nothing_expected_is_nothing_wrong() -> None:
    assert faults(Report(), Expected()) == []


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        (replace(GOOD, port=None), "no InfiniBand port, one expected"),
        (replace(GOOD, port=replace(PORT, physical_state="Polling")), "port 1 of ibp65s0 is physically Polling"),
        (replace(GOOD, port=replace(PORT, state="Initializing")), "port 1 of ibp65s0 is Initializing and a subnet"),
        (replace(GOOD, subnet_manager=None), "port 1 of ibp65s0 is Active and no subnet manager answers"),
        (replace(GOOD, port=replace(PORT, rate_gbps=50)), "port 1 of ibp65s0 runs at 50 Gb/s, 100 expected"),
        (replace(GOOD, interface=None), "interface ibp65s0 is not there"),
        (replace(GOOD, interface=replace(INTERFACE, addresses=())), "interface ibp65s0 has no address, 10.77.0.1/30"),
        (replace(GOOD, interface=replace(INTERFACE, addresses=("10.0.0.9/8",))), "interface ibp65s0 has 10.0.0.9/8"),
        (replace(GOOD, peers={"10.77.0.2": False}), "peer 10.77.0.2 gives no answer"),
    ],
)
def test_each_deviation_is_one_line(report: Report, fault: str) -> None:
    found = faults(report, ALL)
    assert len(found) == 1
    assert found[0].startswith(fault)
