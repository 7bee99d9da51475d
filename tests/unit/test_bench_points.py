"""A point is addressed by everything that shapes its result, and by nothing else."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from ansible.module_utils.apollo.bench_points import plan_points, sweep_id

from tests.support import bench_samples as samples


def hashes(sweep: dict[str, Any]) -> list[str]:
    return [point["hash"] for point in plan_points(sweep)]


def test_one_point_for_each_concurrency_in_the_order_asked_for() -> None:
    points = plan_points(samples.sweep({**samples.SETTINGS, "concurrency": [8, 1, 8]}))
    assert [point["concurrency"] for point in points] == [8, 1]
    assert [point["prompts"] for point in points] == [80, 10]


def test_each_point_has_a_seed_and_a_warm_up_of_its_own() -> None:
    points = plan_points(samples.sweep())
    assert [point["seed"] for point in points] == [1, 8]
    assert [point["warmups"] for point in points] == [1, 8]


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "an argument": lambda sweep: sweep["layout"]["engines"][0]["arguments"].append("--enforce-eager"),
    "an environment variable": lambda sweep: sweep["layout"]["engines"][1]["environment"].update(NCCL_DEBUG="INFO"),
    "the image": lambda sweep: sweep.update(image="sha256:4567"),
    "a revision": lambda sweep: sweep["layout"]["models"][0].update(revision="abc"),
    "the driver": lambda sweep: sweep["hardware"]["node1"].update(driver="581"),
    "the client": lambda sweep: sweep.update(client="beef"),
    "the length": lambda sweep: sweep["settings"].update(output_tokens=64),
    "the number of prompts": lambda sweep: sweep["settings"].update(prompts_per_slot=3),
    "the seed": lambda sweep: sweep["settings"].update(seed=5),
    "the restart": lambda sweep: sweep["settings"].update(restart=False),
}


@pytest.mark.parametrize("what", CHANGES)
def test_another_setting_makes_another_point(what: str) -> None:
    sweep = copy.deepcopy(samples.sweep())
    before = hashes(sweep)
    CHANGES[what](sweep)
    assert not set(before) & set(hashes(sweep))


def test_what_shapes_no_result_changes_no_hash() -> None:
    sweep = copy.deepcopy(samples.sweep())
    before = hashes(sweep)
    sweep["layout"]["engines"][0]["log"] = {"must": ["MARLIN"]}
    sweep["layout"]["gateway"] = {"cap_per_endpoint": 1}
    assert hashes(sweep) == before


def test_more_points_are_the_same_sweep_and_other_settings_are_not() -> None:
    small, more = samples.sweep(), samples.sweep({**samples.SETTINGS, "concurrency": [1, 8, 32]})
    other = samples.sweep({**samples.SETTINGS, "seed": 9})
    assert sweep_id(small) == sweep_id(more) != sweep_id(other)
    assert hashes(small) == hashes(more)[:2]
