"""Run module vllm_bench on its node, tell on the controller how far it is, and keep there what the client has left."""

from __future__ import annotations

import base64
import hashlib
import shlex
import time
from pathlib import Path
from typing import Any

import ansible.module_utils
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

PROJECT = Path(__file__).resolve().parents[1]
if str(PROJECT / "module_utils") not in ansible.module_utils.__path__:
    ansible.module_utils.__path__.append(str(PROJECT / "module_utils"))

from ansible.module_utils.apollo import bench_progress  # noqa: E402 - needs the path above

LOOK_S, LOST_LIMIT_S, GRACE_S = 0.5, 120.0, 600
LOOKS, PAUSE_S = 4, 0.2  # on the node, before it answers that the module still runs
MARK = "---"
OF_THE_JOB = ("ansible_job_id", "results_file", "started", "finished")

display = Display()


class ActionModule(ActionBase):
    """The module itself runs in the background; one small shell command a moment reads what it has written."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        arguments = self._task.args
        if self._task.check_mode or not arguments.get("progress"):
            return dict(self._execute_module(task_vars=task_vars))
        limit_s = int(arguments["timeout_s"]) + int(arguments["barrier"]["timeout_s"]) + GRACE_S
        self._task.async_val = limit_s
        started = self._execute_module(task_vars=task_vars, wrap_async=True)
        self._task.async_val = 0
        if "ansible_job_id" not in started:
            return dict(started)
        told = bench_progress.read(self.follow(arguments, str(started["results_file"]), limit_s))
        if "records" not in told:  # the module did not end as it should: Ansible says why
            told = self.collect(str(started["ansible_job_id"]), str(started["results_file"]), task_vars)
        self._low_level_execute_command(f"rm -f {shlex.quote(str(started['results_file']))}")
        self.keep(told, arguments["progress"].get("raw"))
        return {name: value for name, value in told.items() if name not in OF_THE_JOB}

    def follow(self, arguments: dict[str, Any], results_file: str, limit_s: int) -> str:
        """Until the module has ended: a line now and then. What the file of its job then holds is its result."""
        gives_up = time.monotonic() + limit_s
        shown, spool = arguments["progress"], arguments["work_path"]
        files = [f"{spool}/{endpoint['name']}/progress.json" for endpoint in arguments["endpoints"]]
        told = bench_progress.Teller(shown["label"], float(shown.get("every_s", 10)))
        told.rest = bench_progress.Rest.read(shown, time.time())
        command = f"{self.until_over(results_file)}; for f in {shlex.join(files)}; do echo; echo {MARK}; cat $f; done"
        while time.monotonic() < gives_up:
            answer, *progress = self.read(command).split(MARK)
            if bench_progress.is_over(answer):
                return answer
            time.sleep(0 if answer.strip() else LOOK_S)
            seen = [bench_progress.read(text) for text in progress]
            names = [str(endpoint["name"]) for endpoint in arguments["endpoints"]]
            if line := told.line(dict(zip(names, seen, strict=False)), time.monotonic()):
                self.say(line, Path(shown["file"]))
        return ""

    def until_over(self, results_file: str) -> str:
        """Show the file of the job once it says that it is over, or after a moment."""
        file, runs = shlex.quote(results_file), shlex.quote('"finished": *(0|false)')
        looks = " ".join(map(str, range(LOOKS)))
        return f"for i in {looks}; do grep -qE {runs} {file} || break; sleep {PAUSE_S}; done; cat {file}"

    def keep(self, told: dict[str, Any], folder: str | None) -> None:
        """Have the client's own files on the controller: whole, and in one step."""
        if not folder or not told.get("archive"):
            return
        content = base64.b64decode(self.read(f"base64 {shlex.quote(told['archive'])}"))
        if hashlib.sha256(content).hexdigest() != told["archive_sha256"]:
            raise AnsibleError(f"{told['archive']} did not arrive whole: what the client has left could not be kept")
        path = Path(folder) / str(told["raw"])
        part = path.with_name(f".{path.name}.part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(content)
            part.replace(path)
        except OSError as error:
            raise AnsibleError(f"{path}: {error.strerror}: what the client has left could not be kept") from error

    def read(self, command: str) -> str:
        """Read on the node; a connection that breaks for a while does not end a measurement."""
        gives_up = time.monotonic() + LOST_LIMIT_S
        while True:
            try:
                return str(self._low_level_execute_command(f"({command}) 2>/dev/null")["stdout"])
            except AnsibleConnectionFailure:
                if time.monotonic() > gives_up:
                    raise
                time.sleep(LOOK_S)

    def say(self, line: str, file: Path) -> None:
        display.display(line)
        try:
            with file.open("a", encoding="utf-8") as lines:
                lines.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
        except OSError as error:
            raise AnsibleError(f"{file}: {error.strerror}: the progress could not be kept") from error

    def collect(self, job: str, results_file: str, task_vars: dict[str, Any] | None) -> dict[str, Any]:
        asked = {"jid": job, "mode": "status", "_async_dir": str(Path(results_file).parent)}
        return dict(self._execute_module("ansible.builtin.async_status", module_args=asked, task_vars=task_vars))
