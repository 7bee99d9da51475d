"""Run the stages one after the other, show what they print, and remember how each went."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.runner.stages import Stage
from tests.runner.summary import Counts, counts_in

PROJECT = Path(__file__).resolve().parents[2]
END_TIMEOUT_S = 15


@dataclass(frozen=True)
class Outcome:
    """How one stage went; a stage that did not run has a reason."""

    stage: Stage
    passed: bool
    seconds: float
    counts: Counts
    reason: str = ""


def run_all(stages: Sequence[Stage], results: Path) -> list[Outcome]:
    """Run every stage whose need was met; one failure does not keep the others from telling theirs."""
    outcomes: list[Outcome] = []
    for stage in stages:
        unmet = [past for past in outcomes if past.stage.name == stage.needs and not past.passed]
        outcome = _skipped(stage) if unmet else _run(stage, results)
        outcomes.append(outcome)
    return outcomes


def _skipped(stage: Stage) -> Outcome:
    reason = f"'{stage.needs}' did not pass"
    print(f"\n=== {stage.name}: skipped, {reason}", flush=True)
    return Outcome(stage, passed=False, seconds=0.0, counts=Counts(skipped=1), reason=reason)


def _run(stage: Stage, results: Path) -> Outcome:
    print(f"\n=== {stage.name}: {' '.join(stage.command)}", flush=True)
    start = time.monotonic()
    report = results / stage.results if stage.results else None
    command = [*stage.command, *([f"--junitxml={report}"] if report else [])]
    code = _exit_code(command, stage)
    seconds = time.monotonic() - start
    passed = code == stage.expected
    print(f"=== {stage.name}: {'passed' if passed else f'FAILED (exit {code})'} in {seconds:.0f} s", flush=True)
    return Outcome(stage, passed, seconds, counts_in(report, passed))


def _exit_code(command: Sequence[str], stage: Stage) -> int:
    try:
        process = subprocess.Popen(
            command, cwd=PROJECT, env=_environment(stage), stdin=subprocess.DEVNULL, process_group=0
        )
    except FileNotFoundError as missing:
        print(f"{missing.filename} is not there: run bin/test, which installs it", flush=True)
        return 127
    try:
        code = process.wait()
    except BaseException:
        _end(process)
        raise
    return 128 - code if code < 0 else code


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing behind that goes on with the nodes: a stage's own children end with it."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(END_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def _environment(stage: Stage) -> dict[str, str]:
    """Tests use nodes of their own: the lab that somebody has up beside them stays as it is."""
    lab = {"LAB_NAME": "apollo-test", "LAB_SUBNET": "79", "APOLLO_TEST_HAS_LAB": "1"} if stage.uses_lab else {}
    return {"ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "PY_COLORS": "0", **lab, **os.environ}
