"""Combinations that are known to break, each with a name, before anything is started with them.

Some need nothing but the arguments, others the model's shape or the GPU's compute capability; what is not known
yet is judged later, when the model and the GPUs are there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ansible.module_utils.apollo.model_shape import Shape
from ansible.module_utils.apollo.serving import Serving

EXPERT_PARALLEL_SEQUENCES = 32  # published: stable at 32 requests, crashed at 64
SPECULATIVE_TOKENS = 2  # vllm#37035: more than two broke under load
MEMORY_SHARE = 0.97  # vllm#57475: graphs ran out of memory at 0.98, and did not at 0.97

Capability = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """One engine as far as it is known; a shape or capability of None is not known yet."""

    serving: Serving
    shape: Shape | None = None
    capability: Capability | None = None
    scheme: str = field(init=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "scheme", self.shape.quantization.scheme if self.shape else "")

    @property
    def hybrid(self) -> bool:
        return self.shape is not None and self.shape.hybrid

    @property
    def gptq(self) -> bool:
        return self.shape is not None and self.shape.quantization.method == "gptq"

    @property
    def sparse(self) -> bool:
        return self.shape is not None and self.shape.attention.sparse

    def below(self, major: int, minor: int = 0) -> bool:
        return self.capability is not None and self.capability < (major, minor)

    def told(self, flag: str) -> str:
        return self.serving.text(flag)


@dataclass(frozen=True)
class Rule:
    """A combination, why it breaks, what to do instead, and whether a variant may accept the risk."""

    name: str
    holds: Callable[[Case], bool]
    why: str
    remedy: str
    acceptable: bool = True


def conflicts(case: Case, accepted: Collection[str] = ()) -> list[str]:
    """List the known failures that this engine runs into, a line each, but for those its variant accepts."""
    found = [rule for rule in RULES if rule.holds(case)]
    have = ".".join(map(str, case.capability or ()))
    return [
        f"{rule.name}: {rule.why.replace('{have}', have)}: {rule.remedy}"
        for rule in found
        if not (rule.acceptable and rule.name in accepted)
    ]


def _both_ways(case: Case) -> bool:
    flags = [flag for flag, value in case.serving.settings.items() if value is True]
    return any(f"no-{flag}" in flags for flag in flags)


def _marlin_draft(case: Case) -> bool:
    draft = str(case.serving.speculation.get("moe_backend") or "marlin")
    return case.told("moe-backend") == "marlin" and case.serving.mtp and draft == "marlin"


def _third_attention(case: Case) -> bool:
    attention = case.serving.settings.get("attention-config")
    version = attention.get("flash_attn_version") if isinstance(attention, dict) else None
    version = version or case.serving.environment.get("VLLM_FLASH_ATTN_VERSION") or 0
    return case.below(9) and int(version) >= 3


RULES = (
    Rule(
        "stated-both-ways",
        _both_ways,
        "a flag is given together with its own negation, and which one wins is up to the release",
        "set the one that is inherited to null",
        acceptable=False,
    ),
    Rule(
        "marlin-moe-with-mtp",
        _marlin_draft,
        "moe-backend marlin is inherited by the draft model of multi-token prediction, which is not quantized, and ends"
        " the start (vllm#56832)",
        "leave moe-backend out, Marlin is chosen by itself, or add moe_backend: triton to speculative-config",
        acceptable=False,
    ),
    Rule(
        "marlin-moe-with-moe-wna16",
        lambda case: case.told("moe-backend") == "marlin" and case.told("quantization") == "moe_wna16",
        "the checkpoint layout of quantization moe_wna16 has no Marlin kernel, which ends the start",
        "leave one of the two out",
        acceptable=False,
    ),
    Rule(
        "triton-moe-with-gptq",
        lambda case: case.gptq and case.told("moe-backend") == "triton" and case.told("quantization") != "moe_wna16",
        "moe-backend triton is refused for a GPTQ checkpoint",
        "force the Triton kernel with quantization moe_wna16",
        acceptable=False,
    ),
    Rule(
        "humming-moe",
        lambda case: case.told("moe-backend") == "humming",
        "moe-backend humming ended in illegal memory access at the start of this kind of model (vllm#47281)",
        "leave moe-backend out",
    ),
    Rule(
        "prefix-caching-with-mtp",
        lambda case: case.hybrid and case.serving.mtp and case.serving.prefix_caching,
        "prefix caching together with multi-token prediction crashes hybrid models or corrupts their answers, on"
        " Ampere too (vllm#53912, vllm#50021)",
        "set no-enable-prefix-caching: true",
    ),
    Rule(
        "prefix-caching-on-hybrid",
        lambda case: case.hybrid and not case.serving.mtp and case.serving.prefix_caching,
        "prefix caching on a hybrid model is experimental and ended in illegal memory access on this generation of GPU"
        " (vllm#54173); since 0.28 it is on unless it is switched off",
        "set no-enable-prefix-caching: true",
    ),
    Rule(
        "expert-parallel-above-limit",
        lambda case: (
            case.serving.stated("enable-expert-parallel") and case.serving.sequences > EXPERT_PARALLEL_SEQUENCES
        ),
        f"expert parallel crashed at 64 concurrent requests in the published test, {EXPERT_PARALLEL_SEQUENCES} held",
        f"set max-num-seqs to at most {EXPERT_PARALLEL_SEQUENCES}, or leave enable-expert-parallel out",
    ),
    Rule(
        "many-speculative-tokens",
        lambda case: case.hybrid and case.serving.speculative_tokens > SPECULATIVE_TOKENS,
        f"more than {SPECULATIVE_TOKENS} speculative tokens ended in illegal memory access under load (vllm#37035)",
        f"set num_speculative_tokens to at most {SPECULATIVE_TOKENS}",
    ),
    Rule(
        "dynamic-speculation",
        lambda case: bool(case.serving.speculation.get("num_speculative_tokens_per_batch_size")),
        "speculative tokens by batch size made the throughput collapse at the threshold (vllm#49548)",
        "give one num_speculative_tokens",
    ),
    Rule(
        "memory-share-above-limit",
        lambda case: case.serving.memory_share > MEMORY_SHARE,
        f"with a gpu-memory-utilization above {MEMORY_SHARE} the capture of CUDA graphs runs out of memory"
        " (vllm#57475)",
        "set it to 0.92 or less",
    ),
    Rule(
        "float16-on-hybrid",
        lambda case: case.hybrid and case.told("dtype") in ("float16", "half"),
        "float16 overflows in the recurrent layers, and the answers are noise",
        "set dtype to bfloat16",
        acceptable=False,
    ),
    Rule(
        "ray-executor",
        lambda case: case.told("distributed-executor-backend") == "ray",
        "the image has no Ray since 0.18, and nnodes does not go with it",
        "set distributed-executor-backend to mp",
        acceptable=False,
    ),
    Rule(
        "encoder-without-vision",
        lambda case: case.serving.stated("language-model-only") and case.told("mm-encoder-tp-mode") == "data",
        "language-model-only and mm-encoder-tp-mode data exclude each other",
        "leave one of the two out",
        acceptable=False,
    ),
    Rule(
        "fp8-kv-cache",
        lambda case: case.below(8, 9) and case.told("kv-cache-dtype").startswith("fp8"),
        "a KV cache in FP8 needs compute capability 8.9, this GPU has {have}",
        "set kv-cache-dtype to auto",
        acceptable=False,
    ),
    Rule(
        "flash-attention-3",
        _third_attention,
        "FlashAttention 3 needs compute capability 9.0, this GPU has {have}",
        "leave the version out, FlashAttention 2 is chosen by itself",
        acceptable=False,
    ),
    Rule(
        "sparse-attention",
        lambda case: case.sparse and case.below(9),
        "the model attends through a sparse index (sparse MLA or the like), and its kernels need compute capability"
        " 9.0, this GPU has {have}",
        "choose a model with dense attention",
        acceptable=False,
    ),
    Rule(
        "fp8-weights",
        lambda case: case.below(8, 9) and case.scheme == "fp8",
        "FP8 compute needs compute capability 8.9, this GPU has {have}; the engine would fall back to weight-only"
        " kernels, which nobody has measured here",
        "choose a bf16 or int4 checkpoint",
    ),
    Rule(
        "nvfp4-weights",
        lambda case: case.below(10) and case.scheme == "nvfp4",
        "NVFP4 compute needs compute capability 10.0, this GPU has {have}; the engine would fall back to weight-only"
        " kernels, which nobody has measured here",
        "choose a bf16 or int4 checkpoint",
    ),
)
NAMES = tuple(rule.name for rule in RULES)
