"""Cache and state are counted as the pinned engine's own code books them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo.engine_memory import needs

from tests.contract import house
from tests.support import models, vllm_tree

SCRIPT = house.PROJECT / "tests" / "support" / "vllm_pages.py"
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_TARGET_DEVICE": "cpu", "VLLM_CPU_CI_ENV": "1", "VLLM_NO_USAGE_STATS": "1"}
CASES = [
    (name, ranks, tokens) for name in (models.DENSE, models.SPARSE) for ranks in (1, 2, 4, 8) for tokens in (0, 1, 2)
]


def asked(name: str, ranks: int, tokens: int) -> dict[str, int]:
    shape = models.shape(name)
    return {
        "growing": shape.attention.layers + (shape.draft_layers if tokens else 0),
        "fixed": shape.recurrent.layers,
        "kv_heads": max(1, shape.attention.kv_heads // ranks),
        "key_heads": shape.recurrent.key_heads,
        "value_heads": shape.recurrent.value_heads,
        "ranks": ranks,
        "speculative_tokens": tokens,
    }


@pytest.fixture(scope="module")
def booked(engine_cache: Path) -> list[dict[str, Any]]:
    """What the engine books for each case; one start of its Python for all of them."""
    tree = engine_cache / "share" / "vllm"
    command = vllm_tree.python(tree, SCRIPT)
    if command is None:
        pytest.skip(f"no vLLM in {tree}, or no Python that fits it: bin/lab brings both")
    settings = {**os.environ, **OFFLINE, "PYTHONPATH": str(tree)}
    told = json.dumps([asked(*case) for case in CASES])
    done = subprocess.run(command, input=told, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answers: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return answers


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_sequence_takes_what_the_engine_books_for_it(
    booked: list[dict[str, Any]], case: tuple[str, int, int]
) -> None:
    name, ranks, tokens = case
    speculation = {"method": "mtp", "num_speculative_tokens": tokens} if tokens else None
    found = needs(models.shape(name), models.serving(tensor_parallel_size=ranks, speculative_config=speculation))
    ours = {
        "page_tokens": found.page_tokens,
        "state": found.state_per_sequence,
        "cache_per_token": found.cache_per_token,
    }
    assert ours == booked[CASES.index(case)]
