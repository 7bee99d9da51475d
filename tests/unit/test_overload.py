"""An overload proves something only where every request that was let in kept its level and every other one got 429."""

from __future__ import annotations

import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.apollo import machine_facts, overload
from ansible.module_utils.apollo.bench_result import Result, read_result
from ansible.module_utils.apollo.judge import judge
from ansible.module_utils.apollo.judge_facts import read_facts
from ansible.module_utils.apollo.judge_limits import read_limits
from ansible.module_utils.apollo.service_level import Load

from tests.conftest import RunModule
from tests.support import bench_samples as samples

LAYOUT: dict[str, Any] = {
    "plan": "27b",
    "endpoints": [{"name": "a", "served_name": "m"}, {"name": "b", "served_name": "m", "cap": 16}],
    "gateway": {"cap_per_endpoint": 32, "queue_limit": 4, "queue_timeout_s": 120},
}
LOADS = [Load(16, 900, 900, 1500, 18.0), Load(32, 1306, 1500, 2500, 23.1), Load(64, 2093, 2600, 4500, 28.1)]
LEVEL = {"ttft_p95_ms": 2000, "floor_tok_s": 10, "refused_p95_ms": 500}
TRACEBACK = (
    "Traceback (most recent call last):\n  File x\naiohttp.client_exceptions.ServerDisconnectedError: Server left\n"
)


def text(let_in: int = 40, refused: int = 40, ttft_s: float = 1.0, to_429_s: float = 0.01, **others: int) -> str:
    """What the image's client leaves; others are errors by their text."""
    errors = [""] * let_in + ["Too Many Requests"] * refused + [word for word, n in others.items() for _ in range(n)]
    bad = len(errors) - let_in
    return json.dumps(
        {
            **{"num_prompts": len(errors), "completed": let_in, "failed": bad, "duration": 60.0},
            **{"total_input_tokens": 64 * let_in, "total_output_tokens": 64 * let_in},
            "output_lens": [64] * let_in + [0] * bad,
            "ttfts": [ttft_s] * let_in + [0.0] * bad,
            "itls": [[0.05] * 63] * let_in + [[]] * bad,
            "latencies": [ttft_s + 3.0] * let_in + [to_429_s] * bad,
            "start_times": [0.5 * number for number in range(len(errors))],
            "errors": errors,
        }
    )


def result(**given: Any) -> Result:
    return read_result(text(**given))


def held(**given: Any) -> dict[str, str]:
    """Each limit's verdict."""
    event = {**overload.told(result(**given), {}), "plan": "27b", "model": "m"}
    return verdicts([event])


def verdicts(events: list[dict[str, Any]]) -> dict[str, str]:
    """Each limit's verdict; of a model's, where there are several, by the model too."""
    facts = read_facts(fact for event in events for fact in overload.facts(event, 1.0))
    several = len({event["model"] for event in events}) > 1
    limits = read_limits({"limits": overload.overload_limits(LEVEL, "*")}, "stated")
    return {
        (f"{finding.endpoint} " if several else "") + finding.limit.metric.removeprefix("overload_"): finding.verdict
        for finding in judge([], limits, facts).findings
    }


def test_twice_what_the_seats_answer_is_offered() -> None:
    offer = overload.offer(LAYOUT, "m", LOADS, 1024, factor=2, answers=3)
    assert (offer.seats, offer.requests) == (48, 2 * (48 + 4) + 288)
    assert offer.answer_s == pytest.approx(25.13, abs=0.01)
    assert offer.request_rate == pytest.approx(2 * 48 / 25.13, rel=1e-3)
    assert offer.limit_s > offer.requests / offer.request_rate + 120


def test_few_seats_get_enough_requests_for_a_percentile() -> None:
    one = {**LAYOUT, "endpoints": [{**LAYOUT["endpoints"][0], "cap": 1}]}
    assert overload.offer(one, "m", [Load(1, 69, 300, 400, 14.2)], 64, 2, 1).requests == 60 + 2 * (1 + 4)


def test_no_more_than_the_plan_answers_is_no_overload() -> None:
    with pytest.raises(ValueError, match="bench_overload_factor is 1"):
        overload.offer(LAYOUT, "m", LOADS, 1024, 1, 3)


def test_a_cap_that_was_not_measured_is_refused_in_one_line() -> None:
    with pytest.raises(ValueError, match="no point that counts at N=32 or around it: add 32 to bench_concurrency"):
        overload.offer(LAYOUT, "m", LOADS[:1], 1024, 2, 3)


def test_a_plan_that_keeps_its_level_passes_every_limit() -> None:
    assert set(held().values()) == {"pass"}


@pytest.mark.parametrize(
    ("broken", "given"),
    [
        ("ttft_p95_ms", {"ttft_s": 2.5}),
        ("user_p05_tok_s", {"ttft_s": 5.0}),
        ("refused_p95_ms", {"to_429_s": 0.6}),
        ("errors", {"Service Unavailable": 1}),
        ("refused", {"refused": 0}),
    ],
)
def test_each_broken_promise_is_red(broken: str, given: dict[str, Any]) -> None:
    assert held(**given)[broken] in ("fail", "missing")


def test_what_too_few_requests_cannot_carry_is_missing_and_fails() -> None:
    assert held(let_in=19)["ttft_p95_ms"] == "missing"


def test_errors_are_counted_by_their_code() -> None:
    told = overload.told(result(**{"Service Unavailable": 2, TRACEBACK: 1}), {})
    assert (told["refused"], told["errors"]) == (40, {"503": 2, "ServerDisconnectedError": 1})
    assert overload.summary(told) == "40 of 83 let in, 40 got 429, others: 2 x 503, 1 x ServerDisconnectedError"


def test_an_answer_without_tokens_and_without_a_reason_is_an_error() -> None:
    raw = json.loads(text())
    raw["output_lens"][0] = 0
    assert overload.told(read_result(json.dumps(raw)), {})["errors"] == {"without a reason": 1}


def test_a_level_without_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks floor_tok_s"):
        overload.overload_limits({name: LEVEL[name] for name in ("ttft_p95_ms", "refused_p95_ms")}, "27b")


def options(tmp_path: Path, limit_s: float = 20) -> dict[str, Any]:
    endpoint = {"name": "vllm-27b-0", "url": "http://10.77.0.1:8000", "served_name": "m", "model_path": "/models/m"}
    offer = {"seats": 4, "answer_s": 1.0, "factor": 2.0, "requests": 60, "request_rate": 8.0, "limit_s": limit_s}
    lengths = {"input_tokens": 64, "output_tokens": 32}
    given = {"url": "http://10.77.0.1:8080", "key": "a-key-of-somebody", "plan": "27b", "endpoint": endpoint}
    return {**given, "offer": offer, **lengths, "work_path": str(tmp_path), "client_timeout_s": 1}


def await_file(path: Path) -> None:
    until = time.monotonic() + 10
    while not path.exists() and time.monotonic() < until:
        time.sleep(0.01)


def stand_in(folder: Path, seen: dict[str, Any], result_text: str) -> None:
    """What the resident client does with a job, as far as the module sees it."""
    await_file(folder / "task.json")
    (folder / "ready.json").touch()
    await_file(folder / "go")
    seen["task"] = (folder / "task.json").read_text()
    seen["mode"], seen["key"] = (folder / "key").stat().st_mode & 0o777, (folder / "key").read_text()
    (folder / "key").unlink()
    while not result_text and not (folder / "stop").exists():
        time.sleep(0.01)
    stopped = (folder / "stop").read_text() if (folder / "stop").exists() else ""
    (folder / "result.json").write_text(result_text)
    (folder / "done.json").write_text(json.dumps({"code": 0, "stopped": stopped}))


def run(run_module: RunModule, tmp_path: Path, left: str, **given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    seen: dict[str, Any] = {}
    shutil.rmtree(tmp_path / "overload", ignore_errors=True)  # what an earlier one left is no job of this stand-in
    client = threading.Thread(target=stand_in, args=(tmp_path / "overload", seen, left))
    client.start()
    told = run_module("bench_overload", **options(tmp_path, **given))
    client.join()
    return told, seen


def test_the_key_is_in_a_file_of_its_own_and_nowhere_else(run_module: RunModule, tmp_path: Path) -> None:
    told, seen = run(run_module, tmp_path, text())
    assert (seen["mode"], seen["key"]) == (0o600, "a-key-of-somebody")
    assert "a-key-of-somebody" not in seen["task"] + json.dumps(told)
    arguments = json.loads(seen["task"])["arguments"]
    assert {"--base-url=http://10.77.0.1:8080", "--request-rate=8", "--num-prompts=60"} <= set(arguments)
    assert not [word for word in arguments if word.startswith("--max-concurrency")]
    assert told["summary"] == "40 of 80 let in, 40 got 429, others: none"
    assert [event["event"] for event in told["events"]] == ["overload", *["fact"] * 5]


def test_a_second_overload_of_a_run_is_noted_too(run_module: RunModule, tmp_path: Path) -> None:
    first, second = (run(run_module, tmp_path, text())[0]["events"] for _ in range(2))
    assert machine_facts.news(first, second) == second


def test_a_request_that_hangs_is_stopped_and_told(run_module: RunModule, tmp_path: Path) -> None:
    told, _ = run(run_module, tmp_path, "", limit_s=0.2)
    assert told["summary"] == "failed: client_timeout: a request had not ended after 0 s"
    assert {fact["value"] for fact in told["events"][1:]} == {None}


def test_an_overload_that_failed_after_a_good_one_is_missing() -> None:
    about = {"plan": "27b", "model": "m"}
    good, hung = overload.told(result(), {}), overload.failed("client_timeout", {})
    assert set(verdicts([{**good, **about}]).values()) == {"pass"}
    assert set(verdicts([{**good, **about}, {**hung, **about}]).values()) == {"missing"}


def test_each_model_keeps_its_own_level() -> None:
    """One model that refuses nobody, or could not be asked, is not hidden by another one that does well."""
    good, slow = overload.told(result(), {}), overload.told(result(ttft_s=2.5), {})
    hung = overload.failed("client_timeout", {})
    named = [{**good, "model": "a"}, {**slow, "model": "b"}, {**hung, "model": "c"}]
    found = verdicts([{**event, "plan": "27b"} for event in named])
    assert [found[f"gateway {model} ttft_p95_ms"] for model in "abc"] == ["pass", "fail", "missing"]


def test_a_plan_of_two_models_has_an_overload_for_each(run_module: RunModule, tmp_path: Path) -> None:
    """Each from its own endpoints' speed and its own places: what the other model does says nothing about it."""
    about = samples.sweep({**samples.SETTINGS, "concurrency": [1, 8]})
    layout = two_models(about["layout"])
    about["layout"] = layout
    paces = {"vllm-27b-0": 0.01, "vllm-27b-1": 0.04}
    runs = [
        samples.run(point, name, **samples.result(point["concurrency"], point["prompts"], gap=gap))
        for point in about["points"]
        for name, gap in paces.items()
    ]
    write(tmp_path, samples.manifest(about), runs)
    told = run_module("bench_overload_info", path=str(tmp_path), layout=layout, output_tokens=32)
    large, small = told["offers"]
    assert [offer["endpoint"]["node"] for offer in told["offers"]] == ["node1", "node2"]
    assert [offer["offer"]["seats"] for offer in told["offers"]] == [8, 4]
    assert large["offer"]["answer_s"] == pytest.approx(0.1 + 31 * 0.01)
    assert small["offer"]["answer_s"] == pytest.approx(0.1 + 31 * 0.04)


def test_a_model_whose_cap_was_not_measured_is_named(run_module: RunModule, tmp_path: Path) -> None:
    about = samples.sweep({**samples.SETTINGS, "concurrency": [8]})
    about["layout"] = two_models(about["layout"])
    write(tmp_path, samples.manifest(about), samples.runs(about))
    told = run_module("bench_overload_info", path=str(tmp_path), layout=about["layout"], output_tokens=32)
    assert told["failed"]
    assert "lets in 4 per endpoint of small, but this run has no point that counts at N=4" in told["msg"]


def two_models(layout: dict[str, Any]) -> dict[str, Any]:
    placed = [{"served_name": "large", "cap": 8}, {"served_name": "small", "cap": 4}]
    endpoints = [{**endpoint, **mine} for endpoint, mine in zip(layout["endpoints"], placed, strict=True)]
    gateway = {"cap_per_endpoint": 8, "queue_limit": 4, "queue_timeout_s": 120}
    return {**layout, "endpoints": endpoints, "gateway": gateway}


def write(folder: Path, manifest: dict[str, Any], events: list[dict[str, Any]]) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def test_check_mode_sends_nothing(run_module: RunModule, tmp_path: Path) -> None:
    told = run_module("bench_overload", check=True, **options(tmp_path))
    assert (told["changed"], told["events"], list(tmp_path.iterdir())) == (False, [], [])
