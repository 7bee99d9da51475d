"""The published figures as a run: what the journal would hold had that machine been measured with this toolkit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.apollo.bench_rows import Sweep, read_rows
from ansible.module_utils.apollo.judge import Verdict, judge
from ansible.module_utils.apollo.judge_facts import read_facts
from ansible.module_utils.apollo.judge_limits import Limit, read_limits

from tests.support import bench_samples as samples

REFERENCE = Path(__file__).resolve().parents[2] / "reference"
PUBLISHED = yaml.safe_load((REFERENCE / "published.yml").read_text())
FILES = ("limits-published.yml", "limits-published-energy.yml", "limits-published-machine.yml")
SETTINGS = {**samples.SETTINGS, "dataset": "random", "input_tokens": 2048, "output_tokens": 1024}
ENERGY_N = 32
ENERGY = {
    **{"power_idle_w": 320, "power_mean_w": 1231, "power_peak_w": 1605, "temperature_max_c": 77},
    **{"energy_gross_j": 128160, "energy_net_j": 94880, "wh_per_1k_tokens_gross": 0.27, "wh_per_1k_tokens_net": 0.201},
    **{"tokens_per_kwh_gross": 3.7e6, "tokens_per_kwh_net": 4.97e6},
    **{"joules_per_token_gross": 0.978, "joules_per_token_net": 0.724},
}
FACTS = (
    {"metric": "ib_bandwidth_gbps", "value": 92, "subject": "node1 to node2"},
    {"metric": "allreduce_busbw_gbytes_s", "value": 15.3, "subject": "node1 and node2"},
    {"metric": "allreduce_algbw_gbytes_s", "value": 8.74, "subject": "node1 and node2"},
    {"metric": "start_s", "value": 240, "subject": "vllm-27b-0", "plan": "27b"},
    {"metric": "start_s", "value": 240, "subject": "vllm-27b-1", "plan": "27b"},
    {"metric": "start_s", "value": 900, "subject": "vllm-397b-0", "plan": "397b"},
)

Row = tuple[int, float, float]  # N, tok/s of one endpoint, mean TTFT in seconds


def plan_of(variant: str) -> str:
    return "397b" if variant == "c" else f"397b-{variant}"


def dense() -> list[Row]:
    return [(row["n"], row["node_tok_s"], row["ttft_s"]) for row in PUBLISHED["results_27b"]]


def sparse(row: dict[str, Any]) -> list[Row]:
    single = (1, row["single_tok_s"], row["single_ttft_s"])
    return [single, (row["best_n"], row["best_tok_s"], row["best_ttft_s"])]


def swept(plan: str, variant: str, endpoints: int, rows: list[Row], **settings: Any) -> dict[str, Any]:
    concurrency = [n for n, _, _ in rows]
    made = {**SETTINGS, "concurrency": concurrency, **settings}
    return samples.sweep(made, plan=plan, variant=variant, endpoints=endpoints)


def events(about: dict[str, Any], rows: list[Row], energy: bool = False) -> list[dict[str, Any]]:
    """Runs with exactly these figures; the latency follows from them by Little's law."""
    told = {n: (tok_s, ttft) for n, tok_s, ttft in rows}
    names = [endpoint["name"] for endpoint in about["layout"]["endpoints"]]
    return [
        run_at(point, name, *told[point["concurrency"]], energy and point["concurrency"] == ENERGY_N)
        for point in about["points"]
        for name in names
    ]


def whole() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Manifest and journal with both plans, all variants, energy, fabric and start times."""
    told = [("27b", "27b-base", 2, dense())]
    told += [(plan_of(row["variant"]), f"397b-{row['variant']}", 1, sparse(row)) for row in PUBLISHED["results_397b"]]
    abouts = [swept(*placed) for placed in told]
    runs = [run for about, placed in zip(abouts, told, strict=True) for run in events(about, placed[3], placed[2] > 1)]
    plans = [about["layout"]["plan"] for about in abouts if about["layout"]["plan"].startswith("397b-")]
    starts = [{"metric": "start_s", "value": 900, "subject": f"vllm-{plan}-0", "plan": plan} for plan in plans]
    facts = [{"event": "fact", **fact} for fact in (*FACTS, *starts)]
    return samples.manifest(*abouts), [*runs, *facts]


def limits(*names: str) -> list[Limit]:
    return [
        limit for name in names or FILES for limit in read_limits(yaml.safe_load((REFERENCE / name).read_text()), name)
    ]


def replay(plan: str, variant: str, endpoints: int, rows: list[Row]) -> list[Sweep]:
    about = swept(plan, variant, endpoints, rows)
    return read_rows(samples.manifest(about), events(about, rows))


def judge_events(manifest: dict[str, Any], journal: list[dict[str, Any]], *names: str) -> Verdict:
    return judge(read_rows(manifest, journal), limits(*names), read_facts(journal))


def run_at(point: dict[str, Any], name: str, tok_s: float, ttft: float, energy: bool = False) -> dict[str, Any]:
    n, prompts = point["concurrency"], point["prompts"]
    gap = (n * 1024 / tok_s - ttft) / 1023
    told = {**samples.result(n, prompts, 1024, ttft, gap), "total_input_tokens": 2048 * prompts}
    record = samples.run(point, name, **{**told, "itls": [[1023 * gap]] * prompts})
    if energy:
        record["figures"] |= ENERGY
    return record


def write(folder: Path) -> None:
    """The run as it would lie among the results."""
    manifest, journal = whole()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (folder / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in journal), encoding="utf-8")
