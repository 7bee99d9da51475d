"""One line of progress: variant, N, requests done, speed so far, time left."""

from __future__ import annotations

import pytest
from ansible.module_utils.apollo import bench_progress as progress

LOAD = {"phase": "load", "prompts": 80, "concurrency": 8, "requests": 20.0, "tokens": 2000.0, "elapsed_s": 10.0}


def test_a_line_says_everything() -> None:
    teller = progress.Teller("27b 27b-base N=8 (2 of 5)", 10, progress.Rest(30, 2, 60.0))
    assert teller.line({"vllm-27b-0": LOAD}, 0) == (
        "27b 27b-base N=8 (2 of 5): vllm-27b-0 20 of 80 requests, 200 tok/s so far; "
        "0:30 left for the point, about 4:30 for the sweep"
    )


def test_a_line_comes_now_and_then_and_with_every_new_phase() -> None:
    teller = progress.Teller("x", 10)
    assert teller.line({"e": {"phase": "warm_up"}}, 0) == "x: e warms up"
    assert teller.line({"e": {"phase": "warm_up"}}, 5) is None
    assert teller.line({"e": {"phase": "barrier"}}, 6) == "x: e waits for the other endpoints"
    assert teller.line({"e": LOAD}, 7) is not None
    assert teller.line({"e": LOAD}, 16) is None
    assert teller.line({"e": LOAD}, 18) is not None


def test_without_the_servers_counters_nothing_is_invented() -> None:
    blind = {"phase": "load", "prompts": 80, "concurrency": 8, "elapsed_s": 10.0}
    assert progress.Teller("x", 10).line({"e": blind}, 0) == "x: e ? of 80 requests, ? tok/s so far"


def test_the_sweeps_rest_is_unknown_until_a_start_was_seen() -> None:
    assert progress.Rest.read({"restarts_after": 2, "began_s": 100, "restarted": False}, 160).left_s(1) is None
    assert progress.Rest.read({"restarts_after": 2, "began_s": 100, "restarted": True}, 160).left_s(1) == 120


@pytest.mark.parametrize(
    ("answer", "is_over"),
    [
        ("", False),
        ('{"started": 1, "finished": 0}', False),
        ('{"started": true, "finished": false}', False),
        ('{"changed": true, "reco', False),
        ('{"changed": true}', True),
        ('{"finished": 1, "failed": true}', True),
    ],
)
def test_the_end_of_the_module_is_told_from_its_beginning(answer: str, is_over: bool) -> None:
    assert progress.is_over(answer) is is_over


def test_times_are_written_as_people_do() -> None:
    assert [progress.clock(seconds) for seconds in (0, 59.6, 3600, 36610)] == ["0:00", "1:00", "1:00:00", "10:10:10"]
