"""The keeper of rank 0, which decides for all ranks: it gathers them, starts them, and ends them together."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import lifecycle as life
import pulse
import seal
from keeper import ABRUPT_STOP_S, GAVE_UP, HEARTBEAT_S, Keeper
from keeper_link import Ears, Link, Message, in_background, listen
from keeper_node import Node

GIVE_UP_S = 20.0
LOADING_LOOK_S = 0.5
READY_LOOK_S = 5.0
REFUSAL_COUNTS_S = 5.0
REFUSAL_LASTS_S = 10.0


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Why a worker's node is not listened to, since when, and when it was so last."""

    reason: str = ""
    since: float = 0.0
    last: float = 0.0

    def again(self, reason: str, now: float) -> Refusal:
        return Refusal(reason, self.since if self.told(now) else now, now)

    def told(self, now: float) -> str:
        return self.reason if now - self.last < REFUSAL_COUNTS_S else ""

    def lasting(self, now: float) -> str:
        return self.told(now) if now - self.since >= REFUSAL_LASTS_S else ""


class Head(Keeper):
    """What is known of all ranks, and what follows from it."""

    def __init__(self, spec: dict[str, Any], node: Node) -> None:
        super().__init__(spec, node)
        self.rules = life.Rules(**spec["rules"])
        # Starts are numbered on from the clock, so that a keeper that starts over repeats none.
        self.replica = life.Replica(since=time.monotonic(), generation=int(time.time()))
        self.links: dict[int, Link] = {}
        self.reports: dict[int, life.Rank] = {}
        self.refusal = Refusal()
        self.pulse = pulse.Pulse()
        self.asking, self.asked_at, self.sent_at = False, 0.0, 0.0
        self.sent: dict[int, Message] = {}
        self.load_s: float | None = None
        self.outage_s: float | None = None
        self.ended_at: float | None = None
        self.ends = 0
        if spec["ranks"] > 1:
            ears = Ears(*map(self.posted, (self.on_report, self.on_lost, self.on_refused)))
            address, port = spec["members"][0]["address"], spec["keeper_port"]
            in_background(listen, address, port, Path(spec["secret_path"]), ears)

    def on_report(self, link: Link, message: Message) -> None:
        if message.get("life") != self.spec["life"] or message.get("rank") not in range(1, self.spec["ranks"]):
            reason = f"rank {message.get('rank')} is configured for another life of {self.spec['name']}: {seal.REMEDY}"
            link.refuse(reason)
            self.on_refused(link.address, reason)
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

    def on_refused(self, address: str, reason: str) -> None:
        """Keep in mind why a worker's node is not listened to; who else was refused is of no interest."""
        if address in [member["address"] for member in self.spec["members"][1:]]:
            self.refusal = self.refusal.again(f"{address} is refused: {reason}", time.monotonic())

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
        gathering, now = self.replica.phase == life.GATHERING, time.monotonic()
        waits_for = [told for told in (life.waits_for(self.ranks()), self.refusal.told(now)) if told]
        return {
            "phase": "stopping" if self.leaving else self.replica.phase,
            "ready": self.replica.phase == life.READY and not self.leaving,
            "starts": self.replica.starts,
            "ends": self.ends,
            "reason": self.replica.reason,
            "waits_for": "; ".join(waits_for) if gathering else "",
            "refused": self.refusal.lasting(now) if gathering else "",
            "load_s": self.load_s,
            "outage_s": self.outage_s,
            "ranks": [dataclasses.asdict(rank) if rank else None for rank in self.ranks()],
        }
