"""Run by the pinned vLLM's own Python: book cache and state of a hybrid model as the engine would.

Reads a list of cases as JSON from standard input, each with the layers of both kinds, KV heads on one rank, key and
value heads, ranks and speculative tokens; prints for each the tokens of a page, and the bytes of state and cache.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from vllm.model_executor.layers.mamba.mamba_utils import MambaStateShapeCalculator
from vllm.v1.core.kv_cache_utils import _get_kv_cache_groups_uniform_page_size
from vllm.v1.kv_cache_interface import FullAttentionSpec, MambaSpec

HEAD, STATE_HEAD, KERNEL, BLOCK = 256, 128, 4, 65536


def book(case: dict[str, int]) -> dict[str, Any]:
    tokens, token_bytes = case["speculative_tokens"], 2 * case["kv_heads"] * HEAD * 2
    growing, fixed = layers(case, tokens, token_bytes)
    named = {f"growing.{i}": growing for i in range(case["growing"])}
    named |= {f"fixed.{i}": fixed for i in range(case["fixed"])}
    groups = _get_kv_cache_groups_uniform_page_size(named)
    size = max(len(group.layer_names) for group in groups)
    states = [group for group in groups if group.layer_names[0].startswith("fixed")]
    return {
        "page_tokens": growing.block_size,
        "state": len(states) * size * growing.page_size_bytes * (1 + tokens),
        "cache_per_token": (len(groups) - len(states)) * size * token_bytes,
    }


def layers(case: dict[str, int], tokens: int, token_bytes: int) -> tuple[FullAttentionSpec, MambaSpec]:
    """One layer of each kind, with pages of one size: as many tokens as a state takes, in steps of 16."""
    heads = (case["ranks"], case["key_heads"], case["value_heads"], STATE_HEAD, STATE_HEAD, KERNEL, tokens)
    shapes = MambaStateShapeCalculator.gated_delta_net_state_shape(*heads)
    state = {"block_size": BLOCK, "shapes": shapes, "dtypes": (torch.bfloat16, torch.float32)}
    page_tokens = -(-MambaSpec(**state).page_size_bytes // (16 * token_bytes)) * 16
    growing = FullAttentionSpec(
        block_size=page_tokens, num_kv_heads=case["kv_heads"], head_size=HEAD, dtype=torch.bfloat16
    )
    return growing, MambaSpec(**state, num_speculative_blocks=tokens, page_size_padded=growing.page_size_bytes)


if __name__ == "__main__":
    json.dump([book(case) for case in json.load(sys.stdin)], sys.stdout)
