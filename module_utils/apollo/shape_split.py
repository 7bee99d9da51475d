"""Whether a model's shapes can be split over the ranks of an engine."""

from __future__ import annotations

from ansible.module_utils.apollo.model_shape import Shape
from ansible.module_utils.apollo.serving import Serving

_MARLIN_WIDTH = 64  # least width of an expert on one rank that the fast int4 kernel takes


def split_reasons(shape: Shape, serving: Serving) -> list[str]:
    """List what does not divide, a line each; an empty list means that the shapes fit the ranks."""
    ranks, stages = serving.tensor, serving.pipeline
    uneven = [f"{what} ({count})" for what, count in _divided(shape, serving) if count % ranks]
    reasons = [
        f"shape: {', '.join(uneven)} cannot be split over tensor-parallel-size {ranks}: choose a size that divides"
        for _ in uneven[:1]
    ]
    if shape.attention.kv_heads % ranks and ranks % shape.attention.kv_heads:
        reasons.append(
            f"shape: {shape.attention.kv_heads} KV heads can be neither split over nor copied to tensor-parallel-size"
            f" {ranks}: choose a divisor or a multiple"
        )
    if stages > shape.layers:
        reasons.append(f"shape: {shape.layers} layers are fewer than pipeline-parallel-size {stages}: lower it")
    return reasons or _groups(shape, serving)


def _divided(shape: Shape, serving: Serving) -> list[tuple[str, int]]:
    """What every rank must get an equal part of."""
    parts = [("attention heads", shape.attention.heads)]
    if shape.hybrid:
        parts += [
            ("recurrent value heads", shape.recurrent.value_heads),
            ("recurrent key heads", shape.recurrent.key_heads),
        ]
    if shape.dense_layers and shape.dense_width:
        parts.append(("feed-forward width", shape.dense_width))
    if shape.experts.count and serving.stated("enable-expert-parallel"):
        parts.append(("experts", shape.experts.count))
    elif shape.experts.count:
        parts.append(("expert width", shape.experts.width))
    return parts


def _groups(shape: Shape, serving: Serving) -> list[str]:
    """A rank must hold whole groups of quantized weights, or the engine falls back to slow kernels or refuses."""
    stored = shape.quantization
    if not stored.scheme.startswith("int") or stored.group <= 0:
        return []
    split = 1 if serving.stated("enable-expert-parallel") else serving.tensor
    widths = [("expert", shape.experts.width / split)] if shape.experts.count else []
    if not stored.only_experts and shape.dense_layers and shape.dense_width:
        widths.append(("feed-forward", shape.dense_width / serving.tensor))
    return [
        f"shape: a rank would hold {width:g} of the {what} width, whole groups of {stored.group} wanted, or the slow"
        " kernel is used: lower tensor-parallel-size or choose a checkpoint with smaller groups"
        for what, width in widths
        if width % stored.group or width % _MARLIN_WIDTH
    ]
