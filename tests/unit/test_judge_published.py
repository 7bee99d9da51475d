"""The published figures, fed in as runs, hold their own limits; change one, and a limit breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.apollo.bench_rows import Sweep, read_rows
from ansible.module_utils.apollo.judge import Verdict, judge
from ansible.module_utils.apollo.judge_limits import read_limits

from tests.support import bench_samples as samples

REFERENCE = Path(__file__).resolve().parents[2] / "reference"
PUBLISHED = yaml.safe_load((REFERENCE / "published.yml").read_text())
LENGTHS = {**samples.SETTINGS, "input_tokens": 64, "output_tokens": 1024}

Row = tuple[int, float, float]  # N, tok/s of one endpoint, mean TTFT in seconds


def replay(plan: str, variant: str, endpoints: int, rows: list[Row]) -> list[Sweep]:
    """Runs with exactly these figures; the latency follows from them by Little's law."""
    settings = {**LENGTHS, "concurrency": [n for n, _, _ in rows]}
    swept = samples.sweep(settings, plan=plan, variant=variant, endpoints=endpoints)
    told = {n: (tok_s, ttft) for n, tok_s, ttft in rows}
    events = []
    for point in swept["points"]:
        n = point["concurrency"]
        tok_s, ttft = told[n]
        gap = (n * 1024 / tok_s - ttft) / 1023
        figures = samples.result(n, point["prompts"], 1024, ttft, gap)
        figures["itls"] = [[1023 * gap]] * point["prompts"]
        events += [samples.run(point, f"vllm-{plan}-{index}", **figures) for index in range(endpoints)]
    return read_rows(samples.manifest(swept), events)


def judge_published(sweeps: list[Sweep]) -> Verdict:
    data = yaml.safe_load((REFERENCE / "limits-published.yml").read_text())
    return judge(sweeps, read_limits(data, "limits-published.yml"))


def dense() -> list[Row]:
    return [(row["n"], row["node_tok_s"], row["ttft_s"]) for row in PUBLISHED["results_27b"]]


def sparse(row: dict[str, Any]) -> list[Row]:
    single = (1, row["single_tok_s"], row["single_ttft_s"])
    return [single, (row["best_n"], row["best_tok_s"], row["best_ttft_s"])]


def test_the_27b_table_holds_its_own_limits() -> None:
    verdict = judge_published(replay("27b", "27b-base", 2, dense()))
    assert (verdict.overall, verdict.counts["pass"]) == ("pass", 5 * (2 + 2 + 1))


@pytest.mark.parametrize("row", PUBLISHED["results_397b"], ids=lambda row: row["variant"])
def test_each_397b_variant_holds_its_own_limits(row: dict[str, Any]) -> None:
    plan = "397b" if row["variant"] == "c" else f"397b-{row['variant']}"
    verdict = judge_published(replay(plan, f"397b-{row['variant']}", 1, sparse(row)))
    assert (verdict.overall, verdict.counts["pass"]) == ("pass", 4)


@pytest.mark.parametrize("changed", range(5))
@pytest.mark.parametrize(("tok_s", "ttft"), [(0.85, 1.0), (1.0, 1.5)], ids=["slower", "later"])
def test_one_changed_row_breaks_a_limit(changed: int, tok_s: float, ttft: float) -> None:
    rows = dense()
    n, speed, first = rows[changed]
    rows[changed] = (n, speed * tok_s, first * ttft)
    verdict = judge_published(replay("27b", "27b-base", 2, rows))
    assert verdict.overall == "fail"
    assert {finding.n for finding in verdict.findings if finding.verdict == "fail"} == {n}


def test_a_row_that_is_left_out_is_missing() -> None:
    verdict = judge_published(replay("27b", "27b-base", 2, dense()[:-1]))
    assert verdict.counts["missing"] == 3
    assert verdict.overall == "fail"


def test_another_variant_is_not_held_against_these_limits() -> None:
    verdict = judge_published(replay("397b", "397b-a", 1, sparse(PUBLISHED["results_397b"][4])))
    assert verdict.findings == []
