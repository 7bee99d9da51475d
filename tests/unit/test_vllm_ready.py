"""The module vllm_ready against a small server in place of an engine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import openai_stub

Module = Callable[..., dict[str, Any]]
QUICK = {"timeout_s": 1, "interval_s": 0.05}
RUNS = "ActiveState=active\nSubState=running\nNRestarts=2\nResult=success"


@dataclass(frozen=True)
class Served:
    """A running stub and the means to change what it does."""

    url: str
    behaviour: openai_stub.Behaviour


@pytest.fixture
def served() -> Iterator[Served]:
    behaviour = openai_stub.Behaviour(model="m", token_delay_s=0.0)
    with openai_stub.running(behaviour) as url:
        yield Served(url, behaviour)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Put programs of that name and that output first in the path."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def make(name: str, output: str) -> None:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\n")
        program.chmod(0o755)

    return make


def test_endpoint_that_answers_is_ready(run_module: Module, served: Served) -> None:
    result = run_module("vllm_ready", url=served.url, model="m", **QUICK)
    assert (result["failed"], result["changed"], result["ready"]) == (False, False, True)
    assert result["text"] == " t"
    assert result["saw"] == []


def test_check_mode_asks_as_well(run_module: Module, served: Served) -> None:
    assert run_module("vllm_ready", check=True, url=served.url, model="m", **QUICK)["ready"]


def test_nobody_listening_is_told_with_limit_and_remedy(run_module: Module) -> None:
    result = run_module("vllm_ready", url="http://127.0.0.1:9", model="m", **QUICK)
    assert result["failed"]
    assert "m at http://127.0.0.1:9 is not ready after" in result["msg"]
    assert "(limit 1 s): health: " in result["msg"]
    assert "refused" in result["msg"]
    assert "\n" not in result["msg"]
    assert [look["stage"] for look in result["saw"]] == ["health"]


def test_health_is_waited_for(run_module: Module, served: Served) -> None:
    served.behaviour.healthy = False
    timer = threading.Timer(0.3, setattr, (served.behaviour, "healthy", True))
    timer.start()
    result = run_module("vllm_ready", url=served.url, model="m", timeout_s=5, interval_s=0.05)
    assert result["ready"]
    assert result["waited_s"] >= 0.2
    assert [look["stage"] for look in result["saw"]] == ["health"]


def test_wrong_model_ends_the_wait_at_once(run_module: Module, served: Served) -> None:
    result = run_module("vllm_ready", url=served.url, model="other", timeout_s=60)
    assert result["failed"]
    assert result["waited_s"] < 5
    assert "serves m, wanted other" in result["msg"]


def test_healthy_engine_that_fails_its_requests_is_not_ready(run_module: Module, served: Served) -> None:
    served.behaviour.fail = True
    result = run_module("vllm_ready", url=served.url, model="m", timeout_s=60, interval_s=0.01)
    assert result["failed"]
    assert served.behaviour.seen == 3
    assert "token: HTTP 500" in result["msg"]


def test_answer_must_come_from_the_named_endpoint(run_module: Module, served: Served) -> None:
    result = run_module("vllm_ready", url=served.url, model="m", headers={"X-Apollo-Endpoint": "a"}, **QUICK)
    assert result["failed"]
    assert "wanted a" in result["msg"]


def test_ended_unit_is_told_with_its_own_error(
    run_module: Module, served: Served, tools: Callable[[str, str], None]
) -> None:
    served.behaviour.healthy = False
    tools("systemctl", "ActiveState=failed\nSubState=failed\nNRestarts=5\nResult=start-limit-hit")
    tools("journalctl", "INFO hello\nValueError: the model does not fit\nmore")
    result = run_module("vllm_ready", url=served.url, model="m", unit="vllm-x-0", timeout_s=60)
    assert result["failed"]
    assert result["waited_s"] < 5
    assert "vllm-x-0 has failed (start-limit-hit): ValueError: the model does not fit" in result["msg"]
    assert "see journalctl --unit=vllm-x-0" in result["msg"]


def kept(folder: Path, **state: Any) -> dict[str, str]:
    """The options that point to what a keeper tells."""
    (folder / "vllm-x-0.json").write_text(json.dumps(state))
    return {"unit": "vllm-x-0", "state_directory": str(folder)}


def test_running_unit_is_no_obstacle(
    run_module: Module, served: Served, tools: Callable[[str, str], None], tmp_path: Path
) -> None:
    tools("systemctl", RUNS)
    keeper = kept(tmp_path, phase="ready", ready=True, ends=4)
    assert run_module("vllm_ready", url=served.url, model="m", **keeper, **QUICK)["ready"]


def test_endpoint_is_not_ready_before_its_keeper_has_had_a_token(
    run_module: Module, served: Served, tools: Callable[[str, str], None], tmp_path: Path
) -> None:
    tools("systemctl", RUNS)
    keeper = kept(tmp_path, phase="gathering", ready=False, waits_for="rank 1 does not answer")
    result = run_module("vllm_ready", url=served.url, model="m", **keeper, **QUICK)
    assert "keeper: vllm-x-0 is gathering, rank 1 does not answer" in result["msg"]


def test_rank_that_its_head_refuses_ends_the_wait(
    run_module: Module, served: Served, tools: Callable[[str, str], None], tmp_path: Path
) -> None:
    tools("systemctl", RUNS)
    keeper = kept(tmp_path, phase="gathering", ready=False, refused="10.77.0.2 is refused: it speaks protocol 1")
    result = run_module("vllm_ready", url=served.url, model="m", timeout_s=60, **keeper)
    assert "keeper: vllm-x-0 cannot start: 10.77.0.2 is refused: it speaks protocol 1" in result["msg"]
    assert result["waited_s"] < 10


def test_end_of_a_rank_on_another_node_ends_the_wait(
    run_module: Module, served: Served, tools: Callable[[str, str], None], tmp_path: Path
) -> None:
    tools("systemctl", RUNS)
    keeper = kept(tmp_path, phase="loading", ready=False, ends=0)
    later = {"phase": "gathering", "ready": False, "ends": 1, "reason": "rank 1 ended: ValueError: no"}
    timer = threading.Timer(0.5, lambda: kept(tmp_path, **later))
    timer.start()
    result = run_module("vllm_ready", url=served.url, model="m", timeout_s=60, interval_s=0.05, **keeper)
    assert "engine: vllm-x-0 ended while starting: rank 1 ended: ValueError: no" in result["msg"]
    assert result["waited_s"] < 10


def test_keeper_that_gave_up_ends_the_wait(
    run_module: Module, served: Served, tools: Callable[[str, str], None], tmp_path: Path
) -> None:
    tools("systemctl", RUNS)
    keeper = kept(tmp_path, phase="failed", ready=False, reason="5 ends within 3600 s")
    result = run_module("vllm_ready", url=served.url, model="m", timeout_s=60, **keeper)
    assert "5 ends within 3600 s" in result["msg"]


def test_key_is_sent_and_never_shown(run_module: Module, served: Served) -> None:
    result = run_module("vllm_ready", url=served.url, model="m", api_key="secret-of-somebody", **QUICK)
    assert result["ready"]
    assert "secret-of-somebody" not in str(result)
