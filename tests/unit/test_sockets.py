"""Who listens on a port."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from ansible.module_utils.apollo import sockets

TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 0100007F:1F41 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0
"""
TCP6 = """  sl  local_address                         remote_address                        st
   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 333 1 0 100
"""
CONTAINER = "0" * 63 + "a"


def test_only_listeners_on_the_asked_ports_are_found() -> None:
    assert sockets.listeners([TCP, TCP6], [8000, 8001, 8080]) == {"111": 8000, "333": 8080}
    assert sockets.listeners([TCP, TCP6], [8080]) == {"333": 8080}
    assert sockets.listeners(["", ""], [8000]) == {}


def test_innermost_container_and_unit_count() -> None:
    nested = f"0::/docker/{'f' * 64}/system.slice/docker-{CONTAINER}.scope\n"
    assert sockets.process(1, "python3\n", nested) == sockets.Process(1, "python3", "", CONTAINER)
    assert sockets.process(2, "haproxy", "0::/system.slice/haproxy.service\n").unit == "haproxy"


def test_port_without_a_known_process_is_still_told() -> None:
    assert sockets.holders({"111": 8000}, {}) == [sockets.Holder(8000, sockets.Process(0, "unknown"))]


def test_module_names_this_very_process(run_module: Callable[..., dict[str, Any]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        [holder] = run_module("port_info", ports=[port])["holders"]
    assert holder["port"] == port
    assert holder["pid"] > 0
    assert holder["process"]


def test_free_port_has_no_holder(run_module: Callable[..., dict[str, Any]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    for check in (False, True):
        assert run_module("port_info", check=check, ports=[port])["holders"] == []
