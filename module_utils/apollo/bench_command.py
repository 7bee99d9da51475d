"""The client's command lines: the serving image's own `vllm bench serve`, kept running in a container on the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ansible.module_utils.apollo.bench_figures import Point
from ansible.module_utils.apollo.bench_terms import PERCENTILES

RESULT_FILE, STAMPS_FILE, LOG_FILE = "result.json", "stamps.json", "client.log"
CONTAINER = "apollo-bench-client"
CLIENT, WATCH, TEXT = "bench_client.py", "bench_watch.py", "bench_text.jsonl"
ATTEMPT_SEED_STEP = 7919


@dataclass(frozen=True)
class Barrier:
    """Where all clients of a point meet before they start; world counts them."""

    address: str
    port: int
    index: int
    world: int
    timeout_s: int


@dataclass(frozen=True)
class Watched:
    """How closely the server is watched during a load, and after how much silence it counts as frozen."""

    watch_s: float
    stall_s: float


@dataclass(frozen=True)
class Container:
    """How the client's container is started on this node: with the volumes of its engines' own."""

    engines: Sequence[str]
    image: str
    program_path: str
    spool: str
    tokenizers: Sequence[str]
    volumes: Sequence[str]
    environment: Mapping[str, str]


def client_arguments(endpoint: Mapping[str, Any], point: Point, spool: str, attempt: int = 1) -> list[str]:
    """What `vllm bench serve` gets: every setting that matters is stated, also where it is today's default."""
    stated: dict[str, object] = {
        "backend": "openai",
        "base-url": endpoint["url"],
        "endpoint": "/v1/completions",
        "model": endpoint["served_name"],
        "served-model-name": endpoint["served_name"],
        "tokenizer": endpoint["model_path"],
        **_prompts(point),
        **_load(point, attempt),
        "percentile-metrics": "ttft,tpot,itl,e2el",
        "metric-percentiles": ",".join(map(str, PERCENTILES)),
        "result-dir": f"{spool}/{endpoint['name']}",
        "result-filename": RESULT_FILE,
    }
    flags = ["--disable-tqdm", "--save-result", "--save-detailed"]
    if not point.is_text:
        flags.append("--ignore-eos")
    return [*(f"--{name}={value}" for name, value in stated.items()), *flags]


def _prompts(point: Point) -> dict[str, object]:
    """Random tokens of one length, or text whose answers end where the model ends them."""
    if point.is_text:
        return {
            "dataset-name": "custom",
            "dataset-path": TEXT,  # beside bench_client.py
            "custom-output-len": point.output_tokens,
        }
    return {
        "dataset-name": "random",
        "random-input-len": point.input_tokens,
        "random-output-len": point.output_tokens,
        "random-range-ratio": 0,
        "random-prefix-len": 0,
    }


def _load(point: Point, attempt: int) -> dict[str, object]:
    """A closed loop, answered greedily. Each attempt has prompts of its own, so that none is in a cache already."""
    return {
        "num-prompts": point.prompts,
        "max-concurrency": point.concurrency,
        "request-rate": "inf",
        "num-warmups": 0,  # bench_client.py warms up with prompts of its own
        "seed": point.seed + ATTEMPT_SEED_STEP * (attempt - 1),
        "temperature": 0,
    }


def task(
    endpoint: Mapping[str, Any], point: Point, attempt: int, barrier: Barrier, watched: Watched, spool: str
) -> dict[str, Any]:
    """A job for the resident client."""
    return {
        "arguments": client_arguments(endpoint, point, spool, attempt),
        "base_url": endpoint["url"],
        "dataset": point.dataset,
        "input_tokens": point.input_tokens,
        "prompts": point.prompts,
        "concurrency": point.concurrency,
        "warmups": point.warmups,
        "barrier": asdict(barrier),
        **asdict(watched),
    }


def tasks(
    endpoints: Sequence[Mapping[str, Any]], load: Mapping[str, Any], point: Point, spool: str
) -> dict[str, dict[str, Any]]:
    """The jobs of one node at one point; load says which attempt it is, where clients meet, how closely is watched."""
    met, found = load["barrier"], {}
    watched = Watched(load["watch_s"], load["stall_s"])
    for endpoint in endpoints:
        place = met["names"].index(endpoint["name"]), len(met["names"])
        barrier = Barrier(met["address"], met["port"], *place, met["timeout_s"])
        found[endpoint["name"]] = task(endpoint, point, load["attempt"], barrier, watched, spool)
    return found


def container_command(container: Container) -> list[str]:
    """Start the resident client. What it needs of the engine's image and volumes is the engine's."""
    volumes = [
        f"{container.program_path}:{container.program_path}:ro",
        f"{container.spool}:{container.spool}",
        *container.volumes,
    ]
    own = [f"--spool={container.spool}", f"--watch={container.program_path}/{WATCH}"]
    own += [f"--tokenizer={path}" for path in dict.fromkeys(container.tokenizers)]
    return [
        *("docker", "run", "--detach", "--init", "--network=host", f"--name={CONTAINER}"),
        *(f"--volumes-from={engine}" for engine in container.engines),
        *(f"--volume={volume}" for volume in volumes),
        *(f"--env={name}={value}" for name, value in sorted(container.environment.items())),
        *("--entrypoint=python3", container.image, f"{container.program_path}/{CLIENT}", *own),
    ]
