"""Watch the server while a job runs: its gauges into watch.jsonl, how far the load is into progress.json.

It ends by itself when the job's load has ended. A server that generates nothing for too long while its client waits
is frozen, whatever its health page says: the job is then stopped with that reason.
"""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import direct_page  # lies beside this program on a node

SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{.*\})?\s+(\S+)")
GAUGES = {
    "running": "vllm:num_requests_running",
    "waiting": "vllm:num_requests_waiting",
    "kv_cache_usage": "vllm:kv_cache_usage_perc",
}
COUNTERS = {"tokens": "vllm:generation_tokens_total", "requests": "vllm:request_success_total"}
NAMES = {theirs: ours for ours, theirs in (GAUGES | COUNTERS).items()}
ASK_TIMEOUT_S = 5
LOOK_S = 0.2
BUSY = ("warm_up", "load")  # the engine has work: silence then means that it is frozen


def read(path: Path) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document


def write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def look(base_url: str) -> dict[str, float]:
    """What the page has of our names, summed over labels; nothing where there is no page."""
    page = direct_page.ask(f"{base_url}/metrics", ASK_TIMEOUT_S)[0] or ""
    seen: dict[str, float] = {}
    for line in page.splitlines():
        sample = SAMPLE.match(line)
        if sample and (name := NAMES.get(sample[1])):
            seen[name] = seen.get(name, 0.0) + float(sample[2])
    return seen


class Watch:
    """What was seen of one job's load."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.task = read(folder / "taken.json")
        self.first: dict[str, float] = {}
        self.began_s = self.moved_s = time.monotonic()
        self.last: dict[str, float] = {}

    def phase(self) -> str:
        return str(read(self.folder / "phase.json").get("phase", "prepare"))

    def begin(self) -> None:
        self.began_s = self.moved_s = float(read(self.folder / "phase.json").get("at_s", time.monotonic()))
        self.first = self.last = look(self.task["base_url"])

    def see(self, phase: str) -> None:
        now, seen = time.monotonic(), look(self.task["base_url"])
        if seen and seen != self.last:
            self.moved_s = now
        self.last = seen or self.last
        if phase == "load":
            with (self.folder / "watch.jsonl").open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"unix_s": time.time(), **seen}) + "\n")
        self.tell(phase, now)
        if now - self.moved_s > self.task["stall_s"]:
            write(self.folder / "stop", f"frozen: no token and no change of its counters for {self.task['stall_s']} s")

    def tell(self, phase: str, now: float) -> None:
        both = [name for name in COUNTERS if name in self.last and name in self.first]
        done = {name: self.last[name] - self.first[name] for name in both}
        sizes = {"prompts": self.task["prompts"], "concurrency": self.task["concurrency"]}
        told = {"phase": phase, "elapsed_s": now - self.began_s, **sizes, **done}
        write(self.folder / "progress.json", json.dumps(told))


def main() -> None:
    watch = Watch(Path(sys.argv[1]))
    known = ""
    while not (watch.folder / "done.json").exists() and not (watch.folder / "stop").exists():
        phase = watch.phase()
        if phase == "done":
            return
        if phase in BUSY and phase != known:
            watch.begin()
        if phase in BUSY:
            watch.see(phase)
        else:
            write(watch.folder / "progress.json", json.dumps({"phase": phase, "prompts": watch.task["prompts"]}))
        known = phase
        time.sleep(watch.task["watch_s"] if phase == "load" else LOOK_S)


if __name__ == "__main__":
    main()
