"""What nvidia-smi prints becomes values, and values become faults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible.module_utils.apollo.gpu import (
    MISMATCH,
    UNREACHABLE,
    Driver,
    Expected,
    Gpu,
    Links,
    Process,
    Report,
    faults,
    parse_container,
    parse_gpus,
    parse_nvlinks,
    parse_processes,
    parse_trouble,
    upstream_version,
)
from hypothesis import given
from hypothesis import strategies as st

ROW = "0, GPU-aa, NVIDIA A100-SXM4-40GB, 00000000:01:00.0, 40960, 3, Enabled, 580.173.02, 0"
GPU = Gpu(0, "GPU-aa", "NVIDIA A100-SXM4-40GB", "00000000:01:00.0", 40960, 3, True, "580.173.02", 0)
GOOD = Report(gpus=(GPU,), nvlinks={0: Links(12, 0)}, driver=Driver(version="580.1", loaded="580.1", userspace="580.1"))
ALL = Expected(
    count=1,
    name=GPU.name,
    memory_min_mib=40000,
    nvlinks=12,
    persistence=True,
    driver_branch="580",
    ecc_errors_max=0,
    idle_memory_max_mib=500,
    containers=(),
)
CONTAINER = "ab" * 32

words = st.text(st.characters(whitelist_categories=["L", "N"], whitelist_characters="-.:_ "), min_size=1).map(str.strip)
counts = st.one_of(st.none(), st.integers(0, 10**6))


def cell(value: int | None) -> str:
    return "[N/A]" if value is None else str(value)


@given(st.integers(0, 63), words, words, words, counts, counts, st.sampled_from([True, False, None]), words, counts)
def test_any_gpu_is_read_back_as_it_was(
    index: int,
    uuid: str,
    name: str,
    bus: str,
    total: int | None,
    used: int | None,
    persistence: bool | None,
    driver: str,
    ecc: int | None,
) -> None:
    mode = {True: "Enabled", False: "Disabled", None: "[N/A]"}[persistence]
    row = f"{index}, {uuid}, {name}, {bus}, {cell(total)}, {cell(used)}, {mode}, {driver}, {cell(ecc)}"
    assert parse_gpus(row) == (Gpu(index, uuid, name, bus, total, used, persistence, driver, ecc),)


@given(st.integers(1, 2**22), st.text(st.characters(whitelist_categories=["L"], whitelist_characters=",:"), min_size=1))
def test_process_name_may_hold_commas(pid: int, name: str) -> None:
    assert parse_processes(f"{pid}, {name}, GPU-aa, 512") == (Process(pid, name, "GPU-aa", 512),)


@given(st.dictionaries(st.integers(0, 15), st.lists(st.booleans(), max_size=18)))
def test_links_are_counted_for_each_gpu(gpus: dict[int, list[bool]]) -> None:
    text = "".join(
        f"GPU {index}: NVIDIA A100 (UUID: GPU-{index})\n"
        + "".join(f"\t Link {number}: {'25 GB/s' if up else '<inactive>'}\n" for number, up in enumerate(links))
        for index, links in gpus.items()
    )
    assert parse_nvlinks(text) == {index: Links(sum(links), len(links) - sum(links)) for index, links in gpus.items()}


@given(st.text())
def test_no_text_breaks_a_parser(text: str) -> None:
    for parse in (parse_gpus, parse_processes, parse_nvlinks, parse_trouble, upstream_version, parse_container):
        parse(text)


def test_rows_are_no_trouble() -> None:
    assert parse_trouble(f"{ROW}\n{ROW}\n") == ""


def test_trouble_is_the_first_line_that_is_no_row() -> None:
    assert parse_trouble(f"{ROW}\n\nGPU 0000:81:00.0: GPU is lost.\n") == "GPU 0000:81:00.0: GPU is lost."


@pytest.mark.parametrize(
    ("package", "driver"),
    [
        ("580.173.02-0ubuntu0.24.04.1", "580.173.02"),
        ("1:580.95.05-1", "580.95.05"),
        ("580.95.05", "580.95.05"),
        ("unknown", ""),
    ],
)
def test_package_version_is_reduced_to_the_drivers(package: str, driver: str) -> None:
    assert upstream_version(package) == driver


@pytest.mark.parametrize(
    "cgroup",
    [
        f"0::/system.slice/docker-{CONTAINER}.scope",
        f"12:memory:/docker/{'cd' * 32}/docker/{CONTAINER}\n0::/docker/{'cd' * 32}",
    ],
)
def test_container_is_the_innermost_one(cgroup: str) -> None:
    assert parse_container(cgroup) == CONTAINER


def test_process_outside_of_containers_has_none() -> None:
    assert parse_container("0::/user.slice/session-3.scope") == ""


def test_good_node_has_no_fault() -> None:
    assert faults(GOOD, ALL) == []


def test_nothing_expected_is_nothing_wrong() -> None:
    assert faults(Report(), Expected()) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"name": "NVIDIA A30"}, "GPU 0 is a NVIDIA A30, NVIDIA A100-SXM4-40GB expected"),
        ({"memory_total_mib": 9856}, "GPU 0 has 9856 MiB, at least 40000 expected"),
        ({"persistence_mode": False}, "GPU 0 has persistence mode off"),
        ({"persistence_mode": None}, "GPU 0 has persistence mode off"),
        ({"ecc_errors": 2}, "GPU 0 has 2 uncorrected memory errors, 0 allowed"),
        ({"memory_used_mib": 501}, "GPU 0 holds 501 MiB without a process, 500 allowed"),
    ],
)
def test_each_deviation_of_a_gpu_is_one_line(change: dict[str, Any], fault: str) -> None:
    found = faults(replace(GOOD, gpus=(replace(GPU, **change),)), ALL)
    assert len(found) == 1
    assert found[0].startswith(fault)


def test_missing_gpu_is_told_with_what_the_driver_said() -> None:
    found = faults(Report(trouble="No devices were found"), Expected(count=4))
    assert found[0].startswith("0 GPUs answer (No devices were found), 4 expected")


def test_inactive_link_is_a_fault() -> None:
    found = faults(replace(GOOD, nvlinks={0: Links(11, 1)}), ALL)
    assert found == ["GPU 0 has 11 active NVLinks, 12 expected: see `nvidia-smi nvlink -s`"]


def test_links_that_nobody_reported_are_a_fault() -> None:
    assert faults(replace(GOOD, nvlinks={}), ALL)[0].startswith("GPU 0 has 0 active NVLinks")


@pytest.mark.parametrize(
    ("report", "fault"),
    [
        (replace(GOOD, driver=Driver("580.1", "580.1", "580.2")), "driver 580.1 is loaded, 580.2 is installed: reboot"),
        (Report(driver=Driver(userspace="580.2"), trouble=f"NVML: {MISMATCH}"), "driver of another version is loaded"),
        (Report(driver=Driver(userspace="580.2"), trouble=f"it {UNREACHABLE}."), "driver 580.2 is installed but not"),
        (replace(GOOD, driver=Driver("570.1", "570.1", "570.1")), "driver 570.1 is in use, branch 580 expected"),
        (Report(trouble="nvidia-smi is not installed"), "no driver answers (nvidia-smi is not installed), branch 580"),
    ],
)
def test_each_state_of_the_driver_has_its_remedy(report: Report, fault: str) -> None:
    assert faults(report, ALL)[0].startswith(fault)


def test_dead_driver_is_told_once_and_not_per_gpu() -> None:
    assert len(faults(Report(trouble=MISMATCH), ALL)) == 1


@pytest.mark.parametrize("containers", [(CONTAINER,), (CONTAINER[:12], "other"), ("other", CONTAINER)])
def test_process_in_a_container_of_the_plan_is_ours(containers: tuple[str, ...]) -> None:
    process = Process(7, "VLLM::Worker", "GPU-aa", 30000, CONTAINER)
    assert faults(replace(GOOD, processes=(process,)), replace(ALL, containers=containers)) == []


@pytest.mark.parametrize("containers", [(), ("",), ("other",)])
def test_any_other_process_is_named(containers: tuple[str, ...]) -> None:
    process = Process(7, "python3", "GPU-aa", 30000, CONTAINER)
    found = faults(replace(GOOD, processes=(process,)), replace(ALL, containers=containers))
    assert len(found) == 1
    assert found[0].startswith("process 7 (python3) holds 30000 MiB of GPU-aa")
