"""vllm_bench against a stand-in server and a client that a small program stands in for."""

from __future__ import annotations

import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunModule
from tests.support import bench_samples as samples

DOCKER = """#!/bin/sh
echo "$@" >> {log}
[ "$1" = run ] || exit 0
{action}
"""
JOURNALCTL = "#!/bin/sh\necho torch.OutOfMemoryError: CUDA out of memory\n"


class Server(BaseHTTPRequestHandler):
    """Answers as an engine does; health ends when the file `dead` is there."""

    model = "qwen3.6-27b"
    dead = Path("/nonexistent")

    def do_GET(self) -> None:
        answers = {"/v1/models": {"data": [{"id": self.model}]}, "/version": {"version": "0.32.0"}, "/health": {}}
        gone = self.path == "/health" and self.dead.exists()
        self.send_response(503 if gone else 200)
        self.end_headers()
        self.wfile.write(json.dumps(answers.get(self.path, {})).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Server, "dead", tmp_path / "dead")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Put a docker on the path whose client does what a test says."""

    def stand_in(action: str) -> Path:
        folder, log = tmp_path / "bin", tmp_path / "docker.log"
        folder.mkdir()
        texts = {"docker": DOCKER.format(log=log, action=action), "journalctl": JOURNALCTL}
        for name, text in texts.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return log

    return stand_in


def leave(tmp_path: Path) -> str:
    """Shell lines that leave the files of a valid run."""
    work = tmp_path / "work" / "vllm-27b-0"
    return f"cp {samples.DATA}/valid.json {work}/result.json; cp {samples.DATA}/valid-stamps.json {work}/stamps.json"


def options(tmp_path: Path, url: str, **changed: Any) -> dict[str, Any]:
    endpoint = {
        "name": "vllm-27b-0",
        "node": "node1",
        "url": url,
        "served_name": "qwen3.6-27b",
        "model_path": "/models/m",
    }
    point = {
        **{"concurrency": 1, "prompts": 10, "input_tokens": 64, "output_tokens": 32},
        "warmups": 1,
        "seed": 1,
        "hash": "ab",
    }
    given = {
        **{"endpoint": endpoint, "point": point, "image": "vllm:1", "client_path": "/opt/client.py", "timeout_s": 20},
        "barrier": {"address": "10.77.0.1", "port": 29590, "index": 0, "world": 2, "timeout_s": 5},
        "work_path": str(tmp_path / "work"),
        "environment": {"HF_HUB_OFFLINE": "1"},
    }
    return {**given, **changed}


def test_a_valid_run_becomes_a_record(run_module: RunModule, tmp_path: Path, url: str, client: Any) -> None:
    client(leave(tmp_path))
    told = run_module("vllm_bench", **options(tmp_path, url))
    record = told["record"]
    assert (told["failed"], told["changed"]) == (False, True)
    assert (record["status"], record["reasons"]) == ("valid", [])
    assert record["versions"] == {"server": "0.32.0", "client": "0.32.0"}
    assert (record["hash"], record["endpoint"], record["attempt"]) == ("ab", "vllm-27b-0", 1)


def test_the_clients_own_files_are_packed(run_module: RunModule, tmp_path: Path, url: str, client: Any) -> None:
    client(leave(tmp_path))
    told = run_module("vllm_bench", **options(tmp_path, url))
    with tarfile.open(told["archive"]) as archive:
        assert archive.getnames() == ["client.log", "result.json", "stamps.json"]
    assert told["raw"] == "n1-ab-vllm-27b-0-1.tar.gz"


def test_the_client_gets_every_setting(run_module: RunModule, tmp_path: Path, url: str, client: Any) -> None:
    log = client(leave(tmp_path))
    run_module("vllm_bench", **options(tmp_path, url))
    command = log.read_text()
    assert "--volumes-from=vllm-27b-0" in command
    assert "--env=HF_HUB_OFFLINE=1" in command
    assert "--barrier=10.77.0.1:29590 --index=0 --world=2" in command
    for stated in ("--temperature=0", "--seed=1", "--max-concurrency=1", "--num-prompts=10", "--request-rate=inf"):
        assert stated in command


def test_another_model_on_the_port_is_not_measured(
    run_module: RunModule, tmp_path: Path, url: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = client(leave(tmp_path))
    monkeypatch.setattr(Server, "model", "qwen3.5-397b")
    record = run_module("vllm_bench", **options(tmp_path, url))["record"]
    assert record["reasons"] == ["wrong_server"]
    assert record["detail"].endswith("serves qwen3.5-397b, wanted qwen3.6-27b")
    assert not log.exists()


def test_a_server_that_is_not_there_is_not_measured(run_module: RunModule, tmp_path: Path, client: Any) -> None:
    client("exit 0")
    record = run_module("vllm_bench", **options(tmp_path, "http://127.0.0.1:9"))["record"]
    assert record["reasons"] == ["server_not_ready"]
    assert record["engine_log"] == ["torch.OutOfMemoryError: CUDA out of memory"]


def test_engines_that_did_not_start_are_recorded(run_module: RunModule, tmp_path: Path, url: str, client: Any) -> None:
    client(leave(tmp_path))
    told = run_module("vllm_bench", **options(tmp_path, url, not_ready="node2: not ready after 300 s"))
    assert told["record"]["reasons"] == ["server_not_ready"]
    assert told["record"]["detail"] == "node2: not ready after 300 s"


def test_an_engine_that_dies_is_a_failed_run_with_its_last_words(
    run_module: RunModule, tmp_path: Path, url: str, client: Any
) -> None:
    client(f"{leave(tmp_path)}; touch {tmp_path}/dead")
    record = run_module("vllm_bench", **options(tmp_path, url))["record"]
    assert (record["status"], record["reasons"]) == ("failed", ["server_died"])
    assert record["figures"] == {}
    assert record["engine_log"]


def test_files_of_an_earlier_run_are_never_taken_for_this_one(
    run_module: RunModule, tmp_path: Path, url: str, client: Any
) -> None:
    work = tmp_path / "work" / "vllm-27b-0"
    work.mkdir(parents=True)
    (work / "result.json").write_text(samples.text("valid.json"))
    client("echo ValueError: no tokenizer >&2; exit 1")
    told = run_module("vllm_bench", **options(tmp_path, url))
    assert told["record"]["reasons"] == ["client_failed"]
    assert told["summary"] == "failed (client_failed)"


def test_a_client_that_does_not_end_is_stopped(run_module: RunModule, tmp_path: Path, url: str, client: Any) -> None:
    client("exec sleep 30")
    record = run_module("vllm_bench", **options(tmp_path, url, timeout_s=1))["record"]
    assert record["reasons"] == ["client_timeout"]


def test_a_client_that_waits_alone_says_so(run_module: RunModule, tmp_path: Path, url: str, client: Any) -> None:
    client("exit 42")
    assert run_module("vllm_bench", **options(tmp_path, url))["record"]["reasons"] == ["barrier"]


def test_check_mode_measures_nothing(run_module: RunModule, tmp_path: Path, url: str, client: Any) -> None:
    log = client(leave(tmp_path))
    told = run_module("vllm_bench", check=True, **options(tmp_path, url))
    assert (told["changed"], told["record"]) == (False, {})
    assert not log.exists()
