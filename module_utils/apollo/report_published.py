"""How many people the published figures would serve, by the arithmetic that a run of ours goes through: derived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo.capacity import People, Prices, Supply, capacity
from ansible.module_utils.apollo.service_level import Load

NODES = 2


def supplies(published: Mapping[str, Any]) -> list[Supply]:
    """Both nodes with the 27B, and the recommended variant of the 397B."""
    tokens = int(published["method"]["output_tokens"])
    dense = [_load(row["n"], row["node_tok_s"], row["ttft_s"], tokens) for row in published["results_27b"]]
    chosen = next(row for row in published["results_397b"] if row["variant"] == published["recommended_397b"])
    sparse = [
        _load(1, chosen["single_tok_s"], chosen["single_ttft_s"], tokens),
        _load(chosen["best_n"], chosen["best_tok_s"], chosen["best_ttft_s"], tokens),
    ]
    return [Supply("27b on both nodes", NODES, dense), Supply(f"397b, variant {chosen['variant']}", 1, sparse)]


def rows(published: Mapping[str, Any], people: People, prices: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Plan, people, answers at once, speed of one user, hardware cost of a million tokens."""
    per_node = prices.get("hardware_per_node_month")
    paid = Prices(
        hardware_per_month=None if per_node is None else NODES * per_node, utilisation=prices.get("utilisation") or 1.0
    )
    return [_row(supply, people, paid) for supply in supplies(published)]


def _row(supply: Supply, people: People, prices: Prices) -> Sequence[Any]:
    told = capacity(supply, people, prices)
    count = f"at least {told.people}" if told.open_ended else str(told.people)
    cost = None if told.hardware_per_million is None else f"{told.hardware_per_million:.2f}"
    speed = None if told.speed_tok_s is None else f"{told.speed_tok_s:.1f}"
    return [supply.plan, count, told.seats, speed, cost]


def _load(n: int, tok_s: float, ttft_s: float, tokens: int) -> Load:
    """A printed point; the time per token that was not printed follows from it by Little's law."""
    return Load(n, tok_s, 1000 * ttft_s, None, 1000 * (n * tokens / tok_s - ttft_s) / (tokens - 1))
