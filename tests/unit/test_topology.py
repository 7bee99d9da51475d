"""CPUs and memory next to GPUs, from a tree as the kernel shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.module_utils.apollo import topology
from hypothesis import given
from hypothesis import strategies as st

from library import node_topology
from tests.conftest import RunModule


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two GPUs on NUMA node 1, one on node 0, a disk, and an adapter behind ibp65s0; two threads on each core."""
    for bus, vendor, kind, numa, cpus in (
        ("0000:81:00.0", "0x10de", "0x030200", "1", "4-7,12-15"),
        ("0000:01:00.0", "0x10de", "0x030200", "0", "0-3,8-11"),
        ("0000:c1:00.0", "0x10de", "0x030200", "1", "4-7,12-15"),
        ("0000:c2:00.0", "0x10de", "0x068000", "1", "4-7,12-15"),
        ("0000:41:00.0", "0x15b3", "0x020700", "0", "0-3,8-11"),
    ):
        device = tmp_path / "bus/pci/devices" / bus
        device.mkdir(parents=True)
        told = {"vendor": vendor, "class": kind, "numa_node": numa, "local_cpulist": cpus}
        for name, text in told.items():
            (device / name).write_text(f"{text}\n")
    for cpu in range(16):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{cpu % 8},{cpu % 8 + 8}\n")
    (tmp_path / "class/net/ibp65s0/device/infiniband/mlx5_0").mkdir(parents=True)
    monkeypatch.setattr(node_topology, "SYSTEM", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("check", [False, True])
def test_gpus_come_in_the_order_of_their_addresses_with_their_cores(run_module: RunModule, check: bool) -> None:
    result = run_module(node_topology, check=check, interface="ibp65s0")
    facts = result["ansible_facts"]["apollo_topology"]
    assert result["changed"] is False
    assert [gpu["bus_id"] for gpu in facts["gpus"]] == ["0000:01:00.0", "0000:81:00.0", "0000:c1:00.0"]
    assert facts["gpus"][0]["cores"] == [[0, 8], [1, 9], [2, 10], [3, 11]]
    assert facts["hca"] == "mlx5_0"


@pytest.mark.usefixtures("system")
def test_gpus_of_one_locality_share_its_cores_whole(run_module: RunModule) -> None:
    facts = run_module(node_topology)["ansible_facts"]["apollo_topology"]
    places = topology.gpu_places(facts["gpus"])
    assert topology.pinning(places, [0]) == {"cpus": "0-3,8-11", "memory_nodes": "0"}
    assert topology.pinning(places, [1]) == {"cpus": "4-5,12-13", "memory_nodes": "1"}
    assert topology.pinning(places, [2]) == {"cpus": "6-7,14-15", "memory_nodes": "1"}
    assert topology.pinning(places, [0, 2]) == {"cpus": "0-3,6-11,14-15", "memory_nodes": "0-1"}


def test_a_node_that_tells_nothing_pins_nothing(
    run_module: RunModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_topology, "SYSTEM", tmp_path)
    facts = run_module(node_topology, interface="eth0")["ansible_facts"]["apollo_topology"]
    assert facts == {"gpus": [], "hca": ""}
    assert topology.pinning((), [0]) == {"cpus": "", "memory_nodes": ""}


def test_a_machine_without_numa_pins_cpus_only() -> None:
    places = topology.gpu_places([{"numa_node": -1, "cores": [[0], [1]]}, {"numa_node": -1, "cores": [[0], [1]]}])
    assert topology.pinning(places, [1]) == {"cpus": "1", "memory_nodes": ""}


@given(st.sets(st.integers(0, 300)))
def test_a_list_of_cpus_survives_being_written(numbers: set[int]) -> None:
    assert set(topology.read_list(topology.write_list(numbers))) == numbers
