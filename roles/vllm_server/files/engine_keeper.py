#!/usr/bin/python3
"""Keep one rank of a replica: run its engine while all ranks of the replica run, and at no other time.

systemd runs one keeper per rank. The keeper of rank 0 decides for all of them, those of the other ranks
hold a connection to it. What is decided, and when, is in lifecycle.py, which lies beside this program.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import queue
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lifecycle as life
import pulse
from keeper_link import Link, Message, connect, in_background, listen
from keeper_node import Node

STATE_FOLDER = Path("/run/apollo")
GAVE_UP = 78  # the unit does not start again after this code
TICK_S = 0.3
HEARTBEAT_S = 1.0
GIVE_UP_S = 20.0
BLOCKED_RETRY_S = 5.0
LOADING_LOOK_S = 1.0
READY_LOOK_S = 5.0
ABRUPT_STOP_S = 3


class Keeper:
    """What the keepers of all ranks do: run, clear away, tell."""

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
            STATE_FOLDER.mkdir(mode=0o755, exist_ok=True)
            new = STATE_FOLDER / f"{self.spec['name']}.new"
            new.write_text(json.dumps(state), encoding="utf-8")
            new.rename(STATE_FOLDER / f"{self.spec['name']}.json")

    def say(self, text: str) -> None:
        print(f"keeper: {self.spec['name']} rank {self.spec['rank']}: {text}", flush=True)


class Head(Keeper):
    """The keeper of rank 0, which decides for all."""

    def __init__(self, spec: dict[str, Any], node: Node) -> None:
        super().__init__(spec, node)
        self.rules = life.Rules(**spec["rules"])
        # Starts are numbered on from the clock, so that a keeper that starts over repeats none.
        self.replica = life.Replica(since=time.monotonic(), generation=int(time.time()))
        self.links: dict[int, Link] = {}
        self.reports: dict[int, life.Rank] = {}
        self.pulse = pulse.Pulse()
        self.asking, self.asked_at, self.sent_at = False, 0.0, 0.0
        self.sent: dict[int, Message] = {}
        self.load_s: float | None = None
        self.outage_s: float | None = None
        self.ended_at: float | None = None
        self.ends = 0
        if spec["ranks"] > 1:
            in_background(listen, spec["members"][0]["address"], spec["keeper_port"], self.heard, self.lost)

    def heard(self, link: Link, message: Message) -> None:
        self.post(self.on_report, link, message)

    def lost(self, link: Link) -> None:
        self.post(self.on_lost, link)

    def on_report(self, link: Link, message: Message) -> None:
        if message.get("life") != self.spec["life"] or message.get("rank") not in range(1, self.spec["ranks"]):
            link.send({"refused": f"rank {message.get('rank')} is configured for another life of {self.spec['name']}"})
            link.close()
            return
        link.rank = int(message["rank"])
        if self.links.get(link.rank, link) is not link:
            self.links.pop(link.rank).close()
            self.reports.pop(link.rank, None)
            self.tick()  # its keeper started over: what ran there is gone
        self.links[link.rank] = link
        self.reports[link.rank] = life.Rank(
            str(message["phase"]), int(message["generation"]), str(message.get("reason", ""))
        )

    def on_lost(self, link: Link) -> None:
        if self.links.get(link.rank) is link:
            del self.links[link.rank]
            self.reports.pop(link.rank, None)

    def all_links(self) -> list[Link]:
        return list(self.links.values())

    def ranks(self) -> list[life.Rank | None]:
        return [self.rank, *(self.reports.get(number) for number in range(1, self.spec["ranks"]))]

    def tick(self) -> None:
        if self.leaving:
            # The workers stay until the head has finished what it works on.
            self.obey(life.NOTHING)
            self.leave_when_idle(0)
        else:
            self.turn(life.decide(self.replica, self.ranks(), time.monotonic(), self.rules))
            self.obey(life.wanted(self.replica, self.ranks(), 0))
            self.examine()
            self.give_up()
        self.tell_workers()

    def turn(self, replica: life.Replica) -> None:
        """Take over what was decided, and measure what the operator wants to know."""
        before, self.replica = self.replica, replica
        if before.phase in life.ALIVE and replica.phase not in life.ALIVE:
            self.ends += 1
            self.ended_at = time.monotonic() if before.phase == life.READY or self.ended_at is None else self.ended_at
        if before.phase == life.LOADING and replica.phase == life.READY:
            self.load_s = round(replica.since - before.since, 1)
            self.outage_s = round(replica.since - self.ended_at, 1) if self.ended_at is not None else None
            self.ended_at, self.pulse = None, pulse.Pulse(still_since=time.monotonic())

    def give_up(self) -> None:
        workers_stopped = all(report.phase not in (life.RUNNING, life.CLEARING) for report in self.reports.values())
        waited = time.monotonic() - self.replica.since > GIVE_UP_S
        if self.replica.phase == life.FAILED and (workers_stopped or waited):
            self.leave_when_idle(GAVE_UP)

    def examine(self) -> None:
        """Look at the engine now and then, in the background."""
        interval_s = LOADING_LOOK_S if self.replica.phase == life.LOADING else READY_LOOK_S
        due = time.monotonic() - self.asked_at > interval_s
        if self.rank.phase == life.RUNNING and due and not self.asking:
            self.asking = True
            in_background(self.look, self.replica, self.pulse)

    def look(self, replica: life.Replica, felt: pulse.Pulse) -> None:
        told = pulse.ASK
        if replica.phase == life.READY:
            idle_s, stall_s = float(self.spec["token_interval_s"]), float(self.spec["stall_timeout_s"])
            felt, told = pulse.feel(felt, self.node.look(), time.monotonic(), idle_s, stall_s)
        finding = self.node.ask() if told == pulse.ASK else None
        self.post(self.on_looked, replica.generation, felt, told, finding)

    def on_looked(self, generation: int, felt: pulse.Pulse, told: str, finding: Any) -> None:
        self.asking, self.asked_at, self.pulse, now = False, time.monotonic(), felt, time.monotonic()
        if generation != self.replica.generation or self.replica.phase not in life.ALIVE or self.leaving:
            return
        if told == pulse.STALLED:
            self.turn(life.end(self.replica, f"no token in {self.spec['stall_timeout_s']} s of work", now, self.rules))
        elif told == pulse.ASK and finding is None:
            self.turn(life.answered(self.replica, generation, now))
        elif told == pulse.ASK and (finding.stage == "token" or self.replica.phase == life.READY):
            self.turn(life.failed_token(self.replica, generation, finding.detail, now, self.rules))

    def tell_workers(self) -> None:
        due = time.monotonic() - self.sent_at > HEARTBEAT_S
        self.sent_at = time.monotonic() if due else self.sent_at
        failed = self.replica.reason if self.replica.phase == life.FAILED else ""
        for number, link in self.links.items():
            order = {"want": life.wanted(self.replica, self.ranks(), number), "failed": failed}
            message = {**order, "phase": self.replica.phase, "starts": self.replica.starts, "ends": self.ends}
            if due or self.sent.get(number) != message:
                self.sent[number] = message
                link.send(message)

    def grace_s(self) -> int:
        serves = self.leaving and self.replica.phase == life.READY
        return int(self.spec["stop_timeout_s"]) if serves else ABRUPT_STOP_S

    def state(self) -> dict[str, Any]:
        gathering = self.replica.phase == life.GATHERING
        return {
            "phase": "stopping" if self.leaving else self.replica.phase,
            "ready": self.replica.phase == life.READY and not self.leaving,
            "starts": self.replica.starts,
            "ends": self.ends,
            "reason": self.replica.reason,
            "waits_for": life.waits_for(self.ranks()) if gathering else "",
            "load_s": self.load_s,
            "outage_s": self.outage_s,
            "ranks": [dataclasses.asdict(rank) if rank else None for rank in self.ranks()],
        }


class Worker(Keeper):
    """The keeper of another rank, which does what the head wants, and nothing without it."""

    def __init__(self, spec: dict[str, Any], node: Node) -> None:
        super().__init__(spec, node)
        self.link: Link | None = None
        self.order: Message = {}
        self.report: Message = {}
        self.refused = ""
        self.sent_at = 0.0
        in_background(connect, spec["members"][0]["address"], spec["keeper_port"], self.met, self.heard, self.lost)

    def met(self, link: Link) -> None:
        self.post(self.on_met, link)

    def heard(self, link: Link, message: Message) -> None:
        self.post(self.on_order, link, message)

    def lost(self, link: Link) -> None:
        self.post(self.on_lost, link)

    def on_met(self, link: Link) -> None:
        self.link, self.order, self.report = link, {}, {}
        if self.leaving:
            link.close()

    def on_order(self, link: Link, message: Message) -> None:
        if link is self.link:
            self.refused = str(message.get("refused", ""))
            self.order = {} if self.refused else message

    def on_lost(self, link: Link) -> None:
        if link is self.link:
            self.link, self.order = None, {}

    def on_leave(self) -> None:
        super().on_leave()
        for link in self.all_links():
            link.close()

    def all_links(self) -> list[Link]:
        return [self.link] if self.link else []

    def tick(self) -> None:
        self.obey(life.NOTHING if self.leaving else int(self.order.get("want") or life.NOTHING))
        if self.leaving or self.order.get("failed"):
            self.leave_when_idle(0 if self.leaving else GAVE_UP)
        report = {"life": self.spec["life"], **dataclasses.asdict(self.rank), "rank": self.spec["rank"]}
        if self.link and (report != self.report or time.monotonic() - self.sent_at > HEARTBEAT_S):
            self.report, self.sent_at = report, time.monotonic()
            self.link.send(report)

    def state(self) -> dict[str, Any]:
        head = self.spec["members"][0]["node"]
        unheard = self.refused or (f"rank 0 on {head} does not answer" if not self.link else "")
        phase = "stopping" if self.leaving else str(self.order.get("phase") or life.GATHERING)
        return {
            "phase": phase,
            "ready": phase == life.READY and self.rank.phase == life.RUNNING,
            "starts": int(self.order.get("starts") or 0),
            "ends": int(self.order.get("ends") or 0),
            "reason": self.order.get("failed") or self.rank.reason,
            "waits_for": unheard,
        }


def main() -> int:
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    keeper = (Worker if spec["rank"] else Head)(spec, Node(spec))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: keeper.post(keeper.on_leave))
    code = keeper.keep()
    if code == 0:
        (STATE_FOLDER / f"{spec['name']}.json").unlink(missing_ok=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
