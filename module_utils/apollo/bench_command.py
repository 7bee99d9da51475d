"""The command that runs the client: the serving image's own `vllm bench serve`, in a container on the node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible.module_utils.apollo.bench_figures import Point
from ansible.module_utils.apollo.bench_terms import PERCENTILES

RESULT_FILE = "result.json"
STAMPS_FILE = "stamps.json"
LOG_FILE = "client.log"
KILL_AFTER_S = 20


@dataclass(frozen=True)
class Barrier:
    """Where all clients of a point meet before they start; world counts them."""

    address: str
    port: int
    index: int
    world: int
    timeout_s: int


@dataclass(frozen=True)
class Container:
    """How the client's container is started on this node: with the volumes of the engine's own."""

    name: str
    engine: str
    image: str
    client_path: str
    work_path: str
    volumes: Sequence[str]
    environment: Mapping[str, str]


def client_arguments(endpoint: Mapping[str, Any], point: Point, work_path: str) -> list[str]:
    """What `vllm bench serve` gets: every setting that matters is stated, also where it is today's default."""
    stated: dict[str, object] = {
        "backend": "openai",
        "base-url": endpoint["url"],
        "endpoint": "/v1/completions",
        "model": endpoint["served_name"],
        "served-model-name": endpoint["served_name"],
        "tokenizer": endpoint["model_path"],
        **_load(point),
        "percentile-metrics": "ttft,tpot,itl,e2el",
        "metric-percentiles": ",".join(map(str, PERCENTILES)),
        "result-dir": work_path,
        "result-filename": RESULT_FILE,
    }
    flags = ("--ignore-eos", "--disable-tqdm", "--save-result", "--save-detailed")
    return [*(f"--{name}={value}" for name, value in stated.items()), *flags]


def _load(point: Point) -> dict[str, object]:
    """Random prompts of one length in a closed loop, answered greedily."""
    return {
        "dataset-name": "random",
        "random-input-len": point.input_tokens,
        "random-output-len": point.output_tokens,
        "random-range-ratio": 0,
        "random-prefix-len": 0,
        "num-prompts": point.prompts,
        "max-concurrency": point.concurrency,
        "request-rate": "inf",
        "num-warmups": 0,  # bench_client.py warms up with prompts of its own
        "seed": point.seed,
        "temperature": 0,
    }


def own_arguments(point: Point, barrier: Barrier, work_path: str) -> list[str]:
    """What bench_client.py itself gets."""
    return [
        f"--stamps={work_path}/{STAMPS_FILE}",
        f"--warmups={point.warmups}",
        f"--barrier={barrier.address}:{barrier.port}",
        f"--index={barrier.index}",
        f"--world={barrier.world}",
        f"--barrier-timeout={barrier.timeout_s}",
    ]


def container_command(container: Container, arguments: Sequence[str], timeout_s: int) -> list[str]:
    """The whole command: `timeout` ends it politely first, so that the container ends too."""
    volumes = [
        f"{container.client_path}:{container.client_path}:ro",
        f"{container.work_path}:{container.work_path}",
        *container.volumes,
    ]
    return [
        *("timeout", f"--kill-after={KILL_AFTER_S}", str(timeout_s)),
        *("docker", "run", "--rm", "--init", "--network=host", f"--name={container.name}"),
        f"--volumes-from={container.engine}",
        *(f"--volume={volume}" for volume in volumes),
        *(f"--env={name}={value}" for name, value in sorted(container.environment.items())),
        *("--entrypoint=python3", container.image, container.client_path, *arguments),
    ]
