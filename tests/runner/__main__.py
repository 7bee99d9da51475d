"""bin/test: run the project's tests, in whole or in part."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.runner.execute import Outcome, run_all
from tests.runner.stages import chosen
from tests.runner.summary import Counts, slowest

HELP = """\
parts:
  (nothing)             all of it: quick, lab, molecule; under an hour
  quick                 lint, unit, contract; three minutes, no container engine
  lint                  ruff, yamllint, mypy, ansible-lint
  unit                  the thinking in module_utils/, and the modules around it
  contract              what the parts of the project promise each other
  lab                   bin/lab from no node, second run unchanged, report
  molecule [SCENARIO]   stories on lab nodes: switch, lifecycle, prepare, ...
"""


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="bin/test", description=__doc__, epilog=HELP, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="*", help="what to run, see below")
    try:
        stages = chosen(parser.parse_args(words).part)
    except ValueError as error:
        parser.error(str(error))
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="apollo-test-") as folder:
        outcomes = run_all(stages, Path(folder))
    tell(outcomes, time.monotonic() - start)
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def tell(outcomes: Sequence[Outcome], seconds: float) -> None:
    print("\nslowest parts:")
    print("\n".join(slowest((outcome.stage.name, outcome.seconds) for outcome in outcomes)))
    for outcome in outcomes:
        if not outcome.passed:
            print(f"not passed: {outcome.stage.name}" + (f" ({outcome.reason})" if outcome.reason else ""))
    print(f"whole run: {int(seconds // 60)} min {int(seconds % 60)} s")
    print(sum((outcome.counts for outcome in outcomes), Counts()))


if __name__ == "__main__":
    for kind in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C, unless nohup says otherwise: nothing is left running
        if signal.getsignal(kind) is not signal.SIG_IGN:
            signal.signal(kind, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("bin/test: interrupted")
