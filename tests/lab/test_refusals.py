"""Bad input fails at a named check, in one line, before anything changes."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from lab.settings import read_settings
from tests.contract import house
from tests.support.playbook import Run, run_playbook

SEVERAL_LINES = "msg: |-"  # as YAML begins a text of more than one line


@dataclass(frozen=True)
class Bad:
    """What is wrong, how the inventory says it, and what the one line must hold: value, limit, remedy."""

    what: str
    extra: dict[str, object]
    line: tuple[str, ...]


CASES = [
    Bad("misspelt variable", {"fabric_mtuu": 4092}, ("'fabric_mtuu'", "did you mean 'fabric_mtu'")),
    Bad("missing variable", {"fabric_address": ""}, ("'fabric_address' is missing", "set it in the inventory")),
    Bad("wrong type", {"gateway_port": "abc"}, ("'gateway_port'", "'abc'", "whole number", "correct it")),
    Bad("unreachable node", {"ansible_port": 1}, ("does not answer", "check power, cable")),
    Bad(
        "unsupported system",
        {"platform_releases": ["noble-and-newer"]},
        ("not supported", "noble-and-newer", "install"),
    ),
    Bad("fewer GPUs", {"gpu_ready_expected_gpus": 5}, ("4", "5", "GPU")),
    Bad("unknown plan", {"plan_name": "28b"}, ("'28b'", "did you mean '27b'")),
    Bad(
        "unknown variant",
        {"plan_catalog_dirs": ["catalog", "tests/data/catalog-broken"], "plan_name": "lost"},
        ("'27b-bass'", "did you mean '27b-base'"),
    ),
    Bad(
        "known to break",
        {"plan_engine_arguments": {"enable-expert-parallel": True, "max-num-seqs": 64}},
        ("expert-parallel-above-limit", "32", "leave enable-expert-parallel out"),
    ),
    Bad(
        "context too long",
        {"plan_engine_arguments": {"max-model-len": 300000}},
        ("300000", "262144", "lower max-model-len"),
    ),
    Bad("port in use", {"plan_first_port": 22}, ("22", "port")),
    Bad(
        "device that is not there",
        {"storage_volumes": [{"path": "/models", "device": "/dev/disk/by-id/nvme-of-nobody"}]},
        ("/dev/disk/by-id/nvme-of-nobody", "does not exist", "/dev/disk/by-id`"),
    ),
    Bad(
        "branch that nobody offers",
        {"nvidia_driver_branch": "999"},
        ("branch 999 expected", "set nvidia_driver_branch"),
    ),
    Bad("address outside of the fabric", {"fabric_network": "10.200.0.0/24"}, ("no host's address", "10.200.0.0/24")),
    Bad("address twice", {"fabric_address": "10.77.0.1/24"}, ("used by node1 and node2", "correct fabric_address")),
    Bad("one node under two names", {"ansible_host": "127.0.0.1"}, ("node1 and node2", "127.0.0.1", "host_vars")),
    Bad("full disk", {"platform_free_mib": {"/": 999999999}}, ("999999999", "MiB free", "free space")),
]


BOARDS = [
    ({"gpus": 0}, ("no NVIDIA GPU on the PCI bus", "seat the board")),
    ({"gpus": 8, "nvswitches": 6}, ("6 NVSwitches", "8-GPU board", "not supported")),
]


@pytest.fixture
def show_board() -> Iterator[Callable[[dict[str, int]], None]]:
    """Give the first node another board, and its own one back in the end."""
    container = read_settings(os.environ, house.PROJECT).nodes[0].container
    plug = "cat >/etc/lab/hardware.json && PYTHONPATH=/opt/lab/firmware python3 -m simulated.board plug"

    def show(hardware: dict[str, int]) -> None:
        command = ["docker", "exec", "--interactive", container, "sh", "-c", plug]
        subprocess.run(command, input=json.dumps(hardware), text=True, check=True)

    yield show
    show({})


def require_refusal(run: Run, line: tuple[str, ...]) -> None:
    """Require that the run ended badly and unchanged, and that what it told was one line with these parts."""
    assert run.code != 0
    assert not any(counters["changed"] for counters in run.recap.values()), run.output
    assert [told for told in run.output.splitlines() if all(part in told for part in line)], run.output
    assert SEVERAL_LINES not in run.output


@pytest.mark.parametrize(("hardware", "line"), BOARDS)
def test_board_that_cannot_serve_is_refused_before_anything_changes(
    show_board: Callable[[dict[str, int]], None], hardware: dict[str, int], line: tuple[str, ...]
) -> None:
    show_board(hardware)
    require_refusal(run_playbook("site.yml", "--tags=prepare", "--limit=node1,localhost"), line)


@pytest.mark.parametrize("bad", CASES, ids=lambda bad: bad.what)
def test_bad_input_is_refused_before_anything_changes(bad: Bad) -> None:
    require_refusal(run_playbook("site.yml", "--extra-vars", json.dumps(bad.extra)), bad.line)


def test_a_plan_is_not_measured_on_a_part_of_its_nodes() -> None:
    run = run_playbook("playbooks/bench.yml", "--limit=node1")
    assert run.code != 0
    assert "serves on node2, which this run does not reach: run it without --limit" in " ".join(run.output.split())
