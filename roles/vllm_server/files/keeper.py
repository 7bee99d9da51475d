"""What the keepers of all ranks do: run the engine, clear it away, tell what is so.

Threads only post what happened; one thread decides and acts. What is decided, and when, is in lifecycle.py.
"""

from __future__ import annotations

import contextlib
import json
import queue
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lifecycle as life
from keeper_link import Link, in_background
from keeper_node import Node

STATE_FOLDER = Path("/run/apollo")
GAVE_UP = 78  # the unit does not start again after this code
TICK_S = 0.3
HEARTBEAT_S = 1.0
BLOCKED_RETRY_S = 5.0
ABRUPT_STOP_S = 1


class Keeper:
    """One rank on this node. Its head or worker says in tick() what is wanted, and in state() what is so."""

    def __init__(self, spec: dict[str, Any], node: Node) -> None:
        self.spec, self.node = spec, node
        self.rank = life.Rank()
        self.happened: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self.leaving = False
        self.clearing = False
        self.blocked_at = 0.0
        self.exit_code: int | None = None
        self.told: dict[str, Any] = {}
        self.phase, self.phase_since = "", 0.0

    def post(self, function: Callable[..., None], *arguments: Any) -> None:
        """Have the main thread call this; safe in threads and signal handlers."""
        self.happened.put(lambda: function(*arguments))

    def posted(self, function: Callable[..., None]) -> Callable[..., None]:
        """Give a function for other threads that has the main thread call this one."""
        return lambda *arguments: self.post(function, *arguments)

    def keep(self) -> int:
        """Do it until the unit is stopped or the replica has failed."""
        self.act(life.CLEAR)
        while self.exit_code is None:
            with contextlib.suppress(queue.Empty):
                self.happened.get(timeout=TICK_S)()
            self.tick()
            self.tell()
        for link in self.all_links():
            link.close()
        return self.exit_code

    def all_links(self) -> list[Link]:
        raise NotImplementedError

    def act(self, action: str) -> None:
        if action == life.RUN:
            generation = self.rank.generation
            self.say(f"starting the engine, start {generation}")
            in_background(self.attend, self.node.run(), generation)
        elif action == life.CLEAR and not self.clearing:
            self.clearing = True
            in_background(self.clear, self.grace_s())

    def attend(self, process: Any, generation: int) -> None:
        process.wait()
        self.post(self.on_ended, generation, self.node.last_words())

    def clear(self, grace_s: int) -> None:
        self.post(self.on_cleared, self.node.clear(grace_s, lambda: self.leaving))

    def on_ended(self, generation: int, reason: str) -> None:
        before, (self.rank, action) = self.rank, life.ended(self.rank, generation, reason)
        if self.rank != before:
            self.say(f"the engine ended: {reason}")
        self.act(action)

    def on_cleared(self, faults: list[str]) -> None:
        self.clearing = False
        before, self.rank = self.rank, life.cleared(self.rank, faults)
        self.blocked_at = time.monotonic()
        if faults and self.rank != before:
            self.say(f"the GPUs are not free: {self.rank.reason}")

    def on_leave(self) -> None:
        self.leaving = True

    def obey(self, wanted: int) -> None:
        self.rank, action = life.obey(self.rank, wanted)
        self.act(action)
        blocked = self.rank.phase == life.BLOCKED and time.monotonic() - self.blocked_at > BLOCKED_RETRY_S
        if blocked and not self.leaving:
            self.act(life.CLEAR)

    def leave_when_idle(self, code: int) -> None:
        if self.rank.phase != life.RUNNING and not self.clearing:
            self.exit_code = code

    def grace_s(self) -> int:
        """Seconds that the engine gets to end: without its head, broken or loading, it has nothing to finish."""
        return ABRUPT_STOP_S

    def tick(self) -> None:
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        raise NotImplementedError

    def tell(self) -> None:
        """Write what is so, for status and for whoever waits."""
        state = self.state()
        if state["phase"] != self.phase:
            self.phase, self.phase_since = state["phase"], time.time()
            self.say(f"{self.phase}{': ' if state['reason'] else ''}{state['reason']}")
        state = {"name": self.spec["name"], "rank": self.spec["rank"], **state, "since": round(self.phase_since, 1)}
        if state != self.told:
            self.told = state
            path = self.state_path()
            path.parent.mkdir(mode=0o755, exist_ok=True)
            new = path.with_suffix(".new")
            new.write_text(json.dumps(state), encoding="utf-8")
            new.rename(path)

    def state_path(self) -> Path:
        return STATE_FOLDER / f"{self.spec['name']}.json"

    def say(self, text: str) -> None:
        print(f"keeper: {self.spec['name']} rank {self.spec['rank']}: {text}", flush=True)
