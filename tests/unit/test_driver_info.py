"""The module driver_info over a node's files and programs that answer like the real ones."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import apt_view

driver_info = importlib.import_module("driver_info")

RunModule = Callable[..., dict[str, Any]]
Node = Callable[[str, str], None]

SET = ["nvidia-utils-580-server", "libnvidia-compute-580-server"]
KERNELS = ["linux-generic"]
ASKED = {"branch": "580", "origin": "Ubuntu", "packages": SET, "kernel_packages": KERNELS}
INSTALLED = "hi |{}|580.173.02-0ubuntu1\nii |{}|580.173.02-0ubuntu1\nhi |linux-generic|6.8.0-124.124\n".format(*SET)
BARE = "ii |linux-generic|6.8.0-124.124\n"
SOURCE = "500 http://archive.example noble/restricted amd64 Packages"
ORIGINS = f" {SOURCE}\n     release v=24.04,o=Ubuntu,a=noble\n"
POLICY = "{0}:\n  Installed: {1}\n  Candidate: {2}\n  Version table:\n     {2} 500\n        " + SOURCE + "\n"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """Give a node with four GPUs and one kernel, whose files and programs a test may replace."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name, place in (("KERNEL", "osrelease"), ("KERNELS", "boot"), ("MODULES", "modules"), ("DEVICES", "devices")):
        monkeypatch.setattr(driver_info, name, tmp_path / place)
    monkeypatch.setattr(driver_info, "SECURE_BOOT", tmp_path / "secure_boot")

    def put(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}END\n" if name.startswith("bin/") else text)
        path.chmod(0o755)

    put("osrelease", "6.8.0-124-generic\n")
    put("boot/vmlinuz-6.8.0-124-generic", "")
    for index in range(4):
        put(f"devices/{index}/vendor", "0x10de\n")
        put(f"devices/{index}/class", "0x030200\n")
    put("modules/nvidia/version", "580.173.02\n")
    put("bin/modinfo", "580.173.02\n")
    put("bin/dpkg-query", INSTALLED)
    put("bin/apt-cache", ORIGINS + "".join(POLICY.format(name, "580.173.02", "580.173.02") for name in SET))
    return put


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.usefixtures("node")
def test_ready_driver_is_reported_whole(run_module: RunModule, check: bool) -> None:
    for _ in range(2):
        result = run_module("driver_info", check=check, **ASKED)
        assert (result["failed"], result["changed"], result["step"], result["reasons"]) == (False, False, "ready", [])
        assert result["loose"] == [SET[1]]
        assert result["upgradable"] == []
        assert result["state"]["gpus"] == 4
        assert result["state"]["secure_boot"] is None


def test_driver_that_is_not_loaded_needs_a_reboot(run_module: RunModule, node: Node, tmp_path: Path) -> None:
    del node
    (tmp_path / "modules/nvidia/version").unlink()
    assert run_module("driver_info", **ASKED)["step"] == "reboot"


def test_bare_node_without_lists_is_to_be_installed_and_not_judged(run_module: RunModule, node: Node) -> None:
    node("bin/dpkg-query", BARE)
    node("bin/apt-cache", "Package files:\n 100 /var/lib/dpkg/status\n     release a=now\n")
    result = run_module("driver_info", **ASKED)
    assert (result["step"], result["offered"], result["state"]["offers"]) == ("install", False, {})


def test_branch_that_the_origin_does_not_offer_is_refused(run_module: RunModule, node: Node) -> None:
    node("bin/dpkg-query", BARE)
    node("bin/apt-cache", ORIGINS)
    result = run_module("driver_info", **ASKED)
    assert result["step"] == "refuse"
    assert result["reasons"][0].startswith("nvidia-utils-580-server, libnvidia-compute-580-server not offered")


def test_upgrade_judges_what_the_branch_would_become(run_module: RunModule, node: Node) -> None:
    node("bin/apt-cache", ORIGINS + POLICY.format(SET[0], "580.173.02", "590.44.01"))
    assert run_module("driver_info", **ASKED)["step"] == "ready"
    result = run_module("driver_info", upgrade=True, **ASKED)
    assert result["upgradable"] == [SET[0]]
    assert result["targets"] == [f"{SET[0]}=590.44.01"]
    assert "would become 590.44.01, branch 580 expected" in result["refusals"][0]


def test_secure_boot_and_fabric_manager_are_seen(run_module: RunModule, node: Node, tmp_path: Path) -> None:
    node("bin/dpkg-query", f"{INSTALLED}ii |nvidia-dkms-580-server|1\nii |nvidia-fabricmanager-580|1\n")
    (tmp_path / "secure_boot").write_bytes(bytes([6, 0, 0, 0, 1]))
    result = run_module("driver_info", **ASKED)
    assert result["foreign"] == ["nvidia-fabricmanager-580"]
    assert result["reasons"][0].startswith("Secure Boot is on and nvidia-dkms-580-server builds unsigned modules")


VIEW = """#!/bin/sh
case "$*" in *Dir::State::lists=*) cat <<'END'
{view}END
;; *) cat <<'END'
{system}END
esac
"""
TO_COME = {
    "name": "The archive",
    "types": "deb",
    "uris": "http://archive.example",
    "suites": "noble",
    "signed_by": "/x",
}


def answers_by_view(tmp_path: Path, view: str, system: str) -> None:
    """Let apt answer one thing from lists beside the system and another from the system's own; keep what it read."""
    (tmp_path / "bin/apt-cache").write_text(VIEW.format(view=view, system=system))
    fetch = tmp_path / "bin/apt-get"
    keep = f'*sourceparts=*) cat "${{word#*parts=}}"/* >{tmp_path}/read'
    fetch.write_text(f"#!/bin/sh\nfor word; do case $word in {keep};; esac; done\n")
    fetch.chmod(0o755)


@pytest.mark.parametrize("check", [False, True])
def test_bare_node_is_refused_a_branch_by_lists_beside_the_system(
    run_module: RunModule, node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check: bool
) -> None:
    node("bin/dpkg-query", BARE)
    node("apt/sources.list.d/libnvidia-container.list", "deb http://leftover.example /\n")
    node("apt/sources.list.d/site.list", "deb http://site.example /\n")
    monkeypatch.setattr(driver_info, "SOURCES", tmp_path / "apt")
    answers_by_view(tmp_path, view=ORIGINS, system=" 100 /var/lib/dpkg/status\n     release a=now\n")
    for _ in range(2):
        result = run_module("driver_info", check=check, look_up=True, sources=[TO_COME], **ASKED)
        assert (result["changed"], result["step"]) == (False, "refuse")
        assert result["reasons"][0].startswith("nvidia-utils-580-server, libnvidia-compute-580-server not offered")
    read = (tmp_path / "read").read_text()
    assert "Uris: http://archive.example" in read
    assert "site.example" in read
    assert "leftover" not in read


def test_lists_of_the_system_count_where_none_can_be_fetched(run_module: RunModule, node: Node, tmp_path: Path) -> None:
    node("bin/dpkg-query", BARE)
    offered = "".join(POLICY.format(name, "(none)", "580.173.02") for name in SET)
    answers_by_view(tmp_path, view="", system=ORIGINS + offered)
    result = run_module("driver_info", look_up=True, **ASKED)
    assert (result["step"], result["offered"]) == ("install", True)


@pytest.mark.parametrize("check", [False, True])
def test_node_without_network_and_lists_is_refused_before_its_sources_are_added(
    run_module: RunModule, node: Node, tmp_path: Path, check: bool
) -> None:
    node("bin/dpkg-query", BARE)
    answers_by_view(tmp_path, view="", system=" 100 /var/lib/dpkg/status\n     release a=now\n")
    result = run_module("driver_info", check=check, look_up=True, **ASKED)
    assert (result["step"], result["state"]["listed"]) == ("refuse", False)
    assert result["reasons"][0].startswith("no package list of Ubuntu can be read")


@pytest.mark.usefixtures("node")
def test_nothing_is_fetched_for_a_driver_that_is_there(run_module: RunModule, tmp_path: Path) -> None:
    answers_by_view(tmp_path, view="", system=ORIGINS)
    run_module("driver_info", look_up=True, **ASKED)
    assert not (tmp_path / "read").exists()


def test_source_without_its_key_is_read_without_it() -> None:
    assert apt_view.stanzas([TO_COME], []) == (
        "Types: deb\nUris: http://archive.example\nSuites: noble\nTrusted: yes\n"
    )
    assert apt_view.stanzas([{**TO_COME, "trusted": False}], ["/x"]).endswith("Signed-By: /x\nTrusted: no\n")


def test_view_prefers_the_drivers_origin_where_one_is_asked_for() -> None:
    assert "Pin: release o=Ubuntu" in apt_view.pin(SET, "Ubuntu")
    assert apt_view.pin(SET, "") == ""
