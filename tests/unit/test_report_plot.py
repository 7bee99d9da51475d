"""Plots and numbers as people read them."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from ansible.module_utils.apollo import report_format as show
from ansible.module_utils.apollo.report_plot import HEIGHT, WIDTH, Plot, Series, draw, nice_ticks
from hypothesis import given
from hypothesis import strategies as st

points = st.lists(st.none() | st.floats(0, 1e7), min_size=1, max_size=12)


def parse(plot: Plot) -> ElementTree.Element:
    return ElementTree.fromstring(draw(plot))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, "\u2013"), (0, "0"), (0.0636, "0.0636"), (0.2, "0.200"), (1.506, "1.51"), (21, "21.0")),
        *((2618, "2\u202f618"), (0.0000001, "0.000000"), (-3.14159, "-3.14"), (99.96, "100"), (0.09999, "0.100")),
    ],
)
def test_numbers_have_significant_digits_and_no_exponent(value: float | None, text: str) -> None:
    assert show.number(value) == text


def test_what_was_not_measured_is_a_dash() -> None:
    assert {show.number(None), show.count(None), show.seconds(None), show.percent(None)} == {show.NOTHING}


def test_the_mean_of_nothing_is_nothing() -> None:
    assert show.mean([None, None]) is None
    assert show.mean([None, 2.0, 4.0]) == 3.0


@given(st.floats(1e-6, 1e9))
def test_ticks_reach_the_top_in_a_few_even_steps(top: float) -> None:
    ticks = nice_ticks(top)
    assert ticks[0] == 0
    assert ticks[-1] >= top * (1 - 1e-6)
    assert 3 <= len(ticks) <= 6


def test_nothing_at_all_still_has_an_axis() -> None:
    assert nice_ticks(0) == [0.0, 1.0]


@given(points)
def test_any_values_draw_inside_the_picture(values: list[float | None]) -> None:
    plot = Plot("t", "N", "s", list(range(1, len(values) + 1)), [Series("a", values, labels=True)])
    dots = parse(plot).findall("circle")
    assert len(dots) == sum(value is not None for value in values)
    assert all(0 <= float(dot.get("cx", "-1")) <= WIDTH and 0 <= float(dot.get("cy", "-1")) <= HEIGHT for dot in dots)


def test_the_title_is_inside_the_picture() -> None:
    texts = [
        text.text for text in parse(Plot("Lab: 27b, speed", "N", "tok/s", [1], [Series("a", [1.0])])).findall("text")
    ]
    assert texts[:2] == ["Lab: 27b, speed", "tok/s"]


def test_a_name_cannot_break_the_picture() -> None:
    svg = draw(Plot('<b>"&', "N", "s", [1], [Series("<script>", [1.0])]))
    assert "<script>" not in svg
    assert "<b>" not in svg
    ElementTree.fromstring(svg)


def test_endpoints_that_differ_have_a_band_and_equal_ones_have_none() -> None:
    def bands(high: list[float]) -> int:
        line = Series("a", [1.0, 1.0], [1.0, 1.0], high)
        return len(parse(Plot("t", "N", "s", [1, 8], [line])).findall("polygon"))

    assert (bands([2.0, 2.0]), bands([1.0, 1.0])) == (1, 0)
