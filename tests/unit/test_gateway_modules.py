"""The gateway's servers at run time, read and changed through HAProxy's socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import haproxy

Module = Callable[..., dict[str, Any]]
COLUMNS = "# pxname,svname,qcur,scur,slim,status,check_status,\n"


class Gateway:
    """A runtime socket with two servers that remembers the commands it got."""

    def __init__(self, path: Path) -> None:
        self.states = {"engines-big/a": "UP", "engines-small/b": "UP"}
        self.sessions = 0
        self.commands: list[str] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.sendall(self.answer(connection.recv(4096).decode().strip()).encode())

    def answer(self, command: str) -> str:
        if command == "show stat":
            rows = "".join(
                f"{name.replace('/', ',')},0,{self.sessions},125,{state},L7OK,\n" for name, state in self.states.items()
            )
            queues = "engines-big,BACKEND,7,0,125,UP,,\nengines-small,BACKEND,2,0,125,UP,,\n"
            return f"{COLUMNS}api,FRONTEND,,0,4096,OPEN,,\n{rows}{queues}models,a,0,9,,UP,,\n"
        self.commands.append(command)
        _, _, name, _, state = command.split()
        self.sessions = 0 if state == "drain" else self.sessions
        self.states[name] = {"ready": "UP"}.get(state, state.upper())
        return "\n"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    running = Gateway(tmp_path / "admin.sock")
    yield running
    running.listener.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "admin.sock")


def test_servers_of_the_engines_alone_are_read(run_module: Module, gateway: Gateway, path: str) -> None:
    result = run_module("gateway_info", socket=path)
    assert (result["present"], result["queued"]) == (True, 9)
    assert result["queues"] == {"engines-big": 7, "engines-small": 2}
    assert [server["name"] for server in result["servers"]] == ["a", "b"]
    assert result["servers"][0]["limit"] == 125


@pytest.mark.parametrize("module", ["gateway_info", "gateway_servers"])
def test_gateway_that_does_not_run_is_no_failure(run_module: Module, tmp_path: Path, module: str) -> None:
    options = {"state": "maint"} if module == "gateway_servers" else {}
    assert run_module(module, socket=str(tmp_path / "none"), **options)["present"] is False


@pytest.mark.parametrize("module", ["gateway_info", "gateway_servers"])
def test_socket_that_nobody_serves_any_more_is_no_failure(
    run_module: Module, gateway: Gateway, path: str, module: str
) -> None:
    gateway.listener.shutdown(socket.SHUT_RDWR)
    gateway.listener.close()
    options = {"state": "maint"} if module == "gateway_servers" else {}
    assert run_module(module, socket=path, **options)["present"] is False


def test_servers_are_drained_before_they_leave(run_module: Module, gateway: Gateway, path: str) -> None:
    gateway.sessions = 3
    options = {"socket": path, "state": "maint", "drain_timeout_s": 5}
    first, second = run_module("gateway_servers", **options), run_module("gateway_servers", **options)
    assert (first["changed"], first["left"], second["changed"]) == (True, 0, False)
    assert [command.rpartition(" ")[2] for command in gateway.commands] == ["drain", "drain", "maint", "maint"]


def test_only_the_named_ones_leave(run_module: Module, gateway: Gateway, path: str) -> None:
    assert run_module("gateway_servers", socket=path, state="maint", only=["b"])["changed"]
    assert gateway.states == {"engines-big/a": "UP", "engines-small/b": "MAINT"}


def test_servers_come_back(run_module: Module, gateway: Gateway, path: str) -> None:
    gateway.states["engines-big/a"] = "MAINT"
    options = {"socket": path, "state": "ready"}
    assert run_module("gateway_servers", **options)["changed"]
    assert gateway.commands == ["set server engines-big/a state ready"]
    assert not run_module("gateway_servers", **options)["changed"]


def test_check_mode_only_says_what_it_would_do(run_module: Module, gateway: Gateway, path: str) -> None:
    result = run_module("gateway_servers", check=True, diff=True, socket=path, state="maint")
    assert result["changed"]
    assert result["diff"] == {"before": {"a": "UP", "b": "UP"}, "after": {"a": "maint", "b": "maint"}}
    assert gateway.commands == []


def test_server_that_is_down_needs_no_command_to_be_ready() -> None:
    [server] = haproxy.parse_servers(f"{COLUMNS}engines,a,0,0,2,DOWN 1/2,L4CON,\n", "engines")
    assert haproxy.commands([server], "ready") == []
    assert not server.up
