"""The step from any state of a driver to a ready one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible.module_utils.apollo import driver, packages, pci
from hypothesis import given
from hypothesis import strategies as st

NEW, OLD = "580.173.02", "580.95.05"
WANTED = driver.Wanted("580", "Ubuntu")
READY = driver.State(
    gpus=4,
    running_kernel="6.8.0-124-generic",
    next_kernel="6.8.0-124-generic",
    loaded=NEW,
    on_disk=NEW,
    next_on_disk=NEW,
    userspace=NEW,
)
BARE = driver.State(gpus=4, running_kernel="6.8.0-124-generic", next_kernel="6.8.0-124-generic", missing=("a", "b"))

versions = st.sampled_from(["", OLD, NEW, "590.44.01"])
states = st.builds(
    driver.State,
    gpus=st.sampled_from([0, 3, 4, 8]),
    nvswitches=st.sampled_from([0, 6]),
    running_kernel=st.just("6.8.0-124-generic"),
    next_kernel=st.sampled_from(["6.8.0-124-generic", "6.8.0-130-generic"]),
    loaded=versions,
    on_disk=versions,
    next_on_disk=versions,
    userspace=versions,
    nouveau=st.booleans(),
    secure_boot=st.sampled_from([None, False, True]),
    built=st.sampled_from([(), ("nvidia-dkms-580-server",)]),
    missing=st.sampled_from([(), ("nvidia-utils-580-server",)]),
    offers=st.just({}),
    listed=st.sampled_from([None, False, True]),
)


def step(state: driver.State) -> str:
    return driver.decide(state, WANTED).step


@given(states)
def test_every_state_has_a_step_and_every_step_but_ready_a_reason(state: driver.State) -> None:
    verdict = driver.decide(state, WANTED)
    assert verdict.step in {driver.READY, driver.INSTALL, driver.REBOOT, driver.REFUSE}
    assert (verdict.step == driver.READY) == (not verdict.reasons)
    assert all("\n" not in reason for reason in verdict.reasons)


@given(states)
def test_one_reboot_is_enough_wherever_one_is_asked_for(state: driver.State) -> None:
    if step(state) == driver.REBOOT:
        assert step(driver.after_reboot(state)) == driver.READY


@given(states)
def test_ready_means_that_what_is_loaded_is_what_is_installed(state: driver.State) -> None:
    if step(state) == driver.READY:
        assert state.loaded == state.userspace == state.next_on_disk
        assert state.loaded.startswith("580.")
        assert not state.nouveau
        assert not state.missing


@given(states)
def test_ready_survives_a_reboot(state: driver.State) -> None:
    if step(state) == driver.READY:
        assert step(driver.after_reboot(state)) == driver.READY


@pytest.mark.parametrize(
    ("change", "expected", "reason"),
    [
        ({}, driver.READY, ""),
        ({"loaded": ""}, driver.REBOOT, "driver none is loaded, 580.173.02 is installed"),
        ({"loaded": OLD}, driver.REBOOT, "driver 580.95.05 is loaded"),
        ({"nouveau": True}, driver.REBOOT, "nouveau"),
        ({"missing": ("nvidia-utils",)}, driver.INSTALL, "nvidia-utils not installed"),
        ({"next_on_disk": OLD}, driver.REFUSE, "has module 580.95.05, 580.173.02 expected"),
        ({"next_kernel": "6.8.0-130-generic", "next_on_disk": ""}, driver.REFUSE, "kernel 6.8.0-130-generic has no"),
        ({"gpus": 0}, driver.REFUSE, "no NVIDIA GPU on the PCI bus"),
        ({"gpus": 8, "nvswitches": 6}, driver.REFUSE, "8-GPU board"),
        ({"secure_boot": True, "built": ("nvidia-dkms-580-server",)}, driver.REFUSE, "Secure Boot is on"),
        ({"secure_boot": True}, driver.READY, ""),
        ({"userspace": "570.1", "loaded": "570.1", "next_on_disk": "570.1"}, driver.REFUSE, "branch 580 expected"),
    ],
)
def test_each_state_has_its_step(change: dict[str, Any], expected: str, reason: str) -> None:
    verdict = driver.decide(replace(READY, **change), WANTED)
    assert verdict.step == expected
    assert reason in "; ".join(verdict.reasons)


@pytest.mark.parametrize(
    ("offer", "reason"),
    [
        (None, "a, b not offered by any source, branch 580 expected"),
        (driver.Offer(NEW, "NVIDIA"), f"a {NEW}, b {NEW} would come from NVIDIA, Ubuntu expected"),
        (driver.Offer("590.44.01-0ubuntu1", "Ubuntu"), "a, b would become 590.44.01-0ubuntu1, branch 580 expected"),
    ],
)
def test_what_is_on_offer_is_judged_before_it_is_installed(offer: driver.Offer | None, reason: str) -> None:
    verdict = driver.decide(replace(BARE, offers={"a": offer, "b": offer}), WANTED)
    assert verdict.step == driver.REFUSE
    assert len(verdict.reasons) == 1
    assert reason in verdict.reasons[0]


def test_another_branch_is_one_line_whatever_is_on_offer() -> None:
    verdict = driver.decide(replace(READY, missing=("c",), offers={"c": None}), driver.Wanted("999", "Ubuntu"))
    assert [reason.split(":")[0] for reason in verdict.reasons] == [f"driver {NEW} is installed, branch 999 expected"]


def test_a_driver_that_no_list_can_bring_is_refused() -> None:
    assert [step(replace(BARE, listed=listed)) for listed in (None, True)] == [driver.INSTALL, driver.INSTALL]
    verdict = driver.decide(replace(BARE, listed=False), WANTED)
    assert verdict.step == driver.REFUSE
    assert verdict.reasons[0].startswith("no package list of Ubuntu can be read")
    assert step(replace(READY, listed=False)) == driver.READY


def test_kernel_packages_have_versions_of_their_own() -> None:
    offers: dict[str, driver.Offer | None] = {"linux-generic": driver.Offer("6.8.0-124.124", "Ubuntu")}
    assert driver.decide(replace(BARE, offers=offers), WANTED).step == driver.INSTALL


def test_kernel_of_another_flavour_is_refused() -> None:
    wanted = driver.Wanted("580", "Ubuntu", ("linux-image-generic",))
    assert "none of linux-image-generic is installed" in driver.decide(READY, wanted).reasons[0]
    assert driver.decide(replace(READY, kernels=("linux-image-generic",)), wanted).step == driver.READY


def test_newest_kernel_goes_by_numbers() -> None:
    names = ["6.8.0-99-generic", "6.8.0-124-generic", "6.5.0-200-generic"]
    assert driver.newest_kernel(names) == "6.8.0-124-generic"
    assert driver.newest_kernel([]) == ""


def test_sound_is_no_gpu() -> None:
    rows = [("0x10de", "0x030200"), ("0x10de", "0x040300"), ("0x10de", "0x068000"), ("0x8086", "0x030000")]
    assert pci.count(pci.parse_device(*row) for row in rows) == pci.Board(gpus=1, nvswitches=1)


POLICY = """nvidia-utils-580-server:
  Installed: 580.95.05-0ubuntu1
  Candidate: 580.173.02-0ubuntu0.24.04.1
  Version table:
     580.999.01-1 -10
        -10 https://vendor.example/ubuntu2404  Packages
     580.173.02-0ubuntu0.24.04.1 500 (phased 50%)
        500 http://archive.example/ubuntu noble-updates/restricted amd64 Packages
 *** 580.95.05-0ubuntu1 100
        100 /var/lib/dpkg/status
linux-generic:
  Installed: (none)
  Candidate: (none)
  Version table:
"""
ORIGINS = """Package files:
 100 /var/lib/dpkg/status
     release a=now
 -10 https://vendor.example/ubuntu2404  Packages
     release o=NVIDIA,l=NVIDIA CUDA,c=
 500 http://archive.example/ubuntu noble-updates/restricted amd64 Packages
     release v=24.04,o=Ubuntu,a=noble-updates,n=noble,l=Ubuntu,c=restricted,b=amd64
     origin archive.example
Pinned packages:
"""


def test_policy_names_candidate_and_its_publisher() -> None:
    policies, origins = packages.parse_policies(POLICY), packages.parse_origins(ORIGINS)
    utils = policies["nvidia-utils-580-server"]
    assert (utils.installed, utils.candidate) == ("580.95.05-0ubuntu1", "580.173.02-0ubuntu0.24.04.1")
    assert packages.origin_of(utils, origins) == "Ubuntu"
    assert policies["linux-generic"] == packages.Policy()
    assert packages.upgradable(policies, policies) == ("nvidia-utils-580-server",)


def test_source_of_a_priority_with_four_digits_counts_too() -> None:
    text = "Package files:\n1001 file:/opt/apt ./ Packages\n     release o=Ubuntu,a=x\n -10 file:/opt/b ./ Packages\n"
    assert packages.parse_origins(text) == {"file:/opt/apt ./ Packages": "Ubuntu"}
    shown = (
        "a:\n  Installed: (none)\n  Candidate: 1\n  Version table:\n     1 990\n       1001 file:/opt/apt ./ Packages\n"
    )
    policy = packages.parse_policies(shown)["a"]
    assert packages.origin_of(policy, packages.parse_origins(text)) == "Ubuntu"


def test_status_tells_held_from_loose_and_absent() -> None:
    text = "ii |a|1\nhi |b|2\nun |c|\nrc |d|3\n"
    assert packages.parse_status(text) == {"a": packages.Installed("1", False), "b": packages.Installed("2", True)}


def test_what_an_interrupted_run_has_left_is_neither_whole_nor_absent() -> None:
    known = packages.parse_status("ii |a|1\niHR|b|2\nhU |c|3\niF |d|4\nit |e|5\nun |f|\n")
    assert packages.unfinished(known) == ("b", "c", "d", "e")
    assert [name for name, package in known.items() if package.broken] == ["b"]


def test_holder_of_a_lock_is_found_by_the_number_of_the_file() -> None:
    text = "1: FLOCK  ADVISORY  WRITE 7 00:1a:99 0 EOF\n2: POSIX  ADVISORY  WRITE 1093 00:3a:4711 0 EOF\n"
    assert (packages.lock_holder(text, 4711), packages.lock_holder(text, 471)) == (1093, None)
