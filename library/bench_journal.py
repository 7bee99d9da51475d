#!/usr/bin/python
"""Write down what a benchmark run is about, then what happens in it, so that a kill loses nothing."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.apollo import bench_points, journal
from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: bench_journal
short_description: Write a benchmark run's manifest and append to its journal
description:
  - The manifest is written first, in one step. A sweep that it already holds stays as it was and only gains new points.
  - Every event is one line of C(journal.jsonl), on disk before the module returns. Nothing is ever overwritten.
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
  events:
    description: What happened, each with a key C(event). The time is added.
    type: list
    elements: dict
    default: []
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
sweep_id: {description: Id of the sweep; empty without one., returned: always, type: str}
events: {description: The events as they were written., returned: always, type: list, elements: dict}
torn_lines: {description: Lines of the journal that an earlier kill cut off., returned: always, type: int}
"""

MANIFEST, JOURNAL, LATEST = "manifest.json", "journal.jsonl", "latest"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def open_run(module: AnsibleModule, folder: Path, known: journal.Journal) -> tuple[bool, str, list[dict[str, Any]]]:
    """Write the manifest where it changes; give the sweep's points and whether they are done."""
    sweep, about = module.params["sweep"], module.params["about"]
    before = json.loads(read(folder / MANIFEST) or "{}")
    after = {**before, **about}
    points: list[dict[str, Any]] = []
    name = ""
    if sweep:
        name, points = bench_points.sweep_id(sweep), bench_points.plan_points(sweep)
        after = journal.merge_sweep(after, {**sweep, "id": name, "points": points})
    if after != before and not module.check_mode:
        after.setdefault("opened_s", time.time())
        write_manifest(module, folder, after)
    endpoints = [endpoint["name"] for endpoint in sweep["layout"]["endpoints"]] if sweep else []
    done = [{**point, "done": journal.is_done(known.events, point["hash"], endpoints)} for point in points]
    return after != before, name, done


def write_manifest(module: AnsibleModule, folder: Path, manifest: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{MANIFEST}.part"
    part.write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    module.atomic_move(str(part), str(folder / MANIFEST))
    link = folder.parent / f".{LATEST}.{os.getpid()}"
    link.symlink_to(folder.name)
    link.replace(folder.parent / LATEST)


def append(folder: Path, known: journal.Journal, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write each event as one line, and return when the disk has it."""
    stamped = [stamp(known, event) for event in events]
    path = folder / JOURNAL
    torn = journal.ends_torn(read(path))
    with path.open("a", encoding="utf-8") as lines:
        lines.write("\n" if torn else "")
        for event in stamped:
            lines.write(journal.encode(event))
            lines.flush()
            os.fsync(lines.fileno())
    return stamped


def stamp(known: journal.Journal, event: dict[str, Any]) -> dict[str, Any]:
    """Add the time; a point that begins also gets the number of its attempt."""
    started = event["event"] == journal.POINT_STARTED
    attempt = {"attempt": journal.next_attempt(known.events, event["hash"])} if started else {}
    return {"at_s": time.time(), "schema": journal.SCHEMA, **event, **attempt}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "about": {"type": "dict", "default": {}},
            "sweep": {"type": "dict", "default": {}},
            "events": {"type": "list", "elements": "dict", "default": []},
        },
        supports_check_mode=True,
    )
    folder, events = Path(module.params["path"]), module.params["events"]
    nameless = [event for event in events if "event" not in event]
    if nameless:
        module.fail_json(msg=f"an event has no key 'event', only {', '.join(sorted(nameless[0])) or 'nothing'}")
    known = journal.read(read(folder / JOURNAL))
    try:
        changed, name, points = open_run(module, folder, known)
        written = events if module.check_mode else append(folder, known, events) if events else []
    except OSError as error:
        module.fail_json(msg=f"{folder}: {error.strerror}: the run stops, since what it measures could not be kept")
    shared = {"points": points, "sweep_id": name, "events": written, "torn_lines": known.torn_lines}
    module.exit_json(changed=changed or bool(events), **shared)


if __name__ == "__main__":
    main()
