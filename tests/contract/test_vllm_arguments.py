"""Every argument that a plan renders is accepted by the pinned vLLM's own parser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract import house, layouts

PARSER = house.PROJECT / "tests" / "support" / "vllm_parser.py"
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_CI_ENV": "1", "VLLM_NO_USAGE_STATS": "1"}
MISSPELT = "a misspelt argument"


def command_lines() -> dict[str, list[str]]:
    """The command line of every engine of every plan, by a name that says whose it is."""
    engines = [(plan, engine) for plan in layouts.catalog()["plans"] for engine in layouts.resolve(plan)["engines"]]
    return {
        f"{plan}, replica {engine['replica']}, rank {engine['rank']}": engine["arguments"] for plan, engine in engines
    }


@pytest.fixture(scope="module")
def refusals(engine_cache: Path) -> dict[str, str]:
    """What the parser says to each command line; one start of vLLM for all of them."""
    tree = engine_cache / "share" / "vllm"
    if not (tree / "vllm").is_dir():
        if os.environ.get("APOLLO_TEST_HAS_LAB"):
            pytest.fail(f"no vLLM in {tree}, though bin/lab ran")
        pytest.skip(f"no vLLM in {tree}: bin/lab brings it")
    asked = {**command_lines(), MISSPELT: ["/models/x", "--tensor-paralel-size", "4"]}
    done = subprocess.run(
        [sys.executable, str(PARSER)],
        input=json.dumps(asked),
        env={**os.environ, **OFFLINE, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return answers


@pytest.mark.parametrize("whose", command_lines())
def test_vllm_accepts_the_command_line(refusals: dict[str, str], whose: str) -> None:
    assert refusals[whose] == ""


def test_vllm_refuses_a_misspelt_argument(refusals: dict[str, str]) -> None:
    assert "--tensor-paralel-size" in refusals[MISSPELT]
