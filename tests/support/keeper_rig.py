"""The keepers' program as it lies on a node, and two keepers of it whose engines end on command."""

from __future__ import annotations

import importlib.util
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from ansible.module_utils.apollo import gpu, lifecycle, pulse, ready, seal

SECRET = "5a" * 32
RULES = {"start_timeout_s": 60, "restart_limit": 3, "restart_window_s": 60, "delay_s": 0.1, "longest_delay_s": 0.2}
PAUSES = ("TICK_S", "HEARTBEAT_S", "LOADING_LOOK_S", "READY_LOOK_S", "BLOCKED_RETRY_S", "GIVE_UP_S", "RETRY_S")
# Each file of the program after those that it imports.
FILES = ("keeper_link", "keeper_node", "keeper", "keeper_head", "keeper_worker", "engine_keeper")
MEMBERS = [{"rank": 0, "node": "a", "address": "127.0.0.1"}, {"rank": 1, "node": "b", "address": "127.0.0.1"}]


class Engine:
    """A process that ends when told."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def wait(self) -> None:
        self.over.wait()


class Node:
    """A node whose engine runs, answers and frees its GPUs as the test says."""

    def __init__(self) -> None:
        self.engine: Engine | None = None
        self.starts: list[float] = []
        self.answers = True
        self.in_the_way: list[str] = []

    def run(self) -> Engine:
        self.engine = Engine()
        self.starts.append(time.monotonic())
        return self.engine

    def last_words(self) -> str:
        return "ValueError: killed"

    def clear(self, grace_s: int, hurried: Callable[[], bool]) -> list[str]:
        if self.engine:
            self.engine.over.set()
        return self.in_the_way

    def ask(self) -> ready.Finding | None:
        return None if self.answers else ready.Finding("token", "HTTP 500")

    def look(self) -> pulse.Look | None:
        return None

    def kill(self) -> None:
        assert self.engine is not None
        self.engine.over.set()


class Pair:
    """The keepers of both ranks and what they tell."""

    def __init__(self, program: ModuleType, folder: Path) -> None:
        self.program, self.port = program, free_port()
        self.secret_paths = [folder / "secret-0", folder / "secret-1"]
        for path in self.secret_paths:
            path.write_text(SECRET + "\n")
        self.nodes = [Node(), Node()]
        self.keepers: list[Any] = [None, None]
        self.codes: dict[int, int] = {}

    def start(self, rank: int, life: str = "one") -> None:
        spec = {
            "name": "vllm-x-0",
            "rank": rank,
            "ranks": 2,
            "life": life,
            "members": MEMBERS,
            "keeper_port": self.port,
            "secret_path": str(self.secret_paths[rank]),
            "rules": RULES,
            "stop_timeout_s": 5,
            "token_interval_s": 60,
            "stall_timeout_s": 60,
        }
        keeper = (self.program.Worker if rank else self.program.Head)(spec, self.nodes[rank])
        keeper.tell = lambda: None
        self.keepers[rank] = keeper
        threading.Thread(target=self.keep, args=(rank, keeper), daemon=True).start()

    def keep(self, rank: int, keeper: Any) -> None:
        self.codes[rank] = keeper.keep()

    def leave(self, rank: int) -> None:
        self.keepers[rank].post(self.keepers[rank].on_leave)

    def state(self, rank: int) -> dict[str, Any]:
        told: dict[str, Any] = self.keepers[rank].state()
        return told

    def starts(self) -> list[int]:
        return [len(node.starts) for node in self.nodes]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end, "it did not come to that within 10 s"
        time.sleep(0.02)


def load_program(project: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program with the core beside it, as on a node, and no patience."""
    folder = project / "roles/vllm_server/files"
    for module in (gpu, lifecycle, pulse, ready, seal):
        monkeypatch.setitem(sys.modules, module.__name__.rpartition(".")[2], module)
    for name in FILES:
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    for name, pause in ((name, pause) for name in FILES for pause in PAUSES if hasattr(sys.modules[name], pause)):
        monkeypatch.setattr(sys.modules[name], pause, 0.05)
    return sys.modules["engine_keeper"]
