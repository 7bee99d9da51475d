#!/usr/bin/python3
"""Wait until this computer's fabric carries traffic; end with 1 when it does not within the limit.

systemd runs it at boot, and again after a while when it failed. What it prints is one line whenever the state changes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import fabric  # lies beside this program on a node

INTERVAL_S = 2.0
CALL_TIMEOUT_S = 10.0
INTERFACES = Path("/sys/class/net")


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interface", required=True, help="network interface on the fabric")
    parser.add_argument("--address", required=True, help="its address, with prefix length")
    parser.add_argument("--rate", type=float, required=True, help="least rate of the port in Gb/s")
    parser.add_argument("--device", default="", help="RDMA device; without it the one behind the interface")
    parser.add_argument("--mtu", type=int, help="bytes in a packet")
    parser.add_argument("--peer", action="append", default=[], help="address that must answer; may be given again")
    parser.add_argument("--timeout", type=float, default=60, help="seconds after which to give up")
    return parser.parse_args(arguments)


def run(*command: str) -> tuple[bool, str]:
    """Run a command; say whether it succeeded and what it printed. A missing or silent one did not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CALL_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False, ""
    return done.returncode == 0, done.stdout


def look(wanted: argparse.Namespace) -> fabric.Report:
    """Read port, subnet manager, interface and peers once."""
    behind = sorted(path.name for path in (INTERFACES / wanted.interface / "device" / "infiniband").glob("*"))
    port = fabric.choose_port(fabric.parse_ibstat(run("ibstat")[1]), wanted.device or "".join(behind[:1]))
    manager = run("sminfo", "-C", port.device, "-P", str(port.port))[1] if port else ""
    mode = INTERFACES / wanted.interface / "mode"
    return fabric.Report(
        port=port,
        subnet_manager=fabric.parse_sminfo(manager),
        interface=fabric.find_interface(
            run("ip", "-json", "address", "show")[1],
            wanted.interface,
            mode.read_text().strip() if mode.is_file() else None,
        ),
        peers={peer: run("ping", "-q", "-c", "1", "-w", "2", peer)[0] for peer in wanted.peer},
    )


def main() -> int:
    """Look until nothing is wrong or the time is over, and say how it ended."""
    wanted = options()
    expected = fabric.Expected(wanted.interface, wanted.address, wanted.rate, wanted.mtu)
    end, told = time.monotonic() + wanted.timeout, ""
    while True:
        faults = fabric.faults(look(wanted), expected)
        if not faults:
            print(f"{wanted.interface} has {wanted.address}, {len(wanted.peer)} peer(s) answer")
            return 0
        if faults[0] != told:
            told = faults[0]
            print(f"waiting: {told}", flush=True)
        if time.monotonic() + INTERVAL_S > end:
            print(f"not ready within {wanted.timeout:.0f} s: {'; '.join(faults)}", file=sys.stderr)
            return 1
        time.sleep(INTERVAL_S)


if __name__ == "__main__":
    sys.exit(main())
