"""The answer to the first question, as one table: how many people each plan serves, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.bench_rows import Sweep
from ansible.module_utils.apollo.capacity import Capacity, People, Prices, Supply, capacity
from ansible.module_utils.apollo.report_loads import loads, plan_power
from ansible.module_utils.apollo.report_table import Cell, Table, heads
from ansible.module_utils.apollo.report_words import Words
from ansible.module_utils.apollo.service_level import Level, largest_n

COLUMNS = ("plan", "people", "seats", "ended_by", "speed", "answer", "supply")
COST_COLUMNS = ("cost_hardware", "cost_electricity", "cost")
FEW = 3  # plans that are told in sentences; of more, the best one of each model
DEFAULT_PEOPLE = {"think_time_s": 60, "answer_tokens": 512, "floor_tok_s": 10}


def capacity_section(
    sweeps: Sequence[Sweep], people: Mapping[str, Any], prices: Mapping[str, Any], words: Words, prefix: str
) -> dict[str, Any]:
    """Sentences, the table, and what the numbers rest on."""
    asked = read_people(people)
    found = [_one(sweep, asked, prices) for sweep in sweeps]
    columns = [*COLUMNS, *(COST_COLUMNS if _has_prices(prices) else ())]
    rows = [_row(told, words)[: len(columns)] for told, _ in found]
    cloud = prices.get("cloud_per_million_tokens")
    rows += [_cloud_row(cloud, words, columns)] if cloud is not None else []
    return {
        "title": f"{prefix}{words['capacity']}",
        "question": _question(asked, words),
        "answers": [_answer(told, asked, words) for told in _foremost(sweeps, [told for told, _ in found])],
        "table": Table("capacity-table", _caption(prices, words), heads(columns, words), rows),
        "notes": list(dict.fromkeys(_notes(sweeps, asked, prices, found, words))),
    }


def read_people(people: Mapping[str, Any]) -> People:
    """What a site says of people; what it does not say is as usual."""
    return People(**{**DEFAULT_PEOPLE, **{name: value for name, value in people.items() if value is not None}})


def _question(asked: People, words: Words) -> str:
    numbers = {"think": asked.think_time_s, "tokens": asked.answer_tokens, "floor": asked.floor_tok_s}
    return words["capacity_question"].format(**{name: f"{value:g}" for name, value in numbers.items()})


def _one(sweep: Sweep, asked: People, prices: Mapping[str, Any]) -> tuple[Capacity, str]:
    """The plan's capacity, and what is known of its power."""
    carried = largest_n(loads(sweep), Level(asked.floor_tok_s, asked.answer_tokens)).n or 1
    load_w, idle_w, known = _power(sweep, carried, prices.get("host_power_w"))
    name = sweep.plan
    supply = Supply(name, len(sweep.endpoints), loads(sweep), load_w, idle_w)
    nodes = {engine["node"] for engine in sweep.about["layout"]["engines"]}
    return capacity(supply, asked, _prices(prices, len(nodes))), known


def _prices(prices: Mapping[str, Any], nodes: int) -> Prices:
    hardware = prices.get("hardware_per_node_month")
    return Prices(
        str(prices.get("currency") or ""),
        None if hardware is None else hardware * nodes,
        prices.get("electricity_per_kwh"),
        prices.get("cloud_per_million_tokens"),
        prices.get("utilisation") or 1.0,
    )


def _power(sweep: Sweep, n: int, host_w: float | None) -> tuple[float | None, float | None, str]:
    """Watts under load and idle, and whether hosts are in it: as measured, as stated, or not at all."""
    nodes = len({engine["node"] for engine in sweep.about["layout"]["engines"]})
    gpus, idle = plan_power(sweep, n, "power_mean_w"), plan_power(sweep, n, "power_idle_w")
    whole = plan_power(sweep, n, "host_power_mean_w")
    if gpus is None and whole is None:
        return None, None, "unknown"
    if whole is not None:
        return whole, None if idle is None or gpus is None else whole - gpus + idle, "host"
    extra = (host_w or 0.0) * nodes
    return (gpus or 0.0) + extra, None if idle is None else idle + extra, "gpu" if host_w is None else "stated"


def _row(told: Capacity, words: Words) -> list[Cell]:
    return [
        Cell(told.plan),
        Cell(_people(told, words), "strong"),
        Cell(show.count(told.seats)),
        Cell(words[f"ended_{told.ended_by}"]),
        Cell(show.number(told.speed_tok_s)),
        Cell(show.number(told.answer_s)),
        Cell(show.number(told.tok_s, 4)),
        Cell(_amount(told.hardware_per_million)),
        Cell(_amount(told.electricity_per_million)),
        Cell(_amount(told.cost_per_million), "strong"),
    ]


def _people(told: Capacity, words: Words) -> str:
    count = show.count(told.people)
    return words["capacity_open"].format(people=count) if told.open_ended else count


def _cloud_row(price: float, words: Words, columns: Sequence[str]) -> list[Cell]:
    empty = [Cell(show.NOTHING)] * (len(columns) - 2)
    return [Cell(words["capacity_cloud"]), *empty, Cell(_amount(price), "strong")]


def _caption(prices: Mapping[str, Any], words: Words) -> str:
    return words["capacity_costs"].format(currency=prices.get("currency") or "") if _has_prices(prices) else ""


def _amount(value: float | None) -> str:
    return show.NOTHING if value is None else f"{value:.2f}"


def _money(value: float | None, prices: Mapping[str, Any]) -> str:
    return show.NOTHING if value is None else f"{_amount(value)} {prices.get('currency') or ''}".strip()


def _has_prices(prices: Mapping[str, Any]) -> bool:
    names = ("hardware_per_node_month", "electricity_per_kwh", "cloud_per_million_tokens")
    return any(prices.get(name) is not None for name in names)


def _foremost(sweeps: Sequence[Sweep], told: Sequence[Capacity]) -> list[Capacity]:
    """All of a few plans, or of each model the plan that serves most people."""
    if len(told) <= FEW:
        return list(told)
    best: dict[str, Capacity] = {}
    for sweep, row in zip(sweeps, told, strict=True):
        model = sweep.about["layout"]["endpoints"][0]["model"]
        if model not in best or (row.people or 0) > (best[model].people or 0):
            best[model] = row
    return list(best.values())


def _answer(told: Capacity, asked: People, words: Words) -> str:
    if told.people is None:
        return words["capacity_unknown"].format(plan=told.plan)
    if not told.people:
        return words["capacity_nobody"].format(plan=told.plan, floor=f"{asked.floor_tok_s:g}")
    speed = {
        "speed": show.number(told.speed_tok_s),
        "answer": show.number(told.answer_s),
        "first": show.number(told.first_s, 2),
    }
    return words["capacity_answer"].format(
        plan=told.plan,
        people=_people(told, words),
        seats=show.count(told.seats),
        tokens=f"{asked.answer_tokens:g}",
        **speed,
    )


def _notes(
    sweeps: Sequence[Sweep],
    asked: People,
    prices: Mapping[str, Any],
    found: Sequence[tuple[Capacity, str]],
    words: Words,
) -> list[str]:
    told = [words["capacity_open_note"]] if any(row.open_ended for row, _ in found) else []
    for length in {sweep.about["settings"]["output_tokens"] for sweep in sweeps} - {asked.answer_tokens}:
        told.append(words["capacity_length_note"].format(tokens=asked.answer_tokens, measured=length))
    if not _has_prices(prices):
        return [*told, words["capacity_no_prices"]]
    told.append(_price_note(prices, words))
    return [*told, *(words[f"capacity_power_{known}"].format(host=prices.get("host_power_w")) for _, known in found)]


def _price_note(prices: Mapping[str, Any], words: Words) -> str:
    return words["capacity_prices"].format(
        hardware=_money(prices.get("hardware_per_node_month"), prices),
        electricity=_money(prices.get("electricity_per_kwh"), prices),
        utilisation=f"{100 * (prices.get('utilisation') or 1.0):.0f} %",
    )
