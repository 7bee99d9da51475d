"""What costs speed is advice; what the kernel does not tell is null and no advice."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import host

platform_info = importlib.import_module("platform_info")

RunModule = Callable[..., dict[str, Any]]
LSPCI = """00:01.1 PCI bridge: AMD Starship GPP Bridge
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+
00:01.2 PCI bridge: AMD Starship GPP Bridge
\t\tACSCtl:\tSrcValid- TransBlk-
01:00.0 3D controller: NVIDIA
\t\tACSCtl:\tSrcValid+
"""


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name, place in (("CPUS", "cpu"), ("IOMMU", "iommu"), ("COMMAND_LINE", "cmdline")):
        monkeypatch.setattr(platform_info, name, tmp_path / place)
    monkeypatch.setattr(platform_info.resource, "getrlimit", lambda _: (-1, platform_info.resource.RLIM_INFINITY))
    (tmp_path / "lspci").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "lspci").chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.usefixtures("node")
def test_what_the_kernel_does_not_tell_is_null_and_no_advice(run_module: RunModule, check: bool) -> None:
    for _ in range(2):
        result = run_module("platform_info", check=check)
        assert (result["failed"], result["changed"], result["advice"]) == (False, False, [])
        assert (result["governors"], result["iommu_units"], result["acs_bridges"]) == (None, None, None)


def test_each_setting_that_costs_speed_has_its_line(run_module: RunModule, node: Path) -> None:
    (node / "cpu/cpu0/cpufreq").mkdir(parents=True)
    (node / "cpu/cpu0/cpufreq/scaling_governor").write_text("schedutil\n")
    (node / "iommu/ivhd0").mkdir(parents=True)
    (node / "lspci").write_text(f"#!/bin/sh\ncat <<'END'\n{LSPCI}END\n")
    result = run_module("platform_info")
    assert [line.split(",")[0] for line in result["advice"]] == [
        "CPU governor is schedutil",
        "1 IOMMU units translate",
        "1 PCI bridges redirect peer-to-peer traffic (ACS)",
    ]
    (node / "cmdline").write_text("quiet iommu=pt\n")
    (node / "cpu/cpu0/cpufreq/scaling_governor").write_text("performance\n")
    assert len(run_module("platform_info")["advice"]) == 1


def test_limit_of_locked_memory_is_told() -> None:
    assert host.advice(host.Host(memlock_kib=8192))[0].startswith("sessions may lock 8192 KiB of memory, unlimited")


@pytest.mark.parametrize(
    ("seen", "line"),
    [
        (host.Host(), "CPU governor unknown, IOMMU unknown, ACS unknown, locked memory unlimited"),
        (
            host.Host(("performance",), 2, True, 0, 64),
            "CPU governor performance, IOMMU passes through, ACS redirects on 0 bridges, locked memory 64 KiB",
        ),
        (
            host.Host(("powersave",), 2, False, 3),
            "CPU governor powersave, IOMMU translates, ACS redirects on 3 bridges, locked memory unlimited",
        ),
        (host.Host(iommu_units=0), "CPU governor unknown, IOMMU off, ACS unknown, locked memory unlimited"),
    ],
)
def test_one_line_tells_what_is_so(seen: host.Host, line: str) -> None:
    assert host.line(seen) == line
