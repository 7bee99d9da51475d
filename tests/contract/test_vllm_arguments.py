"""Every argument that a plan renders is accepted by the pinned vLLM's own parser."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.contract import house, layouts
from tests.support import vllm_tree

PARSER = house.PROJECT / "tests" / "support" / "vllm_parser.py"
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_CI_ENV": "1", "VLLM_NO_USAGE_STATS": "1"}
MISSPELT = "a misspelt argument"


def command_lines() -> dict[str, list[str]]:
    """The command line of every engine of every plan, by a name that says whose it is."""
    resolved = [layouts.resolve(plan) for plan in layouts.catalog()["plans"]] + [layouts.larger("mixed-4", 4)]
    resolved += [layouts.spread(name, count) for name in layouts.catalog()["variants"] for count in (1, 2, 4)]
    engines = [(layout["plan"], engine) for layout in resolved for engine in layout["engines"]]
    return {
        f"{plan}, replica {engine['replica']}, rank {engine['rank']}": engine["arguments"] for plan, engine in engines
    }


@pytest.fixture(scope="module")
def refusals(engine_cache: Path) -> dict[str, str]:
    """What the parser says to each command line; one start of vLLM for all of them."""
    tree = engine_cache / "share" / "vllm"
    command = vllm_tree.python(tree, PARSER)
    if command is None:
        missing = f"no vLLM in {tree}, or no Python that fits it: bin/lab brings both"
        if os.environ.get("APOLLO_TEST_HAS_LAB"):
            pytest.fail(missing)
        pytest.skip(missing)
    asked = {**command_lines(), MISSPELT: ["/models/x", "--tensor-paralel-size", "4"]}
    settings = {**os.environ, **OFFLINE, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, input=json.dumps(asked), env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return answers


@pytest.mark.parametrize("whose", command_lines())
def test_vllm_accepts_the_command_line(refusals: dict[str, str], whose: str) -> None:
    assert refusals[whose] == ""


def test_vllm_refuses_a_misspelt_argument(refusals: dict[str, str]) -> None:
    assert "--tensor-paralel-size" in refusals[MISSPELT]
