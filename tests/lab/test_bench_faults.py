"""The real client against a stand-in server that misbehaves: each fault is noticed, named, and never a number."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import bench_command, bench_spool, direct_page
from ansible.module_utils.apollo.bench_run import read_point

from tests.conftest import RunModule
from tests.support import bench_rig

# The goal is 0.99; a computer of two cores that does other things as well moves both by more than that.
RATIO_ON_A_BUSY_COMPUTER = 0.9
OUTSIDE_LIMIT_S = 3.0
WARM_UP_S = 0.35  # one wave of 32 tokens, which is load as well


@pytest.fixture(scope="module")
def client(engine_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[bench_rig.Resident]:
    with bench_rig.resident(engine_cache, tmp_path_factory.mktemp("client")) as started:
        if started is None:
            missing = f"no vLLM in {engine_cache}, or no Python that fits it: bin/lab brings the first"
            if os.environ.get("APOLLO_TEST_HAS_LAB") and not engine_cache.exists():
                pytest.fail(missing)
            pytest.skip(missing)
        yield started


def measure(run_module: RunModule, client: bench_rig.Resident, url: str, **changed: Any) -> dict[str, Any]:
    record: dict[str, Any] = run_module("vllm_bench", **client.options(url, **changed))["records"][0]
    return record


def test_a_server_without_a_fault_is_measured(run_module: RunModule, client: bench_rig.Resident) -> None:
    with bench_rig.stub(token_delay_s=0.01) as server:
        record = measure(run_module, client, server.url)
    assert (record["status"], record["reasons"]) == ("valid", [])
    assert 0 < record["figures"]["requests_running_max"] <= 4
    assert record["figures"]["preemptions"] == 0
    assert record["missing_counters"] == [
        "vllm:spec_decode_num_drafts_total",
        "vllm:spec_decode_num_draft_tokens_total",
        "vllm:spec_decode_num_accepted_tokens_total",
    ]


def test_a_server_killed_at_a_request_is_a_crash(run_module: RunModule, client: bench_rig.Resident) -> None:
    with bench_rig.stub(die_at=12) as server:
        record = measure(run_module, client, server.url)
    assert record["status"] == "failed"
    assert record["reasons"][0] == "server_died"
    assert record["figures"] == {}


def test_a_stream_cut_half_way_is_no_answer(run_module: RunModule, client: bench_rig.Resident) -> None:
    with bench_rig.stub(cut_at=12) as server:
        record = measure(run_module, client, server.url)
    assert record["status"] == "invalid"
    assert "server_requests" in record["reasons"]


def test_an_error_event_inside_a_stream_is_no_answer(run_module: RunModule, client: bench_rig.Resident) -> None:
    with bench_rig.stub(error_at=12) as server:
        record = measure(run_module, client, server.url)
    assert record["status"] == "invalid"
    assert "server_requests" in record["reasons"]


def test_a_frozen_server_is_left_in_time(
    run_module: RunModule, client: bench_rig.Resident, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct_page, "ASK_TIMEOUT_S", 1)
    began = time.monotonic()
    with bench_rig.stub(freeze_at=12) as server:
        record = measure(run_module, client, server.url)
    assert record["status"] == "failed"
    assert record["reasons"][:2] == ["server_died", "server_frozen"]
    assert time.monotonic() - began < 40


def test_an_error_without_a_reason_is_still_an_error(run_module: RunModule, client: bench_rig.Resident) -> None:
    with bench_rig.stub(fail=True, empty_reason=True) as server:
        record = measure(run_module, client, server.url)
    assert (record["status"], record["reasons"]) == ("failed", ["all_failed"])
    assert record["figures"] == {}


def test_another_model_behind_the_port_is_not_measured(run_module: RunModule, client: bench_rig.Resident) -> None:
    with bench_rig.stub(model="other") as server:
        record = measure(run_module, client, server.url)
        assert server.behave()["seen"] == 0
    assert record["reasons"] == ["wrong_server"]


@pytest.mark.parametrize("name", ["vllm:generation_tokens_total", "vllm:num_requests_running"])
def test_a_counter_that_is_gone_is_named(run_module: RunModule, client: bench_rig.Resident, name: str) -> None:
    with bench_rig.stub(without=name) as server:
        record = measure(run_module, client, server.url)
    assert record["status"] == "valid"
    assert name in record["missing_counters"]


def meddle(server: bench_rig.Stub) -> None:
    """Once the load has begun, which is after four requests of warm-up, let somebody else get tokens."""
    bench_rig.wait_for(lambda: server.behave()["seen"] > 8, 60)
    server.behave(generated=100_000)


def test_traffic_of_somebody_else_is_noticed(run_module: RunModule, client: bench_rig.Resident) -> None:
    with bench_rig.stub(token_delay_s=0.01) as server:
        other = threading.Thread(target=meddle, args=(server,))
        other.start()
        record = measure(run_module, client, server.url, point={**client.options("")["point"], "prompts": 80})
        other.join()
    assert "server_tokens" in record["reasons"]


def test_text_is_measured_up_to_where_the_model_ends(run_module: RunModule, client: bench_rig.Resident) -> None:
    text = {**client.options("")["point"], "dataset": "text"}
    with bench_rig.stub() as server:
        record = measure(run_module, client, server.url, point=text)
    assert (record["status"], record["reasons"]) == ("valid", [])
    assert record["figures"]["missing_output_tokens"] is None


def test_a_controller_that_was_killed_leaves_nothing_in_the_way(
    run_module: RunModule, client: bench_rig.Resident
) -> None:
    """The module is killed with its controller's connection; the next start ends the job that still runs."""
    with bench_rig.stub(token_delay_s=0.2) as slow:
        asked = {"attempt": 1, **client.options(slow.url)}
        jobs = bench_command.tasks(asked["endpoints"], asked, read_point(asked["point"]), str(client.spool))
        bench_spool.Job(client.spool, "e0").prepare(jobs["e0"])
        job = client.spool / "e0"
        (job / "go").touch()
        bench_rig.wait_for(lambda: slow.behave()["seen"] > 0, 20)
        with bench_rig.stub() as server:
            record = measure(run_module, client, server.url)
    assert (record["status"], record["reasons"]) == ("valid", [])


def test_the_module_sees_the_throughput_of_the_bare_client_and_adds_little_time(
    run_module: RunModule, client: bench_rig.Resident, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Turn by turn on one server; the figures are printed at the end, and kept in the JUnit file."""
    point = {**client.options("")["point"], "prompts": 64, "concurrency": 4, "output_tokens": 32, "seed": 5}
    bare, seen, outside_s, bare_outside_s = [], [], [], []
    with bench_rig.stub(token_delay_s=0.01) as server:
        for turn in range(2):
            began = time.monotonic()
            result = client.run_bare(server.url, point, tmp_path)
            bare_outside_s.append(time.monotonic() - began - result["duration"])
            bare.append(result["output_throughput"])
            began = time.monotonic()
            record = measure(run_module, client, server.url, point=point, attempt=turn + 1)
            outside_s.append(time.monotonic() - began - record["figures"]["duration_s"] - WARM_UP_S)
            seen.append(record["figures"]["output_tok_s"])
    ratio = sum(seen) / sum(bare)
    told = {"ratio": ratio, "outside_load_s": max(outside_s), "outside_load_of_the_bare_client_s": max(bare_outside_s)}
    for name, value in told.items():
        record_property(name, round(value, 3))
    assert ratio > RATIO_ON_A_BUSY_COMPUTER
    assert max(outside_s) < OUTSIDE_LIMIT_S
