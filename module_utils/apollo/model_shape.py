"""What a model is made of, read from its own config.json: layers, heads, experts, state, quantization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Config = Mapping[str, Any]

_FLOAT_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}


@dataclass(frozen=True)
class Attention:
    """Layers whose cache grows with the context; ``latent`` is the width of a compressed (MLA) cache, else 0."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    gated: bool = False
    latent: int = 0
    query_rank: int = 0
    sparse: bool = False


@dataclass(frozen=True)
class Recurrent:
    """Layers whose state has one size per sequence, however long it is."""

    layers: int = 0
    value_heads: int = 0
    key_heads: int = 0
    value_dim: int = 0
    key_dim: int = 0
    kernel: int = 0
    state_bytes: int = 4


@dataclass(frozen=True)
class Experts:
    """Layers of which a token reads a few experts; ``shared`` is the width that every token reads."""

    layers: int = 0
    count: int = 0
    per_token: int = 0
    width: int = 0
    shared: int = 0


@dataclass(frozen=True)
class Quantization:
    """How weights are stored. ``scheme`` is int4, int8, fp8, nvfp4, mxfp4 or empty for plain floats."""

    method: str = ""
    scheme: str = ""
    bits: int = 16
    group: int = 0
    only_experts: bool = False
    spares_attention: bool = False


@dataclass(frozen=True)
class Shape:
    """A model as memory and arithmetic see it."""

    architecture: str
    hidden: int
    vocab: int
    context: int
    tied: bool
    dense_layers: int
    dense_width: int
    draft_layers: int
    vision_parameters: int
    attention: Attention
    recurrent: Recurrent = Recurrent()
    experts: Experts = Experts()
    quantization: Quantization = Quantization()

    @property
    def layers(self) -> int:
        return self.attention.layers + self.recurrent.layers

    @property
    def hybrid(self) -> bool:
        """Whether some layers keep a recurrent state beside the cache of the others."""
        return self.recurrent.layers > 0


def read_shape(config: Config) -> Shape:
    """Read the shape of a text model, or of the text part of a larger one.

    Raises ValueError that names the key which config.json lacks.
    """
    text = {**config, **(config.get("text_config") or {})}
    layers = int(_need(text, "num_hidden_layers"))
    recurrent = _recurrent(text, layers)
    experts = _experts(text, layers)
    return Shape(
        architecture=str((config.get("architectures") or ["unknown"])[0]),
        hidden=int(_need(text, "hidden_size")),
        vocab=int(_need(text, "vocab_size")),
        context=int(_need(text, "max_position_embeddings")),
        tied=bool(config.get("tie_word_embeddings", text.get("tie_word_embeddings", False))),
        dense_layers=layers - experts.layers,
        dense_width=int(text.get("dense_intermediate_size") or text.get("intermediate_size") or 0),
        draft_layers=int(_first(text, "mtp_num_hidden_layers", "num_nextn_predict_layers", "num_mtp_modules") or 0),
        vision_parameters=_vision(config.get("vision_config") or {}),
        attention=_attention(text, layers - recurrent.layers),
        recurrent=recurrent,
        experts=experts,
        quantization=_quantization(config.get("quantization_config") or text.get("quantization_config") or {}),
    )


def _need(config: Config, key: str) -> Any:
    if config.get(key) is None:
        raise ValueError(f"config.json has no {key}, so nothing can be said about memory: fetch the model anew")
    return config[key]


def _first(config: Config, *keys: str) -> Any:
    return next((config[key] for key in keys if config.get(key) is not None), None)


def _attention(text: Config, layers: int) -> Attention:
    heads = int(_need(text, "num_attention_heads"))
    hidden = int(_need(text, "hidden_size"))
    architecture = str(text.get("model_type", ""))
    always_gated = architecture.startswith(("qwen3_5", "qwen3_next"))
    sparse = text.get("sparse_attention_config") or {}
    return Attention(
        layers=layers,
        heads=heads,
        kv_heads=int(text.get("num_key_value_heads") or heads),
        head_dim=int(text.get("head_dim") or hidden // heads),
        gated=bool(text.get("attn_output_gate", text.get("attention_output_gate", always_gated))),
        latent=int(text.get("kv_lora_rank") or 0) + int(text.get("qk_rope_head_dim") or 0)
        if text.get("kv_lora_rank")
        else 0,
        query_rank=int(text.get("q_lora_rank") or 0),
        sparse=bool(text.get("index_topk") or sparse.get("use_sparse_attention", bool(sparse))),
    )


def _recurrent(text: Config, layers: int) -> Recurrent:
    kimi = text.get("linear_attn_config")
    if kimi:
        heads, width = int(kimi["num_heads"]), int(kimi["head_dim"])
        count = len(kimi.get("kda_layers") or [])
        return Recurrent(count, heads, heads, width, width, int(kimi.get("short_conv_kernel_size") or 0))
    kinds: Sequence[str] = text.get("layer_types") or []
    count = sum(kind == "linear_attention" for kind in kinds)
    if not kinds and text.get("linear_num_value_heads"):
        count = layers - layers // int(text.get("full_attention_interval") or 4)
    if count == 0 or not text.get("linear_num_value_heads"):
        return Recurrent()
    return Recurrent(
        layers=count,
        value_heads=int(text["linear_num_value_heads"]),
        key_heads=int(_need(text, "linear_num_key_heads")),
        value_dim=int(_need(text, "linear_value_head_dim")),
        key_dim=int(_need(text, "linear_key_head_dim")),
        kernel=int(text.get("linear_conv_kernel_dim") or 4),
        state_bytes=_FLOAT_BYTES.get(str(text.get("mamba_ssm_dtype", "float32")), 4),
    )


def _experts(text: Config, layers: int) -> Experts:
    count = int(_first(text, "num_experts", "num_local_experts", "n_routed_experts") or 0)
    if count == 0:
        return Experts()
    width = int(_first(text, "moe_intermediate_size", "intermediate_size") or 0)
    shared = _first(text, "shared_expert_intermediate_size", "shared_intermediate_size")
    if shared is None:
        shared = width * int(_first(text, "n_shared_experts", "num_shared_experts") or 0)
    return Experts(
        layers=layers - _dense_layers(text),
        count=count,
        per_token=int(_first(text, "num_experts_per_tok", "num_experts_per_token") or 1),
        width=width,
        shared=int(shared),
    )


def _dense_layers(text: Config) -> int:
    frequency = text.get("moe_layer_freq")
    if isinstance(frequency, list):
        return frequency.count(0)
    return int(text.get("first_k_dense_replace") or 0) or len(text.get("mlp_only_layers") or [])


def _vision(vision: Config) -> int:
    """Roughly: four projections of attention and two of the feed-forward part in each block."""
    depth, hidden = int(_first(vision, "depth", "num_hidden_layers") or 0), int(vision.get("hidden_size") or 0)
    return depth * (4 * hidden * hidden + 2 * hidden * int(vision.get("intermediate_size") or 4 * hidden))


def _quantization(stated: Config) -> Quantization:
    method = str(stated.get("quant_method", ""))
    if not method:
        return Quantization()
    spared = [*(stated.get("dynamic") or {}), *_listed(stated, "ignore", "modules_to_not_convert", "exclude_modules")]
    spares_attention = any("attn" in str(name) for name in spared)
    scheme, bits, group = _scheme(method, stated)
    return Quantization(
        method=method,
        scheme=scheme,
        bits=bits,
        group=group,
        only_experts=spares_attention and any("shared_expert" in str(name) for name in spared),
        spares_attention=spares_attention,
    )


def _scheme(method: str, stated: Config) -> tuple[str, int, int]:
    told = f"{method} {stated.get('quant_algo', '')} {stated.get('format', '')}".lower()
    groups: Config = stated.get("config_groups") or {}
    weights: Config = next((entry["weights"] for entry in groups.values() if entry.get("weights")), {})
    group = int(_first(weights, "group_size") or stated.get("group_size") or 0)
    if "nvfp4" in told:
        return "nvfp4", 4, group or 16
    if "mxfp4" in told:
        return "mxfp4", 4, group or 32
    if "fp8" in told or (weights.get("type") == "float" and weights.get("num_bits") == 8):
        return "fp8", 8, 0
    bits = int(_first(weights, "num_bits") or stated.get("bits") or 4)
    return f"int{bits}", bits, group


def _listed(stated: Config, *keys: str) -> list[str]:
    return [str(name) for key in keys for name in stated.get(key) or []]
