#!/usr/bin/python3
"""Keep one rank of a replica: run its engine while all ranks of the replica run, and at no other time.

systemd runs one keeper per rank. The keeper of rank 0 decides for all of them, those of the other ranks
hold a connection to it.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

from keeper_head import Head
from keeper_node import Node
from keeper_worker import Worker


def main() -> int:
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    keeper = (Worker if spec["rank"] else Head)(spec, Node(spec))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: keeper.post(keeper.on_leave))
    code = keeper.keep()
    if code == 0:
        keeper.state_path().unlink(missing_ok=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
