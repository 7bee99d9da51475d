"""ib_write_bw between two nodes: the meeting is real TCP, the figure comes from the state file."""

import json
import socket
import sys
import time
from pathlib import Path

from .opensm import value_of
from .state import read_state

PORT = 18515
CONNECT_TIMEOUT_S = 10
VALUED = ("-d", "-s", "-D", "-q", "-p", "-i", "-n", "-x", "--ib-dev", "--size", "--duration", "--qp", "--port")
MIB_PER_GBIT = 1e9 / 8 / 2**20


def peer_of(arguments: list[str]) -> str:
    """Return the host argument; none means that this side is the server."""
    for position, argument in enumerate(arguments):
        if not argument.startswith("-") and (position == 0 or arguments[position - 1] not in VALUED):
            return argument
    return ""


def meet(peer: str, port: int) -> None:
    """Wait for the other side, as server or client."""
    if peer:
        deadline = time.monotonic() + CONNECT_TIMEOUT_S
        while True:
            try:
                socket.create_connection((peer, port), timeout=CONNECT_TIMEOUT_S).close()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return
    with socket.create_server(("", port)) as server:
        server.accept()[0].close()


def report(arguments: list[str], gbits: float) -> None:
    """Print the table, in MiB/s unless Gb/s are asked for, and write the JSON file if wanted."""
    size = int(value_of(arguments, "-s", "--size") or 65536)
    in_gbits = "--report_gbits" in arguments
    unit, rate = ("Gb/sec", gbits) if in_gbits else ("MiB/sec", gbits * MIB_PER_GBIT)
    messages = gbits * 1e9 / 8 / size / 1e6
    print(" SIMULATED by the lab: no InfiniBand here")
    print(f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]")
    print(f" {size:<10} 5000             {rate:<19.2f}{rate:<20.2f}{messages:.6f}")
    target = next((text.partition("=")[2] for text in arguments if text.startswith("--out_json_file=")), "")
    if target:
        result = {"MsgSize": size, "BW_peak": rate, "BW_average": rate, "MsgRate": messages}
        Path(target).write_text(json.dumps({"results": result}, indent=1), encoding="utf-8")


def main() -> int:
    """Run one side of the test."""
    arguments = sys.argv[1:]
    try:
        meet(peer_of(arguments), int(value_of(arguments, "-p", "--port") or PORT))
    except OSError as error:
        print(f"Couldn't connect to {peer_of(arguments)}: {error}", file=sys.stderr)
        return 1
    report(arguments, float(read_state()["infiniband"]["bandwidth_gbits"]))
    return 0
