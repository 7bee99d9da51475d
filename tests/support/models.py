"""Configurations of models for tests, and what the published plans ask of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo.fit import Fit, Wanted, fit
from ansible.module_utils.apollo.hardware import gpu_kind
from ansible.module_utils.apollo.model_shape import Shape, read_shape
from ansible.module_utils.apollo.serving import Serving

FOLDER = Path(__file__).resolve().parents[1] / "data" / "models"
A100 = gpu_kind("NVIDIA A100-SXM4-40GB")
DENSE, SPARSE, INT4 = "qwen3.6-27b", "qwen3.5-397b-a17b", "qwen3.6-27b-w4a16"
MTP = {"method": "mtp", "num_speculative_tokens": 2}
USUAL: dict[str, Any] = {
    "gpu-memory-utilization": 0.9,
    "language-model-only": True,
    "max-model-len": 65536,
    "max-num-batched-tokens": 4096,
    "max-num-seqs": 64,
    "no-enable-prefix-caching": True,
}


def config(name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return told


def shape(name: str) -> Shape:
    return read_shape(config(name))


def serving(**settings: Any) -> Serving:
    """Settings by keyword, with underscores for dashes; null removes one of the usual."""
    told = {flag.replace("_", "-"): value for flag, value in settings.items()}
    return Serving({flag: value for flag, value in {**USUAL, **told}.items() if value is not None})


def judge(name: str, accepted: tuple[str, ...] = (), stored: int | None = None, **settings: Any) -> Fit:
    return fit(shape(name), Wanted(serving(**settings), accepted, stored), A100)
