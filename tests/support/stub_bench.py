"""What role bench would leave behind, had it measured the machine of the published figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import ansible.module_utils

ansible.module_utils.__path__.append(str(Path(__file__).resolve().parents[2] / "module_utils"))

from ansible.module_utils.apollo import bench_points, journal  # noqa: E402 - needs the line above
from ansible.module_utils.apollo.arguments import render  # noqa: E402 - needs the line above

from tests.support import bench_samples as samples  # noqa: E402 - needs the line above
from tests.support import published_run  # noqa: E402 - needs the line above
from tests.support.published_surface import observe  # noqa: E402 - needs the line above


def measure(folder: Path, layout: dict[str, Any], concurrency: list[int]) -> int:
    """Add these points of a plan to a run; 1 where a point does not count, as the role fails then."""
    plan = layout["plan"]
    dense = plan.startswith("27b")
    variant = f"{plan}-base" if plan == "27b" else "397b-c" if plan == "397b" else plan
    rows = [(n, 0.0, 0.0) for n in concurrency]
    about = published_run.swept(plan, variant, 2 if dense else 1, rows)
    for engine in about["layout"]["engines"]:
        engine["arguments"] += render(layout["arguments"])
    about |= {"id": bench_points.sweep_id(about), "points": bench_points.plan_points(about)}
    lines = [line for point in about["points"] for line in runs(about, point, variant, layout["arguments"])]
    keep(folder, about, lines)
    return int(any(line["status"] != "valid" for line in lines))


def runs(about: dict[str, Any], point: dict[str, Any], variant: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    names = [endpoint["name"] for endpoint in about["layout"]["endpoints"]]
    n = point["concurrency"]
    if len(names) > 1:
        [(tok_s, ttft)] = [(speed, first) for at, speed, first in published_run.dense() if at == n]
        return [published_run.run_at(point, name, tok_s, ttft, n == published_run.ENERGY_N) for name in names]
    seen = observe({"variant": variant.removeprefix("397b-"), **arguments}, n)
    if seen.crashed or seen.tok_s is None or seen.ttft_p95_ms is None:
        failed = {"status": "failed", "reasons": ["server_died"], "figures": {}, "checks": [], "attempt": 1}
        return [{"event": "run", "hash": point["hash"], "endpoint": names[0], **failed}]
    record = published_run.run_at(point, names[0], seen.tok_s, min(seen.ttft_p95_ms / 1500, n * 900 / seen.tok_s))
    record["figures"]["ttft_p95_ms"] = seen.ttft_p95_ms
    return [record]


def keep(folder: Path, about: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "manifest.json"
    known = json.loads(path.read_text()) if path.exists() else samples.manifest()
    path.write_text(json.dumps(journal.merge_sweep(known, about)))
    with (folder / "journal.jsonl").open("a") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    sys.exit(measure(Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])))
