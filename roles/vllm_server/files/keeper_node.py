"""What a keeper does on its own node: run the container, clear it away, prove the GPUs free, ask for a token."""

from __future__ import annotations

import http.client
import json
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gpu  # these three lie beside this program on a node
import pulse
import ready

LABEL = "apollo.revision"
CALL_LIMIT_S = 130.0
LOOK_LIMIT_S = 5.0
IDLE_S = 1.0  # an engine that ends and has had nothing to do for so long has finished
TOKEN_COUNTERS = ("vllm:generation_tokens_total", "vllm:prompt_tokens_total")


def call(*command: str, limit_s: float = CALL_LIMIT_S) -> tuple[int, str]:
    """Run a command; give its code and all that it printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit_s, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return 124, f"{command[0]} gives no answer: {error}"
    return done.returncode, done.stdout + done.stderr


class Node:
    """The engine of one rank on this node, as its specification says."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = spec
        self.name = str(spec["name"])
        self.process: subprocess.Popen[bytes] | None = None

    def run(self) -> subprocess.Popen[bytes]:
        """Start the container; what it says goes where the keeper's own words go."""
        self.process = subprocess.Popen(self.spec["argv"], stdin=subprocess.DEVNULL)
        return self.process

    def last_words(self) -> str:
        """Say why the engine ended, as far as its log tells."""
        code, log = call("docker", "logs", "--tail=400", self.name)
        told = ready.last_error(log.splitlines()) if code == 0 else ""
        state = call("docker", "inspect", "--format={{.State.ExitCode}}", self.name)[1].strip()
        return told or f"it ended with code {state or 'unknown'} and its log names no error"

    def clear(self, grace_s: int, hurried: Callable[[], bool]) -> list[str]:
        """End the engine, remove its container, prove the GPUs free; give what is in the way. No proof in a hurry."""
        self._end(grace_s)
        self._remove()
        end = time.monotonic() + float(self.spec["gpu_free_timeout_s"])
        while not hurried() and (faults := self.faults()):
            if time.monotonic() > end:
                return faults
            time.sleep(0.5)
        return []

    def _end(self, grace_s: int) -> None:
        """Ask the engine to end, and give it time for what it works on, but none for taking itself apart."""
        call("docker", "kill", "--signal=SIGTERM", self.name)
        end, worked_at = time.monotonic() + grace_s, time.monotonic()
        while self.process and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.2)
            look = self.look(LOOK_LIMIT_S) if grace_s > IDLE_S else None
            worked_at = worked_at if look and not look.busy else time.monotonic()
            if time.monotonic() - worked_at > IDLE_S:
                return

    def _remove(self) -> None:
        """Remove the container, also one that the client is only about to create."""
        end = time.monotonic() + CALL_LIMIT_S
        while True:
            over = self.process is None or self.process.poll() is not None
            call("docker", "rm", "--force", self.name)
            if over:
                return
            if self.process and time.monotonic() > end:
                self.process.kill()
            time.sleep(0.2)

    def faults(self) -> list[str]:
        """Say what keeps the engine's GPUs from being free; other engines of ours are on GPUs of their own."""
        code, listed = call("docker", "ps", "--quiet", "--no-trunc", f"--filter=label={LABEL}")
        if code != 0:
            return [f"the container engine does not answer: {' '.join(listed.split())[:200]}"]
        gpus = [found for found in gpu.parse_gpus(self._smi("gpu", gpu.GPU_FIELDS)) if found.index in self.spec["gpus"]]
        if len(gpus) < len(self.spec["gpus"]):
            return [f"{len(gpus)} of the engine's {len(self.spec['gpus'])} GPUs answer: see `nvidia-smi`"]
        report = gpu.Report(gpus=tuple(gpus), processes=self._holders({found.uuid for found in gpus}))
        limit = int(self.spec["gpu_free_mib"])
        return gpu.faults(report, gpu.Expected(containers=tuple(listed.split()), idle_memory_max_mib=limit))

    def ask(self) -> ready.Finding | None:
        """Ask the endpoint for a token; give what is in the way."""
        for step in ready.steps(self.spec["served_name"], False, {}):
            finding = step.judge(self._request(step.path, step.body))
            if finding:
                return finding
        return None

    def look(self, limit_s: float | None = None) -> pulse.Look | None:
        """Read the engine's counters."""
        page = self._request("/metrics", None, limit_s)
        if page.status != 200:
            return None
        busy = sum(ready.gauge(page.text, name) for name in ready.BUSY_GAUGES)
        return pulse.Look(int(busy), sum(ready.gauge(page.text, name) for name in TOKEN_COUNTERS))

    def _smi(self, subject: str, fields: tuple[str, ...]) -> str:
        return call("nvidia-smi", f"--query-{subject}={','.join(fields)}", "--format=csv,noheader,nounits")[1]

    def _holders(self, uuids: set[str]) -> tuple[gpu.Process, ...]:
        rows = gpu.parse_processes(self._smi("compute-apps", gpu.PROCESS_FIELDS))
        return tuple(
            gpu.Process(row.pid, row.name, row.gpu_uuid, row.used_memory_mib, container_of(row.pid))
            for row in rows
            if row.gpu_uuid in uuids
        )

    def _request(self, path: str, body: Mapping[str, Any] | None, limit_s: float | None = None) -> ready.Answer:
        address, limit_s = urlsplit(self.spec["url"]), limit_s or float(self.spec["token_timeout_s"])
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=limit_s)
        try:
            text = json.dumps(body) if body else None
            connection.request("POST" if body else "GET", path, text, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return ready.Answer(response.status, response.read().decode(errors="replace"))
        except (OSError, http.client.HTTPException) as error:
            return ready.Answer(None, error=" ".join(str(error).split()) or type(error).__name__)
        finally:
            connection.close()


def container_of(pid: int) -> str:
    try:
        return gpu.parse_container(Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8"))
    except OSError:
        return ""
