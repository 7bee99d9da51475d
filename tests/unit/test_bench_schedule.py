"""The order of points: few restarts, no point twice, nothing at or above the load at which an engine died."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.module_utils.apollo import bench_noise, bench_points, journal
from ansible.module_utils.apollo.bench_rows import Sweep, outcome, read_rows
from ansible.module_utils.apollo.bench_schedule import Wish, crashed_at, is_done, turns

from tests.support import bench_samples as samples


def sweep(events: list[dict[str, Any]] | None = None, **settings: Any) -> Sweep:
    return read_rows(samples.manifest(planned(**settings)), events or [])[0]


def planned(**settings: Any) -> dict[str, Any]:
    about = samples.sweep({**samples.SETTINGS, **settings})
    return {**about, "alone_points": bench_points.plan_alone_points(about)}


def shape(found: list[dict[str, Any]]) -> list[tuple[int, bool]]:
    return [(turn["point"]["concurrency"], turn["restart"]) for turn in found]


def test_grouped_repeats_need_one_start_per_load() -> None:
    assert shape(turns(sweep(), Wish(repeats=2))) == [(1, True), (1, False), (8, True), (8, False)]


def test_interleaved_repeats_each_have_fresh_engines() -> None:
    wish = Wish(repeats=2, order="interleaved")
    assert shape(turns(sweep(), wish)) == [(1, True), (8, True), (1, True), (8, True)]


def test_without_restarts_there_are_none() -> None:
    assert {restart for _, restart in shape(turns(sweep(), Wish(repeats=2, restart=False)))} == {False}


def test_one_endpoint_alone_shares_the_start_with_all_of_them() -> None:
    found = turns(sweep(alone=True), Wish())
    assert shape(found) == [(1, True), (1, False), (8, True), (8, False)]
    assert [len(turn["endpoints"]) for turn in found] == [1, 2, 1, 2]


def test_what_is_done_is_not_done_again() -> None:
    events = samples.runs(samples.sweep())[:2]
    assert shape(turns(sweep(events), Wish(repeats=2))) == [(1, True), (8, True), (8, False)]
    assert shape(turns(sweep(events), Wish(repeats=1))) == [(8, True)]
    assert len(turns(sweep(events), Wish(repeats=1, redo=True))) == 2


def crash(about: dict[str, Any], place: int) -> list[dict[str, Any]]:
    runs = [samples.run(about["points"][place], name) for name in ("vllm-27b-0", "vllm-27b-1")]
    return [{**run, "status": "failed", "reasons": ["server_died"], "figures": {}} for run in runs]


def test_from_a_crash_on_nothing_is_tried_again_unless_asked() -> None:
    about = planned(concurrency=[1, 8, 32])
    found = read_rows(samples.manifest(about), [*samples.runs(about)[:2], *crash(about, 1)])[0]
    assert crashed_at(found) == 8
    assert turns(found, Wish()) == []
    assert [n for n, _ in shape(turns(found, Wish(retry_crashes=True)))] == [8, 32]


def test_each_turn_says_what_comes_after_it() -> None:
    first, *_, last = turns(sweep(), Wish(repeats=2))
    assert (first["waves_after"], first["turns_after"], first["restarts_after"]) == (30, 3, 1)
    assert (last["waves_after"], last["turns_after"], last["restarts_after"]) == (0, 0, 0)


def test_both_deviations_follow_from_one_endpoint_alone() -> None:
    about = planned(alone=True)
    alone = [samples.run(point, "vllm-27b-0") for point in about["alone_points"]]
    found = read_rows(samples.manifest(about), [*samples.runs(about), *alone])[0]
    figures = found.rows[0].attempts[0].plan_figures
    assert figures["scaling_deviation"] == pytest.approx(0, abs=0.01)
    assert figures["node_deviation"] == 0
    assert sweep(samples.runs(samples.sweep())).rows[0].attempts[0].plan_figures["scaling_deviation"] is None


def test_points_alone_never_share_prompts_or_hashes_with_the_others() -> None:
    about = planned(alone=True)
    both = [*about["points"], *about["alone_points"]]
    assert len({point["hash"] for point in both}) == len({point["seed"] for point in both}) == 4
    assert bench_points.sweep_id(about) == bench_points.sweep_id(planned())


def repeats(*attempts: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """One load, measured several times at different speeds."""
    about = planned(concurrency=[8])
    events = []
    for number, factor in enumerate(attempts, start=1):
        quick = {name: samples.result(8, 80, gap=0.01 * factor)[name] for name in samples.result()}
        events += samples.runs(about, attempt=number, **quick)
    return about, events


def test_repeats_have_mean_spread_and_interval() -> None:
    about, events = repeats(1.0, 1.02, 0.98)
    found = read_rows(samples.manifest(about), events)[0].rows[0].stats("vllm-27b-0")["tpot_mean_ms"]
    assert found["n"] == 3
    assert found["mean"] == pytest.approx(10)
    assert found["std"] == pytest.approx(0.2)
    assert found["cv"] == pytest.approx(0.02)
    assert found["ci95_high"] == pytest.approx(10 + 4.303 * 0.2 / 3**0.5)


def test_the_end_of_a_point_says_what_came_of_it() -> None:
    about, events = repeats(1.0, 1.02)
    told = outcome(samples.manifest(about), events, about["points"][0]["hash"])
    assert (told["status"], told["stats"]["vllm-27b-0"]["output_tok_s"]["n"]) == ("valid", 2)
    assert outcome(samples.manifest(about), [], about["points"][0]["hash"])["status"] == "not run"


def test_the_noise_floor_is_the_largest_variation() -> None:
    about, events = repeats(1.0, 1.02, 0.98)
    floor = bench_noise.floor(read_rows(samples.manifest(about), events)[0], "run-1")
    assert floor["metrics"]["tpot_mean_ms"] == pytest.approx(0.02)
    assert (floor["plan"], floor["n"], floor["run_id"]) == ("27b", 3, "run-1")
    assert floor["hardware"] == about["hardware"]


def test_two_repeats_are_no_noise_floor() -> None:
    about, events = repeats(1.0, 1.02)
    with pytest.raises(ValueError, match="2 valid repeats of a point, a noise floor needs 3"):
        bench_noise.floor(read_rows(samples.manifest(about), events)[0], "run-1")


def test_events_of_points_survive_being_written() -> None:
    _, events = repeats(1.0)
    assert list(journal.read("".join(map(journal.encode, events))).events) == events


@pytest.mark.parametrize(
    ("changed", "done"),
    [
        ({}, True),
        ({"settings": {"concurrency": [8]}}, True),
        ({"settings": {"concurrency": [1, 8, 32]}}, False),
        ({"settings": {"concurrency": [1], "output_tokens": 64}}, False),
        ({"image": "vllm/vllm-openai:v0.32.0"}, True),
        ({"image": "vllm/vllm-openai:v0.33.0"}, False),
        ({"layout": {"plan": "397b"}}, False),
        ({"layout": samples.layout(variant="27b-mtp")}, False),
    ],
)
def test_a_plan_is_done_only_if_all_that_is_wanted_was_measured_as_it_would_be(
    changed: dict[str, Any], done: bool
) -> None:
    about = samples.sweep()
    sweeps = read_rows(samples.manifest(about), samples.runs(about))
    wanted = {"layout": about["layout"], "settings": {"concurrency": [1, 8]}, **changed}
    assert is_done(sweeps, wanted, Wish()) is done
    assert not is_done(sweeps, wanted, Wish(repeats=2))
    assert not is_done(sweeps, wanted, Wish(redo=True))


def test_a_plan_whose_engine_died_is_done_up_to_there() -> None:
    about = samples.sweep()
    [small, large] = about["points"]
    died = {**samples.run(large, "vllm-27b-0"), "status": "failed", "reasons": ["server_died"], "figures": {}}
    events = [*(samples.run(small, name) for name in ("vllm-27b-0", "vllm-27b-1")), died]
    sweeps = read_rows(samples.manifest(about), events)
    wanted = {"layout": about["layout"], "settings": {"concurrency": [1, 8]}}
    assert is_done(sweeps, wanted, Wish())
    assert not is_done(sweeps, wanted, Wish(retry_crashes=True))
