"""What an engine is told, read back from its arguments: batch, cache, speculation, parallelism.

What a plan leaves unsaid counts as the pinned release's own default (vLLM 0.32 on a GPU of less than 70 GiB).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_DEFAULTS = {
    "gpu-memory-utilization": 0.92,
    "max-num-batched-tokens": 2048,
    "max-num-seqs": 256,
    "pipeline-parallel-size": 1,
    "tensor-parallel-size": 1,
}
_CAPTURE_DEFAULT_MAX = 512


@dataclass(frozen=True)
class Serving:
    """The settings of one engine, with a name for each that memory or a known failure depends on."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def stated(self, flag: str) -> bool:
        return bool(self.settings.get(flag))

    def text(self, flag: str) -> str:
        return str(self.settings.get(flag) or "").lower()

    def number(self, flag: str) -> float:
        """Give a number, or the release's default; ValueError for what is no number."""
        value = self.settings.get(flag, _DEFAULTS[flag])
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ValueError(f"{flag} is '{value}', a number wanted: write it out in digits") from None

    @property
    def tensor(self) -> int:
        return int(self.number("tensor-parallel-size"))

    @property
    def pipeline(self) -> int:
        return int(self.number("pipeline-parallel-size"))

    @property
    def sequences(self) -> int:
        return int(self.number("max-num-seqs"))

    @property
    def batched_tokens(self) -> int:
        return int(self.number("max-num-batched-tokens"))

    @property
    def memory_share(self) -> float:
        return self.number("gpu-memory-utilization")

    @property
    def speculation(self) -> Mapping[str, Any]:
        told = self.settings.get("speculative-config")
        return told if isinstance(told, Mapping) else {}

    @property
    def mtp(self) -> bool:
        method = str(self.speculation.get("method") or self.settings.get("spec-method") or "")
        return method.endswith("mtp")

    @property
    def speculative_tokens(self) -> int:
        return int(self.speculation.get("num_speculative_tokens") or self.settings.get("spec-tokens") or 0)

    @property
    def prefix_caching(self) -> bool:
        """On unless it is switched off: releases from 0.28 on have it on for every model."""
        return not self.stated("no-enable-prefix-caching")

    @property
    def eager(self) -> bool:
        return self.stated("enforce-eager")

    @property
    def capture(self) -> int:
        """Largest batch, in tokens, of which a CUDA graph is captured."""
        if self.eager:
            return 0
        told = self.settings.get("max-cudagraph-capture-size")
        usual = min(self.sequences * (1 + self.speculative_tokens) * 2, _CAPTURE_DEFAULT_MAX, self.batched_tokens)
        return usual if told is None else int(told)
