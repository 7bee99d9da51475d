"""The real benchmark client of the lab's vLLM, kept resident on this computer, and a stand-in server for it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo.bench_command import client_arguments
from ansible.module_utils.apollo.bench_run import read_point

from tests.support import vllm_tree

PROJECT = Path(__file__).resolve().parents[2]
PROGRAMS = [*(PROJECT / "roles/bench/files").glob("bench_*"), PROJECT / "module_utils/apollo/direct_page.py"]
STUB = PROJECT / "tests" / "support" / "openai_stub.py"
QUIET = {
    **{"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "NO_PROXY": "*"},
    **{"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "TOKENIZERS_PARALLELISM": "false"},
}
START_LIMIT_S = 120


@dataclass
class Stub:
    """A stand-in server in a process of its own."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def other_url(self) -> str:
        """Where another server of the same kind would answer, on the port beside."""
        return f"http://127.0.0.1:{self.port + 1}"

    @property
    def other_command(self) -> list[str]:
        words = ["--host", "127.0.0.1", "--port", str(self.port + 1), "--model", "m", "--token-delay-s", "0.005"]
        return [sys.executable, str(STUB), *words]

    def behave(self, **behaviour: object) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url}/stub", json.dumps(behaviour).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=5) as answer:
            told: dict[str, Any] = json.loads(answer.read())
        return told


@contextmanager
def stub(token_delay_s: float = 0.002, **behaviour: object) -> Iterator[Stub]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(STUB), f"--port={port}", "--model=m", f"--token-delay-s={token_delay_s}"]
    started = Stub(port, subprocess.Popen(command))
    try:
        wait_for(lambda: can_connect(port), 10)
        started.behave(**behaviour)
        yield started
    finally:
        started.process.kill()
        started.process.wait()


def can_connect(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def wait_for(is_so: Any, limit_s: float) -> None:
    gives_up = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > gives_up:
            raise TimeoutError(f"not so after {limit_s} s")
        time.sleep(0.05)


@dataclass
class Resident:
    """The client, and where its jobs go."""

    spool: Path
    model: Path
    tree: Path
    python: str
    process: subprocess.Popen[bytes] = field(repr=False)

    def options(self, stub_url: str, **changed: Any) -> dict[str, Any]:
        """What module vllm_bench needs to measure the stand-in server."""
        endpoint = {"name": "e0", "node": "here", "url": stub_url, "served_name": "m", "model_path": str(self.model)}
        point = {"concurrency": 4, "prompts": 24, "input_tokens": 64, "output_tokens": 16, "warmups": 4, "seed": 1}
        barrier = {"address": "127.0.0.1", "port": 29590, "names": ["e0"], "timeout_s": 10}
        given = {"endpoints": [endpoint], "point": {**point, "hash": "ab"}, "barrier": barrier, "timeout_s": 60}
        return {**given, "work_path": str(self.spool), "watch_s": 0.2, "stall_s": 8, **changed}

    def run_bare(self, url: str, point: dict[str, Any], folder: Path) -> dict[str, Any]:
        """The same with `vllm bench serve` as anybody would call it."""
        (folder / "e0").mkdir(exist_ok=True)
        endpoint = {**self.options(url)["endpoints"][0]}
        arguments = client_arguments(endpoint, read_point(point), str(folder))
        command = [self.python, "-m", "vllm.entrypoints.cli.main", "bench", "serve", *arguments]
        environment = {**os.environ, **QUIET, "PYTHONPATH": str(self.tree)}
        subprocess.run(command, env=environment, check=True, capture_output=True)
        result: dict[str, Any] = json.loads((folder / "e0" / "result.json").read_text())
        return result

    def run_sweep(
        self, server: Stub, points: list[dict[str, Any]], folder: Path
    ) -> tuple[float, list[dict[str, Any]] | None]:
        """The same points with `vllm bench sweep serve`, which starts a server of its own; None where it cannot run."""
        vllm = [self.python, "-m", "vllm.entrypoints.cli.main", "bench"]
        swept = ("--num-prompts", "--max-concurrency", "--result-", "--percentile-metrics", "--save-result")
        stated = client_arguments(
            {**self.options("")["endpoints"][0], "url": server.other_url}, read_point(points[0]), ""
        )
        bench = [*vllm, "serve", *(word for word in stated if not word.startswith(swept))]
        chosen = [{"max_concurrency": point["concurrency"], "num_prompts": point["prompts"]} for point in points]
        (folder / "points.json").write_text(json.dumps(chosen))
        command = [*vllm, "sweep", "serve", f"--serve-cmd={shlex.join(server.other_command)}", "--after-bench-cmd=true"]
        command += [f"--bench-cmd={shlex.join(bench)}", f"--bench-params={folder / 'points.json'}", "--num-runs=1"]
        environment = {**os.environ, **QUIET, "PYTHONPATH": str(self.tree)}
        began = time.monotonic()
        ran = subprocess.run([*command, f"--output-dir={folder / 'theirs'}"], env=environment, capture_output=True)
        took_s = time.monotonic() - began
        found = [json.loads(path.read_text()) for path in (folder / "theirs").rglob("run=0.json")]
        whole = len(found) == len(points)
        if not whole:
            print(ran.stdout.decode()[-2000:], ran.stderr.decode()[-2000:])
        return took_s, sorted(found, key=lambda each: int(each["max_concurrency"])) if whole else None


def put_programs(folder: Path) -> Path:
    """The client's programs beside each other, as a node has them."""
    folder.mkdir(exist_ok=True)
    for program in PROGRAMS:
        shutil.copy(program, folder)
    return folder


@contextmanager
def resident(cache: Path, folder: Path) -> Iterator[Resident | None]:
    """The client of the lab's vLLM; None where this computer has no such vLLM or no Python for it."""
    tree, model = cache / "share" / "vllm", cache / "share" / "models" / "Qwen3.6-27B"
    programs = put_programs(folder / "programs")
    command = vllm_tree.python(tree, programs / "bench_client.py")
    if command is None or command[0] == "docker":
        yield None
        return
    spool = folder / "spool"
    spool.mkdir()
    own = [f"--spool={spool}", f"--watch={programs / 'bench_watch.py'}", f"--tokenizer={model}"]
    environment = {**os.environ, **QUIET, "PYTHONPATH": str(tree)}
    process = subprocess.Popen([*command, *own], env=environment, start_new_session=True)
    try:
        wait_for((spool / "alive.json").exists, START_LIMIT_S)
        yield Resident(spool, model, tree, command[0], process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
