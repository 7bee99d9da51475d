"""opensm: while it runs, the port is Active."""

import os
import signal
import sys
import time
from pathlib import Path

DEFAULT_LOG = "/var/log/opensm.log"


def value_of(arguments: list[str], *names: str) -> str:
    """Return the value of the first option of these names, or an empty text."""
    for position, argument in enumerate(arguments[:-1]):
        if argument in names:
            return arguments[position + 1]
    return ""


def main() -> int:
    """Stay in the foreground, or go to the background with -B, until asked to stop."""
    arguments = sys.argv[1:]
    partitions = value_of(arguments, "-P", "--Pconfig")
    if partitions and not Path(partitions).is_file():
        print(f"opensm: cannot read partition file {partitions}", file=sys.stderr)
        return 1
    log = Path(value_of(arguments, "-f", "--log_file") or DEFAULT_LOG)
    if ("-B" in arguments or "--daemon" in arguments) and os.fork():
        return 0
    guid = value_of(arguments, "-g", "--guid") or "best port"
    with log.open("a", encoding="utf-8") as stream:
        stream.write(f"{time.strftime('%b %d %T')} OpenSM 3.3.23 (simulated) on {guid}: SUBNET UP\n")
    signal.sigwait({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
    return 0
