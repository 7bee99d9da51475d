"""Bad input fails at a named check, in one line, before anything changes."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.support.playbook import run_playbook


@dataclass(frozen=True)
class Bad:
    """What is wrong, how the inventory says it, and what the one line must hold: value, limit, remedy."""

    what: str
    extra: dict[str, object]
    line: tuple[str, ...]


CASES = [
    Bad("misspelt variable", {"fabric_mtuu": 4092}, ("'fabric_mtuu'", "did you mean 'fabric_mtu'")),
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
    Bad("full disk", {"platform_free_mib": {"/": 999999999}}, ("999999999", "MiB free", "free space")),
]


@pytest.mark.parametrize("bad", CASES, ids=lambda bad: bad.what)
def test_bad_input_is_refused_before_anything_changes(bad: Bad) -> None:
    run = run_playbook("site.yml", "--extra-vars", json.dumps(bad.extra))
    assert run.code != 0
    assert not any(counters["changed"] for counters in run.recap.values()), run.output
    faults = [line for line in run.output.splitlines() if all(part in line for part in bad.line)]
    assert faults, run.output
