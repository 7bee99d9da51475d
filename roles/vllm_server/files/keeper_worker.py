"""The keeper of any other rank: it does what the head wants, and nothing without the head."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import lifecycle as life
from keeper import GAVE_UP, HEARTBEAT_S, Keeper
from keeper_link import Ears, Link, Message, connect, in_background
from keeper_node import Node


class Worker(Keeper):
    """The head's last order, and this rank's reports to it."""

    def __init__(self, spec: dict[str, Any], node: Node) -> None:
        super().__init__(spec, node)
        self.link: Link | None = None
        self.order: Message = {}
        self.report: Message = {}
        self.refused = ""
        self.sent_at = 0.0
        address, port = spec["members"][0]["address"], spec["keeper_port"]
        ears = Ears(*map(self.posted, (self.on_order, self.on_lost, self.on_refused)))
        in_background(connect, address, port, Path(spec["secret_path"]), self.posted(self.on_met), ears)

    def on_met(self, link: Link) -> None:
        self.link, self.order, self.report = link, {}, {}
        if self.leaving:
            link.close()

    def on_order(self, link: Link, message: Message) -> None:
        if link is self.link:
            self.order, self.refused = message, ""

    def on_refused(self, address: str, reason: str) -> None:
        self.refused = f"rank 0 at {address}: {reason}"

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
