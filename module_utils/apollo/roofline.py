"""How near a measured row comes to what memory, arithmetic and network allow.

One decoding step cannot be shorter than the time to read what it needs, nor than the time to compute it, nor than its
collectives. Their sum is the floor here, as kernels of one step follow one another; the share of it that a row reaches
is a smooth curve over the concurrency, so a row that leaves the curve is a measuring error or a finding.
A figure that is not known is null, and what depends on it is null too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ansible.module_utils.apollo.engine_memory import cache_per_token_and_layer, state_bytes
from ansible.module_utils.apollo.hardware import GpuKind, gpu_kind
from ansible.module_utils.apollo.model_shape import Shape, read_shape
from ansible.module_utils.apollo.model_size import active_parameters, parameters, weight_bytes

OFF_THE_CURVE = 0.2  # relative distance from the other rows' line at which a row is flagged
SPAN = 1.3  # the curve itself stays within this factor of its middle
FEWEST_ROWS = 4  # a line through fewer says nothing about one of them
_BYTES = 2


@dataclass(frozen=True)
class Link:
    """The slowest way between the ranks: time of a smallest all-reduce, and bus bandwidth of a large one."""

    latency_us: float
    bus_gb_s: float


@dataclass(frozen=True)
class Run:
    """How the rows were measured."""

    gpu: GpuKind
    ranks: int
    input_tokens: int
    output_tokens: int
    speculative_tokens: int = 0
    link: Link | None = None

    @property
    def mean_context(self) -> float:
        """Tokens that a sequence holds on average while it is answered."""
        return self.input_tokens + self.output_tokens / 2


def roofline_rows(
    config: Mapping[str, Any], run: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Give each row's floors in ms, the shares reached, and its flags, ready for JSON.

    ``config`` is the model's config.json. ``run`` has gpu (name), ranks, input_tokens, output_tokens and, where they
    are known, speculative_tokens and link with latency_us and bus_gb_s; ranks is the tensor parallel size. A row has
    concurrency and output_tok_s of one engine and, where they are known, ttft_ms (mean), tpot_ms (mean) and
    acceptance_length.
    Raises ValueError for an unknown GPU or a config.json that says too little.
    """
    shape, told = read_shape(config), _run(run)
    judged = [_row(shape, told, row) for row in rows]
    for index, flag in enumerate(_off_the_curve(judged)):
        judged[index]["flags"] += [flag] if flag else []
    return judged


def _run(told: Mapping[str, Any]) -> Run:
    link = told.get("link")
    return Run(
        gpu=gpu_kind(str(told["gpu"])),
        ranks=int(told["ranks"]),
        input_tokens=int(told["input_tokens"]),
        output_tokens=int(told["output_tokens"]),
        speculative_tokens=int(told.get("speculative_tokens") or 0),
        link=Link(float(link["latency_us"]), float(link["bus_gb_s"])) if link else None,
    )


def _row(shape: Shape, run: Run, row: Mapping[str, Any]) -> dict[str, Any]:
    concurrency = int(row["concurrency"])
    memory, compute = memory_floor_ms(shape, run, concurrency), compute_floor_ms(shape, run, concurrency)
    collective = collective_floor_ms(shape, run, concurrency)
    floor = memory + compute + (collective or 0.0)
    step = step_ms(run, row)
    shares = {
        "mbu": _share(memory, step),
        "mfu": _mfu(shape, run, row),
        "share": _share(floor, step),
    }
    return {
        "concurrency": concurrency,
        "memory_floor_ms": round(memory, 3),
        "compute_floor_ms": round(compute, 3),
        "collective_floor_ms": None if collective is None else round(collective, 3),
        "floor_ms": round(floor, 3),
        "step_ms": None if step is None else round(step, 3),
        **shares,
        "flags": _impossible(shares),
    }


def memory_floor_ms(shape: Shape, run: Run, concurrency: int) -> float:
    """Time to read, on each GPU, the weights that the step touches, and each sequence's cache and state."""
    size, tokens = weight_bytes(shape), concurrency * (1 + run.speculative_tokens)
    experts = size.experts * experts_read(shape, tokens)
    weights = (size.body - size.experts + experts + size.head) / run.ranks
    cache = run.mean_context * shape.attention.layers * cache_per_token_and_layer(shape, run.ranks)
    state = 2 * shape.recurrent.layers * state_bytes(shape, run.ranks) if shape.hybrid else 0.0
    return (weights + concurrency * (cache + state)) / (run.gpu.memory_gb_s * 1e9) * 1e3


def compute_floor_ms(shape: Shape, run: Run, concurrency: int) -> float:
    """Time to compute one step, and the share of the prompts' work that falls to it."""
    return concurrency * flops_per_token(shape, run) / (run.ranks * run.gpu.bf16_tflops * 1e12) * 1e3


def collective_floor_ms(shape: Shape, run: Run, concurrency: int) -> float | None:
    """Time of the step's all-reduces, two in each layer; null where the link was not measured, 0 for one rank."""
    if run.ranks == 1:
        return 0.0
    if run.link is None:
        return None
    message = concurrency * (1 + run.speculative_tokens) * shape.hidden * _BYTES
    bandwidth = run.link.bus_gb_s * 1e9 * run.ranks / (2 * (run.ranks - 1))
    return 2 * shape.layers * (run.link.latency_us * 1e-6 + message / bandwidth) * 1e3


def experts_read(shape: Shape, tokens: int) -> float:
    """Share of the experts that a batch of tokens touches, if each token chooses at random."""
    experts = shape.experts
    return 1 - (1 - experts.per_token / experts.count) ** tokens if experts.count else 0.0


def flops_per_token(shape: Shape, run: Run) -> float:
    """Work for one token of answer, with its part of the prompt; a guess that is thrown away is work as well."""
    body, head = active_parameters(shape), shape.vocab * shape.hidden
    guesses = 1 + run.speculative_tokens
    return 2 * body * (guesses + run.input_tokens / run.output_tokens) + 2 * head * guesses


def step_ms(run: Run, row: Mapping[str, Any]) -> float | None:
    """Time of one step as measured: the time between tokens, times the tokens that a step gives."""
    accepted = 1.0 if run.speculative_tokens == 0 else row.get("acceptance_length")
    between = row.get("tpot_ms")
    if between is None and row.get("ttft_ms") is not None and row.get("output_tok_s"):
        whole = row["concurrency"] * run.output_tokens / row["output_tok_s"] * 1e3
        between = (whole - row["ttft_ms"]) / (run.output_tokens - 1)
    if accepted is None or between is None or between <= 0:
        return None
    return float(between) * float(accepted)


def _mfu(shape: Shape, run: Run, row: Mapping[str, Any]) -> float | None:
    """Share of the arithmetic that the answers needed; guesses that were thrown away do not count as use."""
    if not row.get("output_tok_s"):
        return None
    body, head = active_parameters(shape), parameters(shape).embedding
    needed = 2 * body * (1 + run.input_tokens / run.output_tokens) + 2 * head
    return round(row["output_tok_s"] * needed / (run.ranks * run.gpu.bf16_tflops * 1e12), 4)


def _share(floor: float, step: float | None) -> float | None:
    return None if step is None else round(floor / step, 4)


def _impossible(shares: Mapping[str, float | None]) -> list[str]:
    return [
        f"{name} is {share:.0%}, more than the hardware can do: look for cache hits or miscounted tokens"
        for name, share in shares.items()
        if share is not None and share > 1
    ]


def _off_the_curve(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Take out the row that lies farthest from the others' curve, as long as one lies too far and enough are left."""
    known = {i: (math.log2(row["concurrency"]), row["share"]) for i, row in enumerate(rows) if row["share"] is not None}
    flags = [""] * len(rows)
    while len({x for x, _ in known.values()}) >= FEWEST_ROWS:
        expected = {i: _expected(list(known.values()), x) for i, (x, _) in known.items()}
        worst = max(known, key=lambda i: abs(known[i][1] / expected[i] - 1))
        share = known.pop(worst)[1]
        if abs(share / expected[worst] - 1) <= OFF_THE_CURVE:
            break
        flags[worst] = (
            f"share is {share:.0%}, the other rows let expect {expected[worst]:.0%}: measure it again, or find out why"
        )
    return flags


def _expected(points: Sequence[tuple[float, float]], x: float) -> float:
    """The line's value, kept near the middle of all: a lone row at the end of a sweep turns the line its own way."""
    middle = median(y for _, y in points)
    return min(max(_line(points, x), middle / SPAN), middle * SPAN)


def _line(points: Sequence[tuple[float, float]], x: float) -> float:
    """The value at x of the line through the points whose slope is the median of all pairs' slopes."""
    pairs = [(a, b) for i, a in enumerate(points) for b in points[i + 1 :] if a[0] != b[0]]
    slope = median((b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs)
    return median(y - slope * px for px, y in points) + slope * x
