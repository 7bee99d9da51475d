"""Energy of a window: what is known is exact, what is not known is None, and a fault is named."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.module_utils.apollo import bench_energy, energy
from hypothesis import given
from hypothesis import strategies as st

FOUR = [0, 1, 2, 3]


def row(watts: float | None, at_s: float, counter: bool = True) -> list[float | None]:
    return [watts * at_s if counter and watts is not None else None, watts, 60.0, 1410.0, 0.0]


def text(watts: float | None = 250.0, step: float = 0.2, counter: bool = True, source: str = "nvml_counter") -> str:
    """Half a minute of four GPUs at one power, from second 100 on."""
    lines: list[dict[str, Any]] = [{"source": source, "interval_s": step}]
    for number in range(int(30 / step) + 1):
        at_s = 100 + number * step
        gpus = {str(gpu): row(watts, at_s, counter) for gpu in FOUR}
        lines.append({"t": at_s, "m": at_s - 90, "gpus": gpus, "host_w": 1900.0})
    return "\n".join(map(json.dumps, lines))


def measure(told: str, start: float = 105.0, end: float = 125.0) -> dict[str, Any]:
    return energy.measure(energy.read_samples(told), energy.Window(start, end, FOUR))


def change(told: str, number: int, **changed: Any) -> str:
    lines = told.splitlines()
    lines[number] = json.dumps({**json.loads(lines[number]), **changed})
    return "\n".join(lines)


def test_the_counter_is_the_first_source_and_both_agree() -> None:
    found = measure(text())
    assert found["source"] == "nvml_counter"
    assert found["energy_j"] == pytest.approx(4 * 250 * 20)
    assert found["samples_j"] == pytest.approx(found["counter_j"])
    assert found["power_mean_w"] == pytest.approx(1000)
    assert (found["power_peak_w"], found["host_power_mean_w"], found["faults"]) == (1000, 1900, [])
    assert (found["temperature_max_c"], found["sm_clock_min_mhz"], found["throttle_reasons"]) == (60, 1410, [])


def test_where_counter_and_samples_differ_the_counter_counts() -> None:
    lines = [json.loads(line) for line in text().splitlines()]
    for line in lines[1:]:
        for told in line["gpus"].values():
            told[0] *= 1.2  # the samples see a part of the time only
    found = measure("\n".join(map(json.dumps, lines)))
    assert found["energy_j"] == found["counter_j"] == pytest.approx(1.2 * found["samples_j"])


def test_without_a_counter_the_samples_count() -> None:
    found = measure(text(counter=False, step=2.0, source="power_samples"))
    assert found["source"] == "power_samples"
    assert found["energy_j"] == pytest.approx(4 * 250 * 20)


def test_without_any_reading_everything_is_unknown_and_nothing_is_blamed() -> None:
    for told in ("", text(watts=None, source="power_samples"), json.dumps({"source": None, "interval_s": 1})):
        found = measure(told)
        assert (found["source"], found["energy_j"], found["power_mean_w"], found["faults"]) == (None, None, None, [])


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (text(), "energy_window"),
        ("\n".join(line for number, line in enumerate(text().splitlines()) if not 40 < number < 60), "energy_gap"),
        (change(text(), 60, gpus={"0": row(250, 112.0)}), "energy_gpus"),
        (change(text(), 60, gpus={str(gpu): row(250, 1.0) for gpu in FOUR}), "energy_counter"),
        (change(text(), 60, m=9.0), "clock_step"),
    ],
)
def test_a_fault_is_named_and_leaves_no_number(told: str, fault: str) -> None:
    found = measure(told, end=140.0 if fault == "energy_window" else 125.0)
    assert fault in found["faults"]
    assert found["energy_j"] is None


def test_the_edges_of_a_window_are_interpolated() -> None:
    assert measure(text(step=2.0), 105.3, 106.1)["energy_j"] == pytest.approx(4 * 250 * 0.8)


@given(st.lists(st.floats(0, 500), min_size=3, max_size=20), st.floats(0.1, 1.9))
def test_areas_of_two_parts_add_up_to_the_whole(watts: list[float], cut: float) -> None:
    points = list(enumerate(watts))
    whole = energy.trapezoid(points, 0, 2)
    parts = energy.trapezoid(points, 0, cut), energy.trapezoid(points, cut, 2)
    assert None not in (whole, *parts)
    assert sum(part or 0 for part in parts) == pytest.approx(whole)


def test_the_published_run_is_computed_as_published() -> None:
    """1231 W over 104 s for 128 answers of 1024 tokens, 320 W idle."""
    node = {"energy_j": 1231.0 * 104, "power_idle_w": 320.0, "window_s": 104.0, "power_mean_w": 1231.0}
    found = bench_energy.figures([node], 128 * 1024)
    assert found["joules_per_token_gross"] == pytest.approx(0.977, abs=0.001)
    assert found["wh_per_1k_tokens_gross"] == pytest.approx(0.2713, abs=0.0001)
    assert found["wh_per_1k_tokens_net"] == pytest.approx(0.201, abs=0.001)
    assert found["tokens_per_kwh_gross"] == pytest.approx(3.69e6, rel=0.002)


def test_a_sum_without_one_node_is_no_sum() -> None:
    known = {"energy_j": 100.0, "power_idle_w": 10.0, "window_s": 1.0}
    both = bench_energy.figures([known, {"energy_j": None, "power_idle_w": 10.0, "window_s": 1.0}], 10)
    assert (both["energy_gross_j"], both["energy_net_j"], both["joules_per_token_gross"]) == (None, None, None)


def record(**changed: Any) -> dict[str, Any]:
    figures = {"output_tok_s": 100.0, "duration_s": 20.0}
    return {"endpoint": "e", "status": "valid", "reasons": [], "checks": [], "figures": figures, **changed}


def told(**changed: Any) -> dict[str, list[dict[str, Any]]]:
    return {"n1": [{"endpoint": "e", "power_idle_w": 200.0, "clock_offset_s": 0.001, **measure(text()), **changed}]}


def test_a_run_gets_the_energy_of_its_nodes() -> None:
    (found,) = bench_energy.with_node_energy([record()], told())
    assert (found["status"], found["energy"][0]["node"]) == ("valid", "n1")
    assert found["figures"]["joules_per_token_gross"] == pytest.approx(10)
    assert found["figures"]["joules_per_token_net"] == pytest.approx(8)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"throttle_reasons": ["sw_thermal"]}, "throttled"),
        ({"clock_offset_s": 0.4}, "clock_sync"),
        ({"faults": ["energy_gpus"]}, "energy_gpus"),
    ],
)
def test_a_broken_check_of_the_machine_spoils_the_run(changed: dict[str, Any], reason: str) -> None:
    (found,) = bench_energy.with_node_energy([record()], told(**changed))
    assert (found["status"], found["reasons"]) == ("invalid", [reason])


def test_the_power_limit_is_told_and_spoils_nothing() -> None:
    (found,) = bench_energy.with_node_energy([record()], told(throttle_reasons=["sw_power_cap"]))
    assert (found["status"], found["throttle_reasons"]) == ("valid", ["sw_power_cap"])


def test_without_a_reading_the_checks_could_not_be_made() -> None:
    (found,) = bench_energy.with_node_energy([record()], {})
    assert found["status"] == "valid"
    assert {check["ok"] for check in found["checks"]} == {None}
    assert found["figures"]["energy_gross_j"] is None


def test_a_replica_over_two_nodes_has_a_window_on_both() -> None:
    engines = [
        {"name": "head", "node": "n1", "replica": 0, "rank": 0, "gpus": FOUR},
        {"name": "worker", "node": "n2", "replica": 0, "rank": 1, "gpus": FOUR},
    ]
    ran = [{"endpoint": "head", "barrier_s": 1.0, "load_ended_s": 2.0}]
    windows = [bench_energy.run_windows(ran, engines, node) for node in ("n1", "n2")]
    assert windows == [[{"endpoint": "head", "gpus": FOUR, "start_s": 1.0, "end_s": 2.0}]] * 2
    assert bench_energy.run_windows([{**ran[0], "barrier_s": None}], engines, "n1") == []


def test_one_nodes_own_power_counts_once_for_two_endpoints() -> None:
    shared = {**told()["n1"][0], "node": "n1"}
    runs = [{**record(), "endpoint": name, "energy": [shared]} for name in ("a", "b")]
    found = bench_energy.plan_figures(runs)
    assert found["host_power_mean_w"] == 1900
    assert found["energy_gross_j"] == pytest.approx(2 * 20000)


def test_a_load_that_draws_what_idleness_draws_costs_nothing_net() -> None:
    found = bench_energy.figures([{"energy_j": 0.1 + 0.2, "power_idle_w": 0.3, "window_s": 1.0}], 100)
    assert (found["energy_net_j"], found["joules_per_token_net"], found["tokens_per_kwh_net"]) == (0.0, 0.0, None)
