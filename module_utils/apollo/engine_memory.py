"""What each GPU of an engine has to hold, in bytes: weights, cache, state, and what the engine itself needs.

Weights, cache and state follow from the model; what the engine itself needs is an estimate that meets the published
settings within about half a GiB, and that nobody has verified on the hardware.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ansible.module_utils.apollo.model_shape import Shape
from ansible.module_utils.apollo.model_size import weight_bytes
from ansible.module_utils.apollo.serving import Serving

GIB = 1024**3
MIB = 1024**2

_SEEN_BY_CUDA = 0.985  # of what nvidia-smi reports, the rest is the driver's
_CONTEXT = 0.55 * GIB
_COLLECTIVES = 0.5 * GIB
_LOGIT_BYTES = 10  # a row of logits, its float32 copy and the sampler's own
_GRAPH_PER_LAYER = 0.25 * MIB
_CACHE_BYTES = 2
_NEARLY_EQUAL = 1.5


@dataclass(frozen=True)
class Needs:
    """Bytes on one GPU. ``page_tokens`` is how many tokens of context share one page of the cache."""

    weights: float
    draft: float
    engine: float
    cache_per_token: float
    state_per_sequence: float
    page_tokens: int

    def sequence(self, tokens: int) -> float:
        """Bytes of one sequence of this length; its cache grows by whole pages."""
        pages = math.ceil(tokens / self.page_tokens)
        return self.state_per_sequence + pages * self.page_tokens * self.cache_per_token


def needs(shape: Shape, serving: Serving, stored_bytes: int | None = None) -> Needs:
    """Say what one GPU must hold; ``stored_bytes`` is the size of the safetensors, where it is known."""
    draft = weight_bytes(shape).draft / serving.tensor if serving.mtp else 0.0
    per_layer = cache_per_token_and_layer(shape, serving.tensor)
    growing = math.ceil(shape.attention.layers / serving.pipeline) + (shape.draft_layers if serving.mtp else 0)
    fixed = math.ceil(shape.recurrent.layers / serving.pipeline)
    page_tokens = max(16, math.ceil(_state_per_layer(shape, serving) / per_layer / 16) * 16)
    growing, fixed = pooled_layers(growing, fixed)
    return Needs(
        weights=_weights(shape, serving, stored_bytes),
        draft=draft,
        engine=_engine(shape, serving),
        cache_per_token=growing * per_layer,
        state_per_sequence=fixed * page_tokens * per_layer * _copies(serving),
        page_tokens=page_tokens,
    )


def pooled_layers(growing: int, fixed: int) -> tuple[int, int]:
    """Layers of each kind as the pinned release books them: in groups of one size, the last one filled up.

    Both kinds share one pool of pages, and a page holds a layer's state or as many tokens of another's cache.
    """
    if growing == 0 or fixed == 0:
        return growing, fixed
    small, large = min(growing, fixed), max(growing, fixed)
    size = large if large < _NEARLY_EQUAL * small else small
    return math.ceil(growing / size) * size, math.ceil(fixed / size) * size


def usable(memory_mib: int, share: float) -> float:
    """Bytes of a GPU that the engine may take."""
    return memory_mib * MIB * _SEEN_BY_CUDA * share


def cache_per_token_and_layer(shape: Shape, tensor: int) -> float:
    """Bytes of cache on each GPU; with fewer heads than GPUs, heads are copied."""
    part = shape.attention
    if part.latent:
        return float(part.latent * _CACHE_BYTES)
    return float(2 * max(1, part.kv_heads // tensor) * part.head_dim * _CACHE_BYTES)


def state_bytes(shape: Shape, tensor: int = 1, speculative_tokens: int = 0) -> float:
    """Bytes of one recurrent layer's state: its matrices, and the last inputs of its convolution."""
    part = shape.recurrent
    matrices = part.value_heads * part.value_dim * part.key_dim * part.state_bytes
    inputs = 2 * part.key_heads * part.key_dim + part.value_heads * part.value_dim
    return (matrices + inputs * max(0, part.kernel - 1 + speculative_tokens) * 2) / tensor


def _state_per_layer(shape: Shape, serving: Serving) -> float:
    return state_bytes(shape, serving.tensor, serving.speculative_tokens) if shape.hybrid else 0.0


def _copies(serving: Serving) -> int:
    """One state for each position that speculation may have to go back to; prefix caching keeps one more."""
    return 1 + serving.speculative_tokens + (1 if serving.prefix_caching else 0)


def _weights(shape: Shape, serving: Serving, stored_bytes: int | None) -> float:
    """The fullest pipeline stage; the larger of what the shape says and of what lies on the disk counts."""
    size = weight_bytes(shape)
    vision = 0.0 if serving.stated("language-model-only") else size.vision
    ends = size.embedding + size.head if serving.pipeline == 1 else max(size.embedding, size.head)
    rest = (stored_bytes or 0) - size.draft - size.vision - size.embedding - size.head
    body = max(size.body, rest)
    return (body / serving.pipeline + ends + vision) / serving.tensor


def _engine(shape: Shape, serving: Serving) -> float:
    rows = serving.sequences * (1 + serving.speculative_tokens)
    graphs = graph_count(serving.capture) * _GRAPH_PER_LAYER * (shape.layers + 2 * shape.draft_layers)
    shared = _COLLECTIVES if serving.tensor * serving.pipeline > 1 else 0.0
    return _CONTEXT + shared + _activations(shape, serving) + rows * shape.vocab * _LOGIT_BYTES + graphs


def _activations(shape: Shape, serving: Serving) -> float:
    wide = 8 * shape.hidden + 3 * shape.dense_width / serving.tensor
    routed = shape.experts.per_token * (shape.hidden + 3 * shape.experts.width / serving.tensor)
    return serving.batched_tokens * 2 * (wide + routed)


def graph_count(largest: int) -> int:
    """How many batch sizes the pinned release captures up to ``largest``: 1, 2, 4, then every 8th, then every 16th."""
    small = sum(size <= largest for size in (1, 2, 4))
    return small + len(range(8, min(largest, 255) + 1, 8)) + len(range(256, largest + 1, 16))
