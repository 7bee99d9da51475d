"""The surface that the published figures of the 397B imply: what any variant gives at any N and number of seats.

Between the two printed points throughput follows a power of N; beyond the best one it stays flat. Who finds no seat
waits for one. D breaks down at N = 64, as it did there.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any

from ansible.module_utils.apollo.tune import Observation

from tests.support.published_run import PUBLISHED

ROWS = {row["variant"]: row for row in PUBLISHED["results_397b"]}
LENGTH = 1024
P95 = 1.5  # a percentile was not printed: taken as that much above the mean


def observe(setting: Mapping[str, Any], n: int, noise: float = 0.0) -> Observation:
    row = ROWS[setting["variant"]]
    if row.get("crashed_at_n") and n >= row["crashed_at_n"]:
        return Observation(setting, n, crashed=True)
    batch = min(n, setting.get("max-num-seqs", 128))
    tok_s = throughput(row, batch) * (1 + noise)
    served_s = batch * LENGTH / tok_s
    waiting_ms = 1000 * served_s * (n - batch) / batch
    first_ms = 1000 * _between(row, batch, row["single_ttft_s"], row["best_ttft_s"])
    return Observation(setting, n, tok_s, P95 * (first_ms + waiting_ms), tok_s / n)


def throughput(row: Mapping[str, Any], n: int) -> float:
    return _between(row, n, row["single_tok_s"], row["best_tok_s"])


def _between(row: Mapping[str, Any], n: int, single: float, best: float) -> float:
    """A power of N through both printed points, flat beyond the best one."""
    share = min(1.0, log(n) / log(row["best_n"]))
    return float(single * (best / single) ** share)
