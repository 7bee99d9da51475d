"""Keep the image's own `vllm bench serve` imported and run point after point with it.

Its imports take longer than many a run. So this process stays: it takes each job from a folder of its spool and
forks a child for it, which starts fresh. What the folder holds, in the order of events:

    task.json      the job: the client's arguments, warm-ups, barrier; renamed to taken.json when it is taken
    ready.json     prompts are made; the child waits
    go             the engines are ready as well
    key            written before go where the server asks for one; read once and removed
    phase.json     what the child does: warm_up, barrier, load, done
    stamps.json    both clocks and the server's counters, before and after the load
    result.json    what `vllm bench serve` wrote
    done.json      exit code of the child, and why it was stopped if it was
    stop           written by whoever wants the child to end, with the reason

Around the measured part, and nowhere else, a child

1. warms up with a run of its own at the same lengths and concurrency but from another seed, so that no measured
   prompt is already in the prefix cache,
2. waits until the clients of all endpoints are as far (a barrier with a limit),
3. keeps the server's counters and stamps both clocks, before and after.
"""

import argparse
import copy
import functools
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import direct_page  # lies beside this program on a node
from torch.distributed import TCPStore
from vllm import __version__, platforms
from vllm.benchmarks import serve
from vllm.benchmarks.datasets import SampleRequest
from vllm.platforms.cpu import CpuPlatform
from vllm.utils.argparse_utils import FlexibleArgumentParser

WARMUP_SEED_STEP = 1_000_003
FAILED, NOT_ALL_CAME, STOPPED = 1, 42, 43  # exit codes
LOOK_S, BEAT_S = 0.05, 2.0
SETTLE_S, SETTLE_LIMIT_S = 0.15, 3.0
COUNTERS_TIMEOUT_S = 30


def write(path: Path, document: object) -> None:
    """Write in one step: whoever reads sees all of it or nothing."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(document), encoding="utf-8")
    part.replace(path)


# --- one job, in a child of its own ---


def parse(arguments: list[str]) -> argparse.Namespace:
    theirs = FlexibleArgumentParser(prog="vllm bench serve")
    serve.add_cli_args(theirs)
    return theirs.parse_args(arguments)


def warm_arguments(args: argparse.Namespace, count: int) -> argparse.Namespace:
    """The same load from another seed, without a result."""
    warm = copy.copy(args)
    warm.num_prompts, warm.seed, warm.num_warmups = count, args.seed + WARMUP_SEED_STEP, 0
    warm.save_result = warm.append_result = False
    return warm


def text_samples(args: argparse.Namespace, tokenizer: Any, input_tokens: int) -> list[SampleRequest]:
    """Prompts of real text: paragraphs in an order of each prompt's own, behind a first line that no other has."""
    lines = Path(__file__).with_name(args.dataset_path).read_text(encoding="utf-8").splitlines()
    paragraphs = [json.loads(line)["prompt"] for line in lines if line.strip()]
    chosen = random.Random(args.seed)
    samples = []
    for number in range(args.num_prompts):
        head = f"Notes {args.seed}-{number}. Read them, then explain in your own words what they have in common.\n\n"
        tokens: list[int] = tokenizer.encode(head, add_special_tokens=False)
        while len(tokens) < input_tokens:
            order = chosen.sample(paragraphs, len(paragraphs))
            tokens += tokenizer.encode("\n\n".join(order) + "\n\n", add_special_tokens=False)
        prompt = tokenizer.decode(tokens[:input_tokens])
        samples.append(SampleRequest(prompt, input_tokens, args.custom_output_len))
    return samples


def make_samples(task: dict[str, Any], args: argparse.Namespace) -> list[SampleRequest]:
    """What the image's client would take, or text."""
    tokenizer = serve.get_tokenizer(
        args.tokenizer, tokenizer_mode=args.tokenizer_mode, trust_remote_code=args.trust_remote_code
    )
    if task["dataset"] == "text":
        return text_samples(args, tokenizer, task["input_tokens"])
    made: list[SampleRequest] = get_samples(args, tokenizer)
    return made


def counters(base_url: str) -> str | None:
    """The server's counters, unparsed."""
    text, reason = direct_page.ask(f"{base_url}/metrics", COUNTERS_TIMEOUT_S)
    if text is None:
        print(f"the server's counters cannot be read: {reason}", file=sys.stderr)
    return text


def settled_counters(base_url: str) -> str | None:
    """The counters once two looks agree: the server writes them a moment after the last token."""
    ends = time.monotonic() + SETTLE_LIMIT_S
    seen = counters(base_url)
    while seen is not None and time.monotonic() < ends:
        time.sleep(SETTLE_S)
        again = counters(base_url)
        if again is None or _requests(again) == _requests(seen):
            return again or seen
        seen = again
    return seen


def _requests(page: str) -> list[str]:
    """The lines that say what the engine has generated and finished."""
    return [line for line in page.splitlines() if line.startswith(("vllm:generation_tokens", "vllm:request_success"))]


def clocks() -> dict[str, float]:
    """Both clocks at one moment, and the CPU time this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {"unix_s": time.time(), "monotonic_s": time.perf_counter(), "cpu_s": used.ru_utime + used.ru_stime}


def meet(barrier: dict[str, Any]) -> TCPStore | None:
    """Return when every client is here; the first one keeps the meeting place open."""
    if barrier["world"] == 1:
        return None
    limit = timedelta(seconds=barrier["timeout_s"])
    first = barrier["index"] == 0
    try:
        store = TCPStore(barrier["address"], barrier["port"], is_master=first, timeout=limit, wait_for_workers=False)
        store.set(f"here-{barrier['index']}", "")
        store.wait([f"here-{index}" for index in range(barrier["world"])], limit)
    except RuntimeError as error:
        print(f"not all of {barrier['world']} clients came within {limit}: {error}", file=sys.stderr)
        raise SystemExit(NOT_ALL_CAME) from error
    return store


def timed(asked: Any) -> Any:
    """Of a request that was refused or broke, the image's client tells no time: note how long it took."""

    async def asking(*given: Any, **named: Any) -> Any:
        began = time.perf_counter()
        output = await asked(*given, **named)
        if not output.success:
            output.latency = time.perf_counter() - began
        return output

    return asking


class Job:
    """One job: made ready, then measured."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.task: dict[str, Any] = json.loads((folder / "taken.json").read_text(encoding="utf-8"))
        self.stamps: dict[str, Any] = {"client_version": __version__, "warmups": self.task["warmups"]}

    def phase(self, name: str) -> None:
        write(self.folder / "phase.json", {"phase": name, "at_s": time.monotonic()})

    def run(self) -> None:
        args = parse(self.task["arguments"])
        warm = warm_arguments(args, self.task["warmups"])
        samples = {each.seed: make_samples(self.task, each) for each in (args, warm) if each.num_prompts > 0}
        serve.get_samples = lambda asked, tokenizer: samples[asked.seed]
        write(self.folder / "ready.json", {"prompts": len(samples[args.seed])})
        while not (self.folder / "go").exists():
            time.sleep(LOOK_S)
        self.stamps["taken_up_s"] = time.time()
        self.take_key()
        serve.ASYNC_REQUEST_FUNCS[args.backend] = timed(serve.ASYNC_REQUEST_FUNCS[args.backend])
        if warm.num_prompts > 0:
            self.phase("warm_up")
            serve.main(warm)
        self.measure(args)

    def take_key(self) -> None:
        """The image's client takes the key from its environment, which no list of processes shows."""
        key = self.folder / "key"
        if key.exists():
            os.environ["OPENAI_API_KEY"] = key.read_text(encoding="utf-8")
            key.unlink()

    def measure(self, args: argparse.Namespace) -> None:
        measured = serve.benchmark

        async def started_together(**given: Any) -> Any:
            before = settled_counters(args.base_url)
            self.phase("barrier")
            store = meet(self.task["barrier"])
            self.phase("load")
            self.stamps["before"] = {**clocks(), "counters": before}
            try:
                return await measured(**given)
            finally:
                ended = clocks()
                self.phase("done")
                self.stamps["after"] = {**ended, "counters": settled_counters(args.base_url)}
                del store

        serve.benchmark = started_together
        try:
            serve.main(args)
        finally:
            write(self.folder / "stamps.json", self.stamps)


def child(folder: Path) -> None:
    """Run the job with its output in its own log, and never return."""
    code = FAILED
    try:
        log = os.open(folder / "client.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        Job(folder).run()
        code = 0
    except SystemExit as told:
        code = told.code if isinstance(told.code, int) else FAILED
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


# --- the process that stays ---


class Resident:
    """Takes jobs, watches their children, and says that it lives."""

    def __init__(self, spool: Path, watch: str) -> None:
        self.spool = spool
        self.watch = watch
        self.beat_s = float("-inf")
        self.children: dict[int, Path] = {}
        self.watchers: dict[int, subprocess.Popen[bytes]] = {}

    def look(self) -> None:
        now = time.monotonic()
        if now - self.beat_s > BEAT_S:
            self.beat_s = now
            write(self.spool / "alive.json", {"at_s": now, "version": __version__})
        self.take()
        self.stop()
        self.reap()

    def take(self) -> None:
        for task in self.spool.glob("*/task.json"):
            task.replace(task.with_name("taken.json"))
            pid = os.fork()
            if pid == 0:
                child(task.parent)
            self.children[pid] = task.parent
            self.watchers[pid] = subprocess.Popen([sys.executable, self.watch, str(task.parent)])

    def stop(self) -> None:
        """A frozen client does not hear a polite word."""
        for pid, folder in self.children.items():
            if (folder / "stop").exists():
                os.kill(pid, signal.SIGKILL)

    def reap(self) -> None:
        while self.children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            if pid not in self.children:
                continue  # a watcher that has ended
            folder = self.children.pop(pid)
            stopped = (folder / "stop").read_text(encoding="utf-8") if (folder / "stop").exists() else ""
            code = STOPPED if stopped else os.waitstatus_to_exitcode(status)
            self.watchers[pid].terminate()
            self.watchers.pop(pid).wait()
            write(folder / "done.json", {"code": code, "stopped": stopped})


get_samples = serve.get_samples


def main() -> None:
    own = argparse.ArgumentParser(prog="bench_client.py")
    own.add_argument("--spool", type=Path, required=True, help="folder with one folder per job")
    own.add_argument("--watch", required=True, help="the program that watches the server during a job")
    own.add_argument("--tokenizer", action="append", default=[], help="load it now already")
    options = own.parse_args()
    if platforms.current_platform.is_unspecified():  # as the vllm command does: a client needs no GPU
        platforms.current_platform = CpuPlatform()
    serve.get_tokenizer = functools.cache(serve.get_tokenizer)
    for path in options.tokenizer:
        serve.get_tokenizer(path, tokenizer_mode="auto", trust_remote_code=False)
    resident = Resident(options.spool, options.watch)
    while True:
        resident.look()
        time.sleep(LOOK_S)


if __name__ == "__main__":
    main()
