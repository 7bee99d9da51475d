"""Whether an engine fits its GPUs, with the numbers, or why not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible.module_utils.apollo import engine_memory
from ansible.module_utils.apollo.conflicts import Case, conflicts
from ansible.module_utils.apollo.engine_memory import GIB, Needs
from ansible.module_utils.apollo.hardware import Gpu, gpu_kind
from ansible.module_utils.apollo.model_shape import Shape, read_shape
from ansible.module_utils.apollo.serving import Serving
from ansible.module_utils.apollo.shape_split import split_reasons

TYPICAL_TOKENS = 3072  # the published test: 2048 in, 1024 out


@dataclass(frozen=True)
class Fit:
    """What fits on each GPU of an engine. Nothing that could not be computed is given as a number."""

    reasons: tuple[str, ...]
    context_tokens: int
    usable_gib: float | None = None
    weights_gib: float | None = None
    draft_gib: float | None = None
    engine_gib: float | None = None
    cache_gib: float | None = None
    state_mib_per_sequence: float | None = None
    cache_kib_per_token: float | None = None
    sequences_at_context: int | None = None
    sequences_at_typical: int | None = None
    max_num_seqs: int | None = None
    max_cudagraph_capture_size: int | None = None

    @property
    def fits(self) -> bool:
        return not self.reasons

    def as_dict(self) -> dict[str, Any]:
        return {"fits": self.fits, **asdict(self), "reasons": list(self.reasons)}


@dataclass(frozen=True)
class Wanted:
    """One engine that wants to start: what it is told, and what its variant accepts."""

    serving: Serving
    accepted: Collection[str] = ()
    stored_bytes: int | None = None


def fit_report(
    config: Mapping[str, Any], gpu: str, settings: Mapping[str, Any], accepts: Collection[str] = ()
) -> dict[str, Any]:
    """Judge settings by a model's config.json and a GPU's name, ready for JSON: for a search that rules out candidates.

    Raises ValueError for an unknown GPU, a config.json that says too little, or a setting that is no number.
    """
    return fit(read_shape(config), Wanted(Serving(settings), accepts), gpu_kind(gpu)).as_dict()


def fit(shape: Shape, wanted: Wanted, gpu: Gpu) -> Fit:
    """Judge one engine of a model on one kind of GPU."""
    serving = wanted.serving
    context = _context(shape, serving)
    reasons = conflicts(Case(serving, shape, gpu.capability), wanted.accepted)
    if context > shape.context:
        reasons.append(
            f"context: max-model-len is {context}, the model's context is {shape.context} tokens: lower max-model-len"
        )
    split = split_reasons(shape, serving)
    if split:
        return Fit(tuple(reasons + split), context)
    needs = engine_memory.needs(shape, serving, wanted.stored_bytes)
    usable = engine_memory.usable(gpu.memory_mib, serving.memory_share)
    left = usable - needs.weights - needs.draft - needs.engine
    reasons += _memory(needs, usable, left, gpu) or _batch(needs, left, serving) + _length(needs, left, context)
    return _table(reasons, needs, usable, left, serving, context)


def _context(shape: Shape, serving: Serving) -> int:
    told = serving.settings.get("max-model-len")
    try:
        return shape.context if told is None else int(told)
    except ValueError:
        raise ValueError(f"max-model-len is '{told}', a number wanted: write it out in digits") from None


def _memory(needs: Needs, usable: float, left: float, gpu: Gpu) -> list[str]:
    if left > 0:
        return []
    return [
        f"memory: weights take {_gib(needs.weights + needs.draft)} GiB of each GPU and the engine itself about"
        f" {_gib(needs.engine)} GiB, {_gib(usable)} GiB of a {gpu.name} may be used: spread the model over more GPUs"
        " or take a smaller or more quantized one"
    ]


def _batch(needs: Needs, left: float, serving: Serving) -> list[str]:
    """Recurrent state is kept for every sequence at once, so too large a batch cannot even start."""
    most = _count(left, needs.sequence(1))
    capture = most * (1 + serving.speculative_tokens)
    if most < serving.sequences:
        wanted = needs.sequence(1) * serving.sequences
        return [
            f"batch: max-num-seqs {serving.sequences} with {serving.speculative_tokens} speculative tokens needs"
            f" {_gib(wanted)} GiB of state and first pages on each GPU, {_gib(left)} GiB are left beside weights and"
            f" CUDA graphs: set max-num-seqs to at most {most} and max-cudagraph-capture-size to at most {capture}"
        ]
    if serving.capture > capture:
        return [
            f"graphs: CUDA graphs are captured for {serving.capture} tokens, the cache holds state for {capture}: set"
            f" max-cudagraph-capture-size to at most {capture}"
        ]
    return []


def _length(needs: Needs, left: float, context: int) -> list[str]:
    if needs.sequence(context) <= left:
        return []
    pages = int((left - needs.state_per_sequence) / needs.cache_per_token / needs.page_tokens)
    return [
        f"cache: one sequence of {context} tokens needs {_gib(needs.sequence(context))} GiB on each GPU,"
        f" {_gib(left)} GiB are left: set max-model-len to at most {max(0, pages * needs.page_tokens)}"
    ]


def _table(reasons: list[str], needs: Needs, usable: float, left: float, serving: Serving, context: int) -> Fit:
    most = _count(left, needs.sequence(1))
    return Fit(
        reasons=tuple(reasons),
        context_tokens=context,
        usable_gib=_gib(usable),
        weights_gib=_gib(needs.weights),
        draft_gib=_gib(needs.draft),
        engine_gib=_gib(needs.engine),
        cache_gib=_gib(left),
        state_mib_per_sequence=round(needs.state_per_sequence / engine_memory.MIB, 1),
        cache_kib_per_token=round(needs.cache_per_token / 1024, 2),
        sequences_at_context=_count(left, needs.sequence(context)),
        sequences_at_typical=_count(left, needs.sequence(min(TYPICAL_TOKENS, context))),
        max_num_seqs=most,
        max_cudagraph_capture_size=most * (1 + serving.speculative_tokens),
    )


def _count(left: float, each: float) -> int:
    return max(0, int(left // each))


def _gib(size: float) -> float:
    return round(size / GIB, 2)
