"""vllm_bench against a stand-in server and a client that a small program stands in for."""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import bench_command, bench_spool
from ansible.module_utils.apollo.bench_run import read_point

from tests.conftest import RunModule
from tests.support import bench_samples as samples

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


class StandIn:
    """Takes jobs as the resident client does, and leaves what a test says."""

    def __init__(self, spool: Path) -> None:
        self.spool = spool
        self.files: dict[str, str] = {}
        self.code: int | None = 0
        self.after: Callable[[], object] = lambda: None
        self.takes, self.ends = True, threading.Event()
        self.tasks: list[dict[str, Any]] = []

    def leave(self, **files: str) -> None:
        self.files = {f"{name}.json": text for name, text in files.items()}

    def leave_a_valid_run(self) -> None:
        self.leave(result=samples.text("valid.json"), stamps=samples.text("valid-stamps.json"))

    def work(self) -> None:
        while not self.ends.wait(0.01):
            for task in self.spool.glob("*/task.json") if self.takes else ():
                self.tasks.append(json.loads(task.read_text()))
                task.rename(task.with_name("taken.json"))
            for go in self.spool.glob("*/go"):
                if not (go.parent / "done.json").exists():
                    self.end(go.parent)

    def end(self, folder: Path) -> None:
        stopped = (folder / "stop").read_text() if (folder / "stop").exists() else ""
        if self.code is None and not stopped:
            return
        for name, text in self.files.items():
            (folder / name).write_text(text)
        self.after()
        (folder / ".done").write_text(json.dumps({"code": 43 if self.code is None else self.code, "stopped": stopped}))
        (folder / ".done").rename(folder / "done.json")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """A client that stands in for the resident one, and the programs that the module asks."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {"docker": "#!/bin/sh\necho ImportError: no vllm\n", "journalctl": JOURNALCTL}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin")
    stand_in = StandIn(tmp_path / "work")
    thread = threading.Thread(target=stand_in.work)
    thread.start()
    yield stand_in
    stand_in.ends.set()
    thread.join()


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
    barrier = {"address": "10.77.0.1", "port": 29590, "names": ["other", "vllm-27b-0"], "timeout_s": 5}
    given = {"endpoints": [endpoint], "point": point, "barrier": barrier, "timeout_s": 20}
    return {**given, "work_path": str(tmp_path / "work"), **changed}


def record_of(told: dict[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = told["records"][0]
    return record


def test_a_valid_run_becomes_a_record(run_module: RunModule, tmp_path: Path, url: str, client: StandIn) -> None:
    client.leave_a_valid_run()
    told = run_module("vllm_bench", **options(tmp_path, url))
    record = record_of(told)
    assert (told["failed"], told["changed"]) == (False, True)
    assert (record["status"], record["reasons"]) == ("valid", [])
    assert record["versions"] == {"server": "0.32.0", "client": "0.32.0"}
    assert (record["hash"], record["endpoint"], record["attempt"]) == ("ab", "vllm-27b-0", 1)


def test_the_clients_own_files_are_packed(run_module: RunModule, tmp_path: Path, url: str, client: StandIn) -> None:
    client.leave_a_valid_run()
    told = run_module("vllm_bench", **options(tmp_path, url))
    with tarfile.open(told["archive"]) as archive:
        assert {"vllm-27b-0/result.json", "vllm-27b-0/stamps.json"} <= set(archive.getnames())
    assert told["raw"] == "n1-ab-node1-1.tar.gz"


def test_the_client_gets_every_setting(run_module: RunModule, tmp_path: Path, url: str, client: StandIn) -> None:
    client.leave_a_valid_run()
    run_module("vllm_bench", **options(tmp_path, url, attempt=2))
    (task,) = client.tasks
    stated = ["--temperature=0", "--seed=7920", "--max-concurrency=1", "--num-prompts=10", "--request-rate=inf"]
    assert set(stated) <= set(task["arguments"])
    assert task["barrier"] == {"address": "10.77.0.1", "port": 29590, "index": 1, "world": 2, "timeout_s": 5}


def test_a_job_that_was_prepared_is_not_handed_over_again(
    run_module: RunModule, tmp_path: Path, url: str, client: StandIn
) -> None:
    client.leave_a_valid_run()
    asked = options(tmp_path, url)
    load = {"attempt": 1, "watch_s": 2.0, "stall_s": 300.0, **asked}
    jobs = bench_command.tasks(asked["endpoints"], load, read_point(asked["point"]), asked["work_path"])
    assert bench_spool.Job(tmp_path / "work", "vllm-27b-0").prepare(jobs["vllm-27b-0"])
    assert record_of(run_module("vllm_bench", **asked))["status"] == "valid"
    assert len(client.tasks) == 1


def test_two_endpoints_of_a_node_are_driven_at_once(
    run_module: RunModule, tmp_path: Path, url: str, client: StandIn
) -> None:
    client.leave_a_valid_run()
    given = options(tmp_path, url)
    both = [given["endpoints"][0], {**given["endpoints"][0], "name": "other"}]
    told = run_module("vllm_bench", **{**given, "endpoints": both})
    assert [record["endpoint"] for record in told["records"]] == ["vllm-27b-0", "other"]
    assert [task["barrier"]["index"] for task in client.tasks] in ([0, 1], [1, 0])


def test_another_model_on_the_port_is_not_measured(
    run_module: RunModule, tmp_path: Path, url: str, client: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "model", "qwen3.5-397b")
    record = record_of(run_module("vllm_bench", **options(tmp_path, url)))
    assert record["reasons"] == ["wrong_server"]
    assert record["detail"].endswith("serves qwen3.5-397b, wanted qwen3.6-27b")
    assert not list((tmp_path / "work").glob("*/go"))


def test_a_server_that_is_not_there_is_not_measured(run_module: RunModule, tmp_path: Path, client: StandIn) -> None:
    record = record_of(run_module("vllm_bench", **options(tmp_path, "http://127.0.0.1:9")))
    assert record["reasons"] == ["server_not_ready"]
    assert record["engine_log"] == ["torch.OutOfMemoryError: CUDA out of memory"]


def test_a_file_that_its_client_takes_away_meanwhile_is_no_obstacle(
    run_module: RunModule, tmp_path: Path, client: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that was handed a job goes on with it although the server is not there."""
    listed = Path.iterdir
    monkeypatch.setattr(Path, "iterdir", lambda folder: iter([*listed(folder), folder / "taken-just-now.json"]))
    told = run_module("vllm_bench", **options(tmp_path, "http://127.0.0.1:9"))
    assert record_of(told)["reasons"] == ["server_not_ready"]
    with tarfile.open(told["archive"]) as archive:
        assert "vllm-27b-0/taken-just-now.json" not in archive.getnames()


def test_engines_that_did_not_start_are_recorded(
    run_module: RunModule, tmp_path: Path, url: str, client: StandIn
) -> None:
    told = run_module("vllm_bench", **options(tmp_path, url, not_ready="node2: not ready after 300 s"))
    assert record_of(told)["reasons"] == ["server_not_ready"]
    assert record_of(told)["detail"] == "node2: not ready after 300 s"


def test_an_engine_that_dies_is_a_failed_run_with_its_last_words(
    run_module: RunModule, tmp_path: Path, url: str, client: StandIn
) -> None:
    client.leave_a_valid_run()
    client.after = (tmp_path / "dead").touch
    record = record_of(run_module("vllm_bench", **options(tmp_path, url)))
    assert (record["status"], record["reasons"]) == ("failed", ["server_died"])
    assert record["figures"] == {}
    assert record["engine_log"]


def test_files_of_an_earlier_run_are_never_taken_for_this_one(
    run_module: RunModule, tmp_path: Path, url: str, client: StandIn
) -> None:
    work = tmp_path / "work" / "vllm-27b-0"
    work.mkdir(parents=True)
    (work / "result.json").write_text(samples.text("valid.json"))
    (work / "done.json").write_text('{"code": 0}')
    client.code = 1
    told = run_module("vllm_bench", **options(tmp_path, url))
    assert record_of(told)["reasons"] == ["client_failed"]
    assert told["summary"] == "failed (client_failed)"


def test_a_client_that_does_not_end_is_stopped(
    run_module: RunModule, tmp_path: Path, url: str, client: StandIn
) -> None:
    client.code = None
    record = record_of(run_module("vllm_bench", **options(tmp_path, url, timeout_s=1)))
    assert record["reasons"] == ["client_timeout"]


def test_a_client_that_never_starts_says_why(
    run_module: RunModule, tmp_path: Path, url: str, client: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vllm_bench.LOOK_AT_CLIENT_S", 0.1)
    client.takes, client.code = False, None
    record = record_of(run_module("vllm_bench", **options(tmp_path, url, client_timeout_s=0)))
    assert record["reasons"] == ["client_failed"]
    assert record["detail"].endswith("its log: ImportError: no vllm")


def test_a_module_whose_controller_was_started_anew_leaves_the_new_job_alone(
    run_module: RunModule, tmp_path: Path, url: str, client: StandIn
) -> None:
    """The old module is still there when the second start hands its own job over; its limit must not end that one."""
    client.code = None
    asked = options(tmp_path, url, timeout_s=2)
    anew = bench_command.tasks(
        asked["endpoints"], {"watch_s": 2, "stall_s": 300, **asked, "attempt": 2}, read_point(asked["point"]), "spool"
    )["vllm-27b-0"]
    job = bench_spool.Job(tmp_path / "work", "vllm-27b-0")

    def start_anew() -> None:
        while not (job.folder / "go").exists():
            time.sleep(0.01)
        shutil.rmtree(job.folder)
        job.prepare(anew)

    controller = threading.Thread(target=start_anew)
    controller.start()
    told = run_module("vllm_bench", **asked)
    controller.join()
    assert (told["records"], told["archive"]) == ([], "")
    assert told["summary"] == "another measurement has taken the place of this one"
    assert job.holds(anew)
    assert not (job.folder / "stop").exists()


def test_a_client_that_waits_alone_says_so(run_module: RunModule, tmp_path: Path, url: str, client: StandIn) -> None:
    client.code = 42
    assert record_of(run_module("vllm_bench", **options(tmp_path, url)))["reasons"] == ["barrier"]


def test_check_mode_measures_nothing(run_module: RunModule, tmp_path: Path, url: str, client: StandIn) -> None:
    told = run_module("vllm_bench", check=True, **options(tmp_path, url))
    assert (told["changed"], told["records"]) == (False, [])
    assert not (tmp_path / "work").exists()
