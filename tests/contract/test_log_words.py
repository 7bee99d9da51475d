"""What a variant looks for in a log are words that the pinned engine has, and they tell a good start from a bad one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo.engine import log_faults

from tests.contract import layouts

# Pattern of the catalog: the file of the engine that prints it, and the words there.
SOURCES = {
    "Falling back to Moe WNA16 kernels": (
        "model_executor/layers/quantization/auto_gptq.py",
        "Falling back to Moe WNA16",
    ),
    "SpeculativeConfig\\(method='mtp'": ("config/speculative.py", 'f"SpeculativeConfig({method=}'),
    "Using 'MARLIN' WNA16 MoE backend": ("model_executor/layers/fused_moe/oracle/int_wna16.py", "WNA16 MoE backend."),
    "Using 'TRITON' WNA16 MoE backend": ("model_executor/layers/fused_moe/oracle/int_wna16.py", "WNA16 MoE backend."),
    "Using FLASH_ATTN attention backend": ("platforms/cuda.py", "Using %s attention backend out of"),
    "Using MarlinLinearKernel for": (
        "model_executor/layers/quantization/compressed_tensors/schemes/compressed_tensors_wNa16.py",
        "Using %s for CompressedTensorsWNA16",
    ),
}
# Words of NCCL and of Python, which the engine passes on.
ELSEWHERE = {"NET/IB", "NET/Socket", "Traceback"}

MARLIN = "INFO [int_wna16.py:312] Using 'MARLIN' WNA16 MoE backend."
TRITON = "INFO [int_wna16.py:312] Using 'TRITON' WNA16 MoE backend."
FALLBACK = "WARNING Layer 'model.layers.0.mlp' is not supported by GPTQMoeMarlin. Falling back to Moe WNA16 kernels."
INFINIBAND = "xl645d-1:77:99 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] [send] via NET/IB/0/GDRDMA"
ETHERNET = "xl645d-1:77:99 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] [send] via NET/Socket/0"


def engines() -> list[dict[str, Any]]:
    plans = layouts.catalog()["plans"]
    return [engine for plan in plans for engine in layouts.resolve(plan)["engines"]]


def test_every_pattern_of_the_catalog_has_a_source() -> None:
    used = {pattern for engine in engines() for patterns in engine["log"].values() for pattern in patterns}
    assert used == set(SOURCES) | ELSEWHERE


@pytest.mark.parametrize("pattern", SOURCES)
def test_the_pinned_engine_has_the_words(engine_cache: Path, pattern: str) -> None:
    path, words = SOURCES[pattern]
    source = engine_cache / "share" / "vllm" / "vllm" / path
    if not source.parents[2].exists():
        pytest.skip(f"no vLLM in {engine_cache}: bin/lab brings it")
    assert words in source.read_text()


@pytest.mark.parametrize(
    ("plan", "lines", "faults"),
    [
        ("397b", [MARLIN, INFINIBAND], 0),
        ("397b", [TRITON, INFINIBAND], 2),
        ("397b", [MARLIN, FALLBACK, INFINIBAND], 1),
        ("397b", [MARLIN, ETHERNET], 2),
        ("397b", [MARLIN, INFINIBAND, ETHERNET], 1),
        ("397b-base", [TRITON, INFINIBAND], 0),
        ("397b-base", [MARLIN, INFINIBAND], 2),
        ("397b-pp", [INFINIBAND], 1),
    ],
)
def test_a_log_tells_a_good_start_from_a_silent_fallback(plan: str, lines: list[str], faults: int) -> None:
    engine = layouts.resolve(plan)["engines"][0]
    assert len(log_faults(engine["name"], "\n".join(lines), engine["log"]["must"], engine["log"]["must_not"])) == faults
