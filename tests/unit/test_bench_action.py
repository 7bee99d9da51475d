"""The action on the controller: the module's result is the module's, and people read how far it is."""

from __future__ import annotations

import hashlib
import json
import tarfile
import time
from pathlib import Path
from typing import Any

from tests.support.playbook import run_playbook
from tests.unit.test_bench_module import StandIn, client, options, url

__all__ = ["client", "url"]  # fixtures

PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - vllm_bench: {options}
      register: told
    - ansible.builtin.copy: {{content: "{{{{ told | to_json }}}}", dest: {out}, mode: "0644"}}
"""


def run(tmp_path: Path, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    play, out = tmp_path / "play.yml", tmp_path / "told.json"
    play.write_text(PLAY.format(options=json.dumps(given), out=out))
    done = run_playbook(str(play), inventory="localhost,")
    assert done.code == 0, done.output
    return done.output, json.loads(out.read_text())


def linger(spool: Path) -> None:
    progress = {"phase": "load", "prompts": 10, "concurrency": 1, "requests": 5, "tokens": 160, "elapsed_s": 2}
    (spool / "vllm-27b-0" / "progress.json").write_text(json.dumps(progress))
    time.sleep(2.5)


def test_progress_is_on_the_screen_and_in_a_file(tmp_path: Path, url: str, client: StandIn) -> None:
    client.leave_a_valid_run()
    client.after = lambda: linger(tmp_path / "work")
    shown = {"file": str(tmp_path / "progress.log"), "label": "27b 27b-base N=1 (1 of 5)"}
    screen, told = run(tmp_path, options(tmp_path, url, progress=shown))
    line = "27b 27b-base N=1 (1 of 5): vllm-27b-0 5 of 10 requests, 80 tok/s so far; 0:02 left for the point"
    assert line in screen
    assert line in (tmp_path / "progress.log").read_text()
    assert told["records"][0]["status"] == "valid"
    assert {"finished", "ansible_job_id", "results_file"} & set(told) == set()


def test_what_the_client_has_left_is_kept_on_the_controller(tmp_path: Path, url: str, client: StandIn) -> None:
    client.leave_a_valid_run()
    shown = {"file": str(tmp_path / "progress.log"), "label": "27b", "raw": str(tmp_path / "run" / "raw")}
    _, told = run(tmp_path, options(tmp_path, url, progress=shown))
    [kept] = (tmp_path / "run" / "raw").iterdir()
    assert kept.name == told["raw"] == "n1-ab-node1-1.tar.gz"
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == told["archive_sha256"]
    with tarfile.open(kept) as archive:
        assert "vllm-27b-0/result.json" in archive.getnames()


def test_what_cannot_be_kept_ends_in_one_line(tmp_path: Path, url: str, client: StandIn) -> None:
    client.leave_a_valid_run()
    (tmp_path / "run").write_text("no folder")
    shown = {"file": str(tmp_path / "progress.log"), "label": "27b", "raw": str(tmp_path / "run" / "raw")}
    play = tmp_path / "play.yml"
    play.write_text(PLAY.format(options=json.dumps(options(tmp_path, url, progress=shown)), out=tmp_path / "out"))
    done = run_playbook(str(play), inventory="localhost,")
    assert done.code != 0
    assert "what the client has left could not be kept" in done.output


def test_without_progress_the_module_runs_as_any_other(tmp_path: Path, url: str, client: StandIn) -> None:
    client.leave_a_valid_run()
    _, told = run(tmp_path, options(tmp_path, url))
    assert told["records"][0]["status"] == "valid"
