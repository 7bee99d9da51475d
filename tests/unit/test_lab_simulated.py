"""The simulated tools answer as the vendors' tools do."""

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo.hardware import read_gpus

from lab.simulated.board import module_on_disk, newest_kernel, nouveau_loads
from lab.simulated.container_tools import with_gpus
from lab.simulated.gpus import MEMORY_MIB, find_engines, list_gpus, list_processes
from lab.simulated.infiniband import ibstat_lines, read_port
from lab.simulated.nvidia_smi import option, select
from lab.simulated.smi_query import Context, query_gpus, query_processes
from lab.simulated.smi_text import nvlinks, overview, topology
from lab.simulated.state import DEFAULT, HardwareError, check_driver, forget_leaks, merge, read_state
from lab.simulated.write_bw import peer_of

ENGINES = [(100, "VLLM::EngineCore"), (101, "VLLM::Worker_TP0")]


def state(**change: Any) -> dict[str, Any]:
    return merge(DEFAULT, change)


def context(**change: Any) -> Context:
    wanted = state(**change)
    return Context("580.173.02", True, list_gpus(wanted, list_processes(wanted, []), "node1"))


def test_a_missing_state_file_is_healthy_hardware(tmp_path: Path) -> None:
    assert read_state(tmp_path / "absent") == DEFAULT


def test_a_partial_state_file_changes_only_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "hardware.json"
    file.write_text(json.dumps({"infiniband": {"rate_gbits": 40}, "missing_gpus": [3]}))
    assert read_state(file) == state(infiniband={"rate_gbits": 40}, missing_gpus=[3])
    assert read_state(file)["infiniband"]["bandwidth_gbits"] == DEFAULT["infiniband"]["bandwidth_gbits"]


def test_a_misspelt_key_is_named() -> None:
    with pytest.raises(HardwareError, match="unknown key 'mising_gpus'"):
        state(mising_gpus=[1])


def test_gpus_keep_their_identity_and_differ_between_nodes() -> None:
    first, again = list_gpus(state(), [], "node1"), list_gpus(state(), [], "node1")
    assert first == again
    assert {gpu.uuid for gpu in first}.isdisjoint({gpu.uuid for gpu in list_gpus(state(), [], "node2")})


def test_a_gpu_that_fell_off_the_bus_keeps_the_others_numbers() -> None:
    assert [gpu.index for gpu in context(missing_gpus=[1]).gpus] == [0, 2, 3]


def test_engines_hold_every_gpu_and_fit_into_its_memory() -> None:
    processes = list_processes(state(), ENGINES)
    gpus = list_gpus(state(), processes, "node1")
    assert {(process.gpu, process.pid) for process in processes} == {(g, p) for g in range(4) for p in (100, 101)}
    assert all(0 < gpu.memory_used_mib <= MEMORY_MIB for gpu in gpus)


def test_memory_without_a_holder_has_no_process_and_goes_with_a_reset(tmp_path: Path) -> None:
    leak = {"held_memory": [{"gpu": 2, "mib": 700, "pid": None}, {"gpu": 1, "mib": 5, "pid": 7}]}
    file = tmp_path / "hardware.json"
    file.write_text(json.dumps(leak))
    before = read_state(file)
    assert [process.pid for process in list_processes(before, [])] == [7]
    assert list_gpus(before, list_processes(before, []), "node1")[2].memory_used_mib == 700
    forget_leaks(file)
    assert read_state(file)["held_memory"] == [{"gpu": 1, "mib": 5, "pid": 7}]


def test_held_memory_shows_its_holder() -> None:
    wanted = state(held_memory=[{"gpu": 2, "mib": 500, "pid": 7, "name": "leftover"}])
    processes = list_processes(wanted, [])
    rows = query_processes(
        ["pid", "process_name", "used_memory"], ["csv", "noheader"], processes, list_gpus(wanted, processes, "n")
    )
    assert rows == ["7, leftover, 500 MiB"]
    assert [gpu.memory_used_mib for gpu in list_gpus(wanted, processes, "n")] == [0, 0, 500, 0]


def test_engines_are_found_by_title_alone(tmp_path: Path) -> None:
    for pid, line in ((1, b"/sbin/init\0"), (20, b"VLLM::Worker_TP0\0\0\0"), (21, b"grep\0VLLM::Worker\0")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_bytes(line)
    (tmp_path / "meminfo").touch()
    assert find_engines(tmp_path) == [(20, "VLLM::Worker_TP0")]


def test_a_query_answers_in_csv_with_units_unless_told_otherwise() -> None:
    fields = ["index", "memory.total", "persistence_mode"]
    assert query_gpus(fields, ["csv"], context())[:2] == [
        "index, memory.total [MiB], persistence_mode",
        "0, 40960 MiB, Enabled",
    ]
    assert query_gpus(fields, ["csv", "noheader", "nounits"], context())[0] == "0, 40960, Enabled"


def test_an_unknown_field_ends_with_code_2() -> None:
    with pytest.raises(HardwareError, match='Field "gpu_colour" is not a valid field to query') as failure:
        query_gpus(["index", "gpu_colour"], ["csv"], context())
    assert failure.value.code == 2


def test_options_are_read_in_both_spellings() -> None:
    assert option(["--format=csv"], "--format") == option(["--format", "csv"], "--format") == "csv"
    assert option(["-L"], "--format") is None
    assert [gpu.index for gpu in select(list(context().gpus), ["-L", "-i", "0,2"])] == [0, 2]


def test_the_driver_is_missing_mismatched_or_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, library = tmp_path / "module", tmp_path / "library"
    monkeypatch.setattr("lab.simulated.state.MODULE_VERSION_FILE", module)
    monkeypatch.setattr("lab.simulated.state.LIBRARY_VERSION_FILE", library)
    with pytest.raises(HardwareError, match="couldn't communicate") as absent:
        check_driver(state())
    module.write_text("580.1\n")
    library.write_text("580.1\n")
    assert check_driver(state()) == "580.1"
    with pytest.raises(HardwareError, match="Driver/library version mismatch") as mismatch:
        check_driver(state(driver={"userspace": "580.2"}))
    assert (absent.value.code, mismatch.value.code) == (9, 18)


def test_links_can_be_inactive() -> None:
    lines = nvlinks(state(nvlinks={"inactive": {"1": [3]}}), context().gpus)
    assert sum("25 GB/s" in line for line in lines) == 47
    assert sum("<inactive>" in line for line in lines) == 1


def test_the_overview_says_simulated_first() -> None:
    assert "SIMULATED" in overview(context(), [])[1]
    assert topology(context().gpus)[1].count("NV4") == 3


@pytest.mark.parametrize(
    ("change", "sm_here", "expected"),
    [
        ({}, True, "Active"),
        ({}, False, "Initializing"),
        ({"remote_sm": True}, False, "Active"),
        ({"physical_state": "Disabled"}, True, "Down"),
        ({"state": "Armed"}, True, "Armed"),
    ],
)
def test_a_port_needs_a_cable_and_a_subnet_manager(change: dict[str, Any], sm_here: bool, expected: str) -> None:
    port = read_port(state(infiniband=change), sm_here, "node1")
    assert port.state == expected
    assert bool(port.sm_lid) == (expected == "Active")
    assert f"\t\tState: {expected}" in ibstat_lines(port)


def test_the_bandwidth_test_tells_its_host_from_its_options() -> None:
    assert peer_of(["-d", "ibp65s0", "-D", "10", "10.77.0.2", "--report_gbits"]) == "10.77.0.2"
    assert peer_of(["-F", "-s", "1048576"]) == ""


def test_the_toolkit_reads_what_the_simulated_driver_says_of_its_gpus() -> None:
    rows = query_gpus(["name", "memory.total", "compute_cap"], ["csv", "noheader", "nounits"], context())
    assert {(gpu.name, gpu.capability, gpu.memory_mib) for gpu in read_gpus("\n".join(rows))} == {
        ("NVIDIA A100-SXM4-40GB", (8, 0), 40960)
    }


def test_the_boot_loader_takes_the_newest_kernel(tmp_path: Path) -> None:
    for kernel in ("6.8.0-99-generic", "6.8.0-124-generic"):
        (tmp_path / f"vmlinuz-{kernel}").touch()
    assert newest_kernel(tmp_path) == "6.8.0-124-generic"


def test_a_module_built_here_comes_first_but_not_under_secure_boot(tmp_path: Path) -> None:
    for place, version in (("updates/dkms/nvidia", "1"), ("kernel/nvidia-580srv-open", "2")):
        (tmp_path / "k" / place).mkdir(parents=True)
        (tmp_path / "k" / place / "version").write_text(f"{version}\n")
    assert [module_on_disk("k", secure, tmp_path) for secure in (False, True)] == ["1", "2"]
    assert module_on_disk("other", folder=tmp_path) == ""


def test_nouveau_loads_unless_it_is_told_not_to(tmp_path: Path) -> None:
    assert nouveau_loads(state(nouveau=True), tmp_path)
    (tmp_path / "x.conf").write_text("blacklist nouveau\n")
    assert not nouveau_loads(state(nouveau=True), tmp_path)


def test_a_container_gets_the_gpus_that_it_asks_for_by_its_environment() -> None:
    plain = {"process": {"env": ["PATH=/bin"]}, "mounts": [{"destination": "/proc"}]}
    asking = {"process": {"env": ["NVIDIA_VISIBLE_DEVICES=all"]}, "mounts": [{"destination": "/proc"}]}
    assert with_gpus(plain) == plain
    assert "/usr/bin/nvidia-smi" in {mount["destination"] for mount in with_gpus(asking)["mounts"]}
