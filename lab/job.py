"""The main job: from nothing to two measured plans and a report."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import docker
from rich.console import Console

from lab.content import locked
from lab.display import Progress, make_display
from lab.keys import ensure_keys
from lab.playbook import Playbook, run_playbook
from lab.rig import Rig
from lab.settings import Lab, LabError
from lab.summary import print_summary
from lab.timing import Expectation, expected_s, history_key, read_history, write_history
from lab.unfinished import unfinished

Note = Callable[[str], None]
# Long enough that a moment's hiccup of a busy computer does not spoil a point, short enough to wait for.
SWEEPS: dict[str, dict[str, object]] = {
    "27b": {"bench_concurrency": [1, 8, 32], "bench_output_tokens": 64, "bench_prompts_per_slot": 10},
    "397b": {"bench_concurrency": [1, 8], "bench_output_tokens": 32, "bench_prompts_per_slot": 3},
}


@dataclass(frozen=True)
class Step:
    """One step of the job: what the operator reads, what it does, and how long that may take."""

    title: str
    act: Callable[[Note], object]
    expectation: Expectation


def twice(act: Callable[[Note], object]) -> Callable[[Note], object]:
    """Do it once more when it fails: a sweep then measures only what does not count, as on a computer that was busy."""

    def attempt(note: Note) -> None:
        try:
            act(note)
        except LabError:
            note("once more: only what does not count")
            act(note)

    return attempt


def plan_steps(rig: Rig, run_id: str) -> list[Step]:
    """List the steps in order."""
    lab = rig.lab

    def play(path: str, tags: str = "", variables: dict[str, object] | None = None) -> Callable[[Note], object]:
        return lambda note: run_playbook(lab, Playbook(path, tags, variables or {}), note)

    def sweep(plan: str) -> Callable[[Note], object]:
        common = {"bench_run_id": run_id, "bench_input_tokens": 64, "bench_retry_crashes": True}
        variables = SWEEPS[plan] | common
        return twice(play("playbooks/bench.yml", variables=variables))

    return [
        Step("Build the nodes' and the engine's images", rig.build_images, Expectation(75, 1)),
        Step("Build simulated hardware and stand-in models", rig.build_hardware, Expectation(3, 1)),
        Step("Install the real vLLM for CPUs", rig.build_engine, Expectation(80, 2)),
        Step("Start two nodes", rig.start_nodes, Expectation(6, 2)),
        Step("Prepare, accept, fetch, serve, publish: plan 27b", play("site.yml"), Expectation(120, 70)),
        Step("Measure 27b at N = 1, 8, 32 on both endpoints", sweep("27b"), Expectation(75, 75)),
        Step("Switch to plan 397b over both nodes", play("site.yml", "397b"), Expectation(45, 45)),
        Step("Measure 397b at N = 1, 8; judge and report", sweep("397b"), Expectation(55, 55)),
    ]


def alone(lab: Lab) -> AbstractContextManager[None]:
    """Be the only one who works on a lab's nodes, or refuse."""
    return locked(lab.lock, f"another bin/lab works on {lab.name}: wait for it, or set LAB_NAME and LAB_SUBNET")


def run_job(client: docker.DockerClient, lab: Lab, console: Console) -> None:
    """Run all steps and print what came of them."""
    rig = Rig(client, lab)
    with alone(lab):
        ensure_keys(lab)
        with unfinished(lab, SWEEPS) as (run_id, goes_on):
            if goes_on:
                console.print(f"Going on with the run {run_id}, which was interrupted.", highlight=False)
            run_steps(lab, plan_steps(rig, run_id), rig.was_built(), console, remember=not goes_on)
    print_summary(client, lab, run_id, console)


def run_steps(lab: Lab, steps: list[Step], again: bool, console: Console, remember: bool) -> None:
    """Run steps one after the other, shown and timed; what whole steps took is remembered for the next time."""
    history_file = lab.state / "durations.json"
    history = read_history(history_file)
    expected = [expected_s(step.title, step.expectation, history, again) for step in steps]
    display = make_display(Progress([step.title for step in steps], expected), console)
    try:
        for index, step in enumerate(steps):
            display.start(index)
            began = time.monotonic()
            step.act(display.note)
            display.finish()
            history[history_key(step.title, again)] = round(time.monotonic() - began, 1)
            if remember:
                write_history(history_file, history)
    finally:
        display.close()
