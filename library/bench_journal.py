#!/usr/bin/python
"""Write down what a benchmark run is about, then what happens in it, so that a kill loses nothing."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import (
    bench_points,
    bench_rows,
    bench_schedule,
    bench_spent,
    journal,
    machine_facts,
    results,
)
from ansible.module_utils.apollo.judge_facts import FACT
from ansible.module_utils.apollo.results import JOURNAL, MANIFEST
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: bench_journal
short_description: Write a benchmark run's manifest and append to its journal
description:
  - The manifest is written first, in one step. A sweep that it already holds stays as it was and only gains new points.
  - Every event is one line of C(journal.jsonl), on disk before the module returns. Nothing is ever overwritten.
  - A fact, such as how long an engine took to start, is noted once, however often it is told.
  - Runs on the controller.
author: [Apollo inference]
attributes:
  check_mode: {support: full}
  diff_mode: {support: none, details: A journal only grows.}
  idempotent: {support: partial, details: "The manifest is, an event is not: it happened again."}
options:
  path:
    description: Directory of the run on the controller. It is made where it does not exist.
    type: path
    required: true
  about:
    description: What the whole run is about, such as run_id, site_kind and site_name.
    type: dict
    default: {}
  sweep:
    description: What is swept, with layout, settings, image, client, hardware and nodes. It gives the points.
    type: dict
    default: {}
  schedule:
    description: How often and in which order the sweep's points are measured.
    type: dict
    default: {}
    suboptions:
      repeats: {type: int, default: 1, description: Valid attempts that each point needs.}
      order:
        description: All repeats of one N after each other on the same engines, or pass by pass with fresh engines.
        type: str
        default: grouped
        choices: [grouped, interleaved]
      restart: {type: bool, default: true, description: Whether engines start anew at all.}
      redo: {type: bool, default: false, description: Measure again what has enough valid attempts.}
      retry_crashes: {type: bool, default: false, description: Try again from the N on at which an engine died.}
  events:
    description: What happened, each with a key C(event). The time is added, and to the end of a point what came of it.
    type: list
    elements: dict
    default: []
  reserve_mib:
    description: Free space that must be left under O(path) before anything is written.
    type: int
    default: 0
"""

EXAMPLES = r"""
- name: Open the run
  bench_journal:
    path: results/20261130-27b
    about: {run_id: 20261130-27b, site_kind: hardware, site_name: apollo-1}
    sweep:
      layout: "{{ plan_layout }}"
      image: vllm/vllm-openai:v0.32.0
      settings:
        {concurrency: [1, 8], prompts_per_slot: 10, input_tokens: 2048, output_tokens: 1024, seed: 0, restart: true}
  register: run

- name: Say that a point begins
  bench_journal:
    path: results/20261130-27b
    events: [{event: point_started, hash: "{{ run.points[0].hash }}"}]
"""

RETURN = r"""
points:
  description: The sweep's points with settings and hash, and whether each is done already. Empty without a sweep.
  returned: always
  type: list
  elements: dict
turns:
  description: Every attempt that is to be made, in order, with point, endpoints and restart. Empty without a sweep.
  returned: always
  type: list
  elements: dict
sweep_id: {description: Id of the sweep; empty without one., returned: always, type: str}
events: {description: The events as they were written., returned: always, type: list, elements: dict}
spent: {description: Where the time of all turns so far went., returned: always, type: str}
torn_lines: {description: Lines of the journal that were cut off or damaged., returned: always, type: int}
"""

LATEST = "latest"


def planned(sweep: dict[str, Any]) -> dict[str, Any]:
    """The sweep with its id and its points."""
    shapes = {"points": bench_points.plan_points(sweep), "alone_points": bench_points.plan_alone_points(sweep)}
    return {**sweep, "id": bench_points.sweep_id(sweep), **shapes}


def open_run(module: AnsibleModule, folder: Path, known: journal.Journal) -> tuple[bool, dict[str, Any]]:
    """Write the manifest where it changes; give the sweep's points, whether they are done, and what is to do."""
    before = results.read_manifest(folder)
    after = {**before, **module.params["about"]}
    sweep = planned(module.params["sweep"]) if module.params["sweep"] else {}
    if sweep:
        after = journal.merge_sweep(after, sweep)
    if after != before and not module.check_mode:
        after.setdefault("opened_s", time.time())
        write_manifest(module, folder, after)
    if not sweep:
        return after != before, {"points": [], "turns": [], "sweep_id": ""}
    wish = bench_schedule.Wish(**module.params["schedule"])
    rows = bench_rows.read_rows({"sweeps": [sweep]}, known.events)[0]
    done = {row.point["hash"]: bench_schedule.missing(row, wish) == 0 for row in (*rows.rows, *rows.alone)}
    points = [{**point, "done": done[point["hash"]]} for point in (*sweep["points"], *sweep["alone_points"])]
    return after != before, {"points": points, "turns": bench_schedule.turns(rows, wish), "sweep_id": sweep["id"]}


def write_manifest(module: AnsibleModule, folder: Path, manifest: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{MANIFEST}.part"
    with part.open("w", encoding="utf-8") as text:
        text.write(json.dumps(manifest, indent=1, sort_keys=True) + "\n")
        sync(text.fileno())
    module.atomic_move(str(part), str(folder / MANIFEST))
    link = folder.parent / f".{LATEST}.{os.getpid()}"
    link.symlink_to(folder.name)
    link.replace(folder.parent / LATEST)
    sync_folder(folder)


def sync(file: int) -> None:
    """Return when the disk has it."""
    os.fsync(file)


def sync_folder(folder: Path) -> None:
    """A new file's name is on the disk only when its folder is."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def append(folder: Path, known: journal.Journal, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write each event as one line, and return when the disk has it."""
    path = folder / JOURNAL
    is_new = not path.exists()
    torn = journal.ends_torn(path.read_text(encoding="utf-8", errors="replace") if path.exists() else "")
    manifest = results.read_manifest(folder)
    written: list[dict[str, Any]] = []
    with path.open("a", encoding="utf-8") as lines:
        lines.write("\n" if torn else "")
        for event in events:
            written.append(stamp(manifest, (*known.events, *written), event))
            lines.write(journal.encode(written[-1]))
            lines.flush()
            sync(lines.fileno())
    if is_new:
        sync_folder(folder)
    return written


def stamp(manifest: dict[str, Any], known: Sequence[journal.Event], event: dict[str, Any]) -> dict[str, Any]:
    """Add the time, to a point its attempt or what came of it, and to a fact on what kind of site it was found."""
    added: dict[str, Any] = {}
    if event["event"] == journal.POINT_STARTED:
        added = {"attempt": journal.next_attempt(known, event["hash"])}
    if event["event"] == journal.POINT_ENDED:
        added = bench_rows.outcome(manifest, known, event["hash"])
        added["spent"] = bench_spent.spent(known, event, time.time())
    if event["event"] == FACT:
        added = {"site_kind": manifest.get("site_kind")}
    return {"at_s": time.time(), "schema": journal.SCHEMA, **event, **added}


def require_space(module: AnsibleModule, folder: Path) -> None:
    """Better to stop before a measurement than to lose it."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free, wanted = shutil.disk_usage(there).free // 2**20, module.params["reserve_mib"]
    if free < wanted:
        module.fail_json(msg=f"{there}: {free} MiB are free, {wanted} are needed: free some, or set bench_results_path")


def spec() -> dict[str, Any]:
    """The options."""
    flag = {"type": "bool", "default": False}
    wish = {
        "repeats": {"type": "int", "default": 1},
        "order": {"type": "str", "default": "grouped", "choices": list(bench_schedule.ORDERS)},
        **{"restart": {"type": "bool", "default": True}, "redo": flag, "retry_crashes": flag},
    }
    return {
        "path": {"type": "path", "required": True},
        "about": {"type": "dict", "default": {}},
        "sweep": {"type": "dict", "default": {}},
        "schedule": {"type": "dict", "default": {}, "options": wish},
        "events": {"type": "list", "elements": "dict", "default": []},
        "reserve_mib": {"type": "int", "default": 0},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=spec(), supports_check_mode=True)
    folder, events = Path(module.params["path"]), module.params["events"]
    nameless = [event for event in events if "event" not in event]
    if nameless:
        module.fail_json(msg=f"an event has no key 'event', only {', '.join(sorted(nameless[0])) or 'nothing'}")
    try:
        require_space(module, folder)
        known = results.read_journal(folder)
        changed, told = open_run(module, folder, known)
        fresh = machine_facts.news(known.events, events)
        written = fresh if module.check_mode else append(folder, known, fresh) if fresh else []
        spent = bench_spent.summary([*known.events, *written])
    except results.RunError as error:
        module.fail_json(msg=str(error))
    except OSError as error:
        module.fail_json(msg=f"{folder}: {error.strerror}: the run stops, since what it measures could not be kept")
    module.exit_json(changed=changed or bool(written), events=written, torn_lines=known.torn_lines, spent=spent, **told)


if __name__ == "__main__":
    main()
