"""Benchmark runs for tests: built from the smallest set of facts, so that a test changes just one of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import bench_points
from ansible.module_utils.apollo.bench_figures import Point
from ansible.module_utils.apollo.bench_run import evaluate

DATA = Path(__file__).resolve().parents[1] / "data" / "bench"
SETTINGS = {
    "concurrency": [1, 8],
    "prompts_per_slot": 10,
    "input_tokens": 64,
    "output_tokens": 32,
    "seed": 0,
    "restart": True,
}


def text(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def point(concurrency: int = 1, prompts: int = 10, output_tokens: int = 32) -> Point:
    return Point(concurrency, prompts, 64, output_tokens, concurrency, seed=1)


def result(n: int = 8, prompts: int = 80, tokens: int = 32, ttft: float = 0.1, gap: float = 0.01) -> dict[str, Any]:
    """A closed loop of n users without a pause: every figure follows from these few numbers."""
    latency = ttft + gap * (tokens - 1)
    duration = latency * prompts / n
    times = {"ttft": ttft, "tpot": gap, "itl": gap, "e2el": latency}
    stated = {f"{which}_{name}_ms": 1000 * value for name, value in times.items() for which in ("mean", "p50", "p95")}
    return {
        **{"num_prompts": prompts, "completed": prompts, "failed": 0, "duration": duration},
        **{"total_input_tokens": 64 * prompts, "total_output_tokens": tokens * prompts, **stated},
        "output_lens": [tokens] * prompts,
        "ttfts": [ttft] * prompts,
        "itls": [[gap] * (tokens - 1)] * prompts,
        "latencies": [latency] * prompts,
        "start_times": [100 + latency * (number // n) for number in range(prompts)],
        "errors": [""] * prompts,
    }


def counters(tokens: int, requests: int, started: float = 5.0, hits: int = 0, queries: int = 0) -> str:
    return "\n".join(
        (
            f"process_start_time_seconds {started}",
            f'vllm:generation_tokens_total{{engine="0"}} {tokens}.0',
            f'vllm:request_success_total{{engine="0",finished_reason="length"}} {requests}.0',
            'vllm:request_success_total{engine="0",finished_reason="stop"} 0.0',
            f'vllm:prefix_cache_queries_total{{engine="0"}} {queries}.0',
            f'vllm:prefix_cache_hits_total{{engine="0"}} {hits}.0',
        )
    )


def stamps(tokens: int, requests: int, offset_s: float = 1000.0) -> dict[str, Any]:
    """Both ends of a run; the server had counted something before."""
    return {
        "before": {"unix_s": offset_s, "monotonic_s": 99.9, "cpu_s": 1.0, "counters": counters(7, 1)},
        "after": {
            **{"unix_s": offset_s + 60, "monotonic_s": 159.9, "cpu_s": 2.0},
            "counters": counters(7 + tokens, 1 + requests),
        },
    }


def layout(plan: str = "27b", variant: str = "27b-base", endpoints: int = 2) -> dict[str, Any]:
    common = {"model": "qwen3.6-27b", "served_name": "qwen3.6-27b", "variant": variant}
    engines = [
        {
            **common,
            **{"name": f"vllm-{plan}-{index}", "node": f"node{index + 1}", "rank": 0, "ranks": 1, "gpus": [0, 1]},
            "arguments": ["/models/Qwen3.6-27B", "--host", "10.77.0.1", "--port", 8000],
            "environment": {"OMP_NUM_THREADS": "1"},
        }
        for index in range(endpoints)
    ]
    return {
        "plan": plan,
        "engines": engines,
        "endpoints": [{key: engine[key] for key in ("name", "node", "model", "variant")} for engine in engines],
        "models": [{"name": "qwen3.6-27b", "revision": None}],
    }


def sweep(settings: dict[str, Any] | None = None, **placed: Any) -> dict[str, Any]:
    """A sweep as the manifest holds it."""
    about = {
        "layout": layout(**placed),
        "settings": settings or SETTINGS,
        "image": "sha256:0123 vllm/vllm-openai:v0.32.0",
        "client": "c0ffee",
        "hardware": {"node1": {"gpus": "4 x A", "driver": "580"}, "node2": {"gpus": "4 x A", "driver": "580"}},
    }
    return {**about, "id": bench_points.sweep_id(about), "points": bench_points.plan_points(about)}


def manifest(*sweeps: dict[str, Any], kind: str = "hardware") -> dict[str, Any]:
    return {"run_id": "run-1", "site_kind": kind, "site_name": "a site", "opened_s": 1.8e9, "sweeps": list(sweeps)}


def run(planned: dict[str, Any], endpoint: str, **changed: Any) -> dict[str, Any]:
    """A valid record of one endpoint at one planned point; what is changed is changed in the client's result."""
    n, prompts = planned["concurrency"], planned["prompts"]
    attempt = changed.pop("attempt", 1)
    told = {**result(n, prompts, planned["output_tokens"]), **changed}
    asked = Point(n, prompts, planned["input_tokens"], planned["output_tokens"], n, 1)
    outcome = evaluate(json.dumps(told), stamps(prompts * planned["output_tokens"], prompts), asked)
    about = {"event": "run", "hash": planned["hash"], "endpoint": endpoint, "node": "node1", "attempt": attempt}
    return {**about, "versions": {"server": "0.32.0", "client": "0.32.0"}, **outcome.as_dict()}


def runs(swept: dict[str, Any], **changed: Any) -> list[dict[str, Any]]:
    """One valid attempt at every point of a sweep, by every endpoint."""
    names = [endpoint["name"] for endpoint in swept["layout"]["endpoints"]]
    return [run(planned, name, **changed) for planned in swept["points"] for name in names]
