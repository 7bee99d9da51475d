"""How many parameters a model has in each part, and how many bytes they take."""

from __future__ import annotations

from dataclasses import dataclass

from ansible.module_utils.apollo.model_shape import Shape

_FLOAT_BYTES = 2.0
_GATED_PROJECTIONS = 3  # gate, up and down


@dataclass(frozen=True)
class Parts:
    """One figure for each part of a model; what they count is up to who made them."""

    attention: float
    dense: float
    experts: float
    shared: float
    embedding: float
    head: float
    draft: float
    vision: float

    @property
    def body(self) -> float:
        """All layers, without what turns words into vectors and back."""
        return self.attention + self.dense + self.experts + self.shared

    @property
    def text(self) -> float:
        return self.body + self.embedding + self.head


def parameters(shape: Shape) -> Parts:
    """Count the parameters of each part."""
    experts, hidden = shape.experts, shape.hidden
    table = float(shape.vocab * hidden)
    expert = float(_GATED_PROJECTIONS * hidden * experts.width)
    common = float(_GATED_PROJECTIONS * hidden * experts.shared + hidden * experts.count)
    return Parts(
        attention=shape.attention.layers * _attention(shape) + shape.recurrent.layers * _recurrent(shape),
        dense=float(shape.dense_layers * _GATED_PROJECTIONS * hidden * shape.dense_width),
        experts=experts.layers * experts.count * expert,
        shared=experts.layers * common,
        embedding=table,
        head=0.0 if shape.tied else table,
        draft=shape.draft_layers * _draft_layer(shape, expert * experts.count + common),
        vision=float(shape.vision_parameters),
    )


def weight_bytes(shape: Shape) -> Parts:
    """Give the bytes of each part as the checkpoint stores it; drafts are never quantized."""
    counted, stored = parameters(shape), shape.quantization
    packed = packed_bytes(stored.bits, stored.group) if stored.scheme else _FLOAT_BYTES
    others = _FLOAT_BYTES if stored.only_experts else packed
    return Parts(
        attention=counted.attention * (_FLOAT_BYTES if stored.spares_attention else others),
        dense=counted.dense * others,
        experts=counted.experts * packed,
        shared=counted.shared * others,
        embedding=counted.embedding * _FLOAT_BYTES,
        head=counted.head * _FLOAT_BYTES,
        draft=counted.draft * _FLOAT_BYTES,
        vision=counted.vision * _FLOAT_BYTES,
    )


def active_parameters(shape: Shape) -> float:
    """Count the parameters of the layers that one token passes through."""
    counted = parameters(shape)
    share = shape.experts.per_token / shape.experts.count if shape.experts.count else 0.0
    return counted.body - counted.experts * (1 - share)


def packed_bytes(bits: int, group: int) -> float:
    """Bytes per parameter: the value itself, and per group a scale of 16 bits and a zero point of the value's width."""
    return bits / 8 + ((2 + bits / 8) / group if group > 0 else 0.0)


def _attention(shape: Shape) -> float:
    part, hidden = shape.attention, shape.hidden
    if part.latent:
        query = part.query_rank * (hidden + part.heads * part.head_dim) if part.query_rank else 0
        return float(query + hidden * part.latent + 2 * part.heads * part.head_dim * (part.latent + hidden / 2))
    query = hidden * part.heads * part.head_dim * (2 if part.gated else 1)
    return float(query + 2 * hidden * part.kv_heads * part.head_dim + part.heads * part.head_dim * hidden)


def _recurrent(shape: Shape) -> float:
    part, hidden = shape.recurrent, shape.hidden
    values, keys = part.value_heads * part.value_dim, part.key_heads * part.key_dim
    mixed = 2 * keys + values
    return float(hidden * (mixed + values + 2 * part.value_heads) + values * hidden + mixed * part.kernel)


def _draft_layer(shape: Shape, sparse: float) -> float:
    """One layer of full attention over the joined state of word and model."""
    dense = float(_GATED_PROJECTIONS * shape.hidden * shape.dense_width)
    return 2.0 * shape.hidden * shape.hidden + _attention(shape) + (sparse if shape.experts.count else dense)
