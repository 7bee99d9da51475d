"""Run the image's own `vllm bench serve`, started at one moment on all endpoints.

Everything behind `--` goes to `vllm bench serve` untouched. Around its measured part, and nowhere
else, this program

1. warms up with a run of its own at the same lengths and concurrency but from another seed, so that
   no measured prompt is already in the prefix cache,
2. waits until the clients of all endpoints are as far (a barrier with a limit),
3. keeps the server's counters and stamps both clocks, before and after.
"""

import argparse
import copy
import json
import resource
import sys
import time
import urllib.request
from datetime import timedelta
from pathlib import Path
from typing import Any

from torch.distributed import TCPStore
from vllm import __version__, platforms
from vllm.benchmarks import serve
from vllm.platforms.cpu import CpuPlatform
from vllm.utils.argparse_utils import FlexibleArgumentParser

WARMUP_SEED_STEP = 1_000_003
NOT_ALL_CAME = 42  # exit code


def parse(argv: list[str]) -> tuple[argparse.Namespace, argparse.Namespace]:
    own = argparse.ArgumentParser(prog="bench_client.py")
    own.add_argument("--stamps", type=Path, required=True, help="file for clocks and counters")
    own.add_argument("--warmups", type=int, required=True, help="unmeasured requests beforehand")
    own.add_argument("--barrier", default="127.0.0.1:29590", help="address:port of the first client")
    own.add_argument("--index", type=int, default=0, help="which of the clients this is")
    own.add_argument("--world", type=int, default=1, help="number of clients")
    own.add_argument("--barrier-timeout", type=float, default=600, help="seconds to wait for the others")
    theirs = FlexibleArgumentParser(prog="vllm bench serve")
    serve.add_cli_args(theirs)
    split = argv.index("--")
    return own.parse_args(argv[:split]), theirs.parse_args(argv[split + 1 :])


def meet(own: argparse.Namespace) -> TCPStore | None:
    """Return when every client is here; the first one keeps the meeting place open."""
    if own.world == 1:
        return None
    host, port = own.barrier.rsplit(":", 1)
    limit = timedelta(seconds=own.barrier_timeout)
    try:
        store = TCPStore(host, int(port), is_master=own.index == 0, timeout=limit, wait_for_workers=False)
        store.set(f"here-{own.index}", "")
        store.wait([f"here-{index}" for index in range(own.world)], limit)
    except RuntimeError as error:
        print(f"not all of {own.world} clients came within {own.barrier_timeout:g} s: {error}", file=sys.stderr)
        raise SystemExit(NOT_ALL_CAME) from error
    return store


def clocks() -> dict[str, float]:
    """Both clocks at one moment, and the CPU time this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"unix_s": time.time(), "monotonic_s": time.perf_counter(), "cpu_s": used.ru_utime + used.ru_stime}


def counters(base_url: str) -> str | None:
    """The server's counters, unparsed."""
    try:
        with urllib.request.urlopen(f"{base_url}/metrics", timeout=30) as answer:
            return answer.read().decode()
    except OSError as error:
        print(f"the server's counters cannot be read: {error}", file=sys.stderr)
        return None


def warm_up(args: argparse.Namespace, count: int) -> None:
    if count < 1:
        return
    warm = copy.copy(args)
    warm.num_prompts, warm.seed, warm.num_warmups = count, args.seed + WARMUP_SEED_STEP, 0
    warm.save_result = warm.append_result = False
    serve.main(warm)


def main() -> None:
    own, args = parse(sys.argv[1:])
    if platforms.current_platform.is_unspecified():  # as the vllm command does: a client needs no GPU
        platforms.current_platform = CpuPlatform()
    warm_up(args, own.warmups)
    measured = serve.benchmark
    stamps: dict[str, Any] = {"client_version": __version__, "warmups": own.warmups}

    async def started_together(**given: Any) -> Any:
        before = counters(args.base_url)
        store = meet(own)
        stamps["before"] = {**clocks(), "counters": before}
        try:
            return await measured(**given)
        finally:
            ended = clocks()
            time.sleep(1)  # the server writes its counters a moment after the last token
            stamps["after"] = {**ended, "counters": counters(args.base_url)}
            del store

    serve.benchmark = started_together
    try:
        serve.main(args)
    finally:
        own.stamps.write_text(json.dumps(stamps), encoding="utf-8")


if __name__ == "__main__":
    main()
