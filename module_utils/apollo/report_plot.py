"""A line plot as SVG: made for few points over N, readable in both themes and on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import Any

from ansible.module_utils.apollo.report_format import fixed, number

WIDTH, HEIGHT = 440, 300
INSET = 28  # room for the first and the last value beside the axis
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 56, 50


@dataclass(frozen=True)
class Series:
    """One line; low and high, where given, are the edges of its band."""

    name: str
    values: Sequence[float | None]
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    labels: bool = False
    dashed: bool = False


@dataclass(frozen=True)
class Plot:
    """A title, both axes and the lines."""

    title: str
    x_name: str
    y_name: str
    x: Sequence[int]
    series: Sequence[Series]
    mark: float | None = None
    mark_name: str = ""

    @property
    def has_data(self) -> bool:
        return any(value is not None for line in self.series for value in line.values)


def draw(plot: Plot) -> str:
    """The whole picture, with its title inside so that it keeps it when copied."""
    ticks = nice_ticks(_top(plot))
    label = escape(f"{plot.title}: {plot.y_name}", quote=True)
    parts = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">',
        _text(6, 17, plot.title, "plot-title"),
        _text(6, 35, plot.y_name, "plot-unit"),
        *_grid(plot, ticks),
        *(_mark(plot, ticks) if plot.mark is not None else []),
        *(part for index, line in enumerate(plot.series) for part in _line(plot, line, index, ticks)),
        *(part for line in plot.series if line.labels for part in _labels(plot, line, ticks)),
        "</svg>",
    ]
    return "".join(parts)


def figure(plot: Plot) -> dict[str, Any]:
    """The picture and its legend: the lines that have a value, each with its place, which gives its colour."""
    legend = [
        {"name": line.name, "dashed": line.dashed, "place": place}
        for place, line in enumerate(plot.series)
        if any(value is not None for value in line.values)
    ]
    return {"svg": draw(plot), "legend": legend}


def nice_ticks(top: float) -> list[float]:
    """From 0 to at least `top` in 4 to 6 steps of 1, 2, 2.5 or 5 times a power of ten."""
    if top <= 0:
        return [0.0, 1.0]
    power = 10.0 ** floor(log10(top / 4))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if top / (power * factor) <= 5)
    return [step * index for index in range(ceil(top / step - 1e-9) + 1)]


def _top(plot: Plot) -> float:
    values = [value for line in plot.series for value in (*line.values, *line.high) if value is not None]
    return max([*values, plot.mark or 0.0, 0.0])


def _x(plot: Plot, index: int) -> float:
    room = WIDTH - LEFT - RIGHT - 2 * INSET
    return LEFT + INSET + (room * index / (len(plot.x) - 1) if len(plot.x) > 1 else room / 2)


def _y(value: float, ticks: Sequence[float]) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / ticks[-1]


def _grid(plot: Plot, ticks: Sequence[float]) -> list[str]:
    lines = []
    decimals = max(0, -floor(log10(ticks[1]) + 1e-9), 1 if ticks[1] % 1 else 0)
    decimals += 1 if abs(ticks[1] * 10**decimals % 1) > 1e-9 else 0
    for tick in ticks:
        y = _y(tick, ticks)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        lines.append(_text(LEFT - 8, y + 4.5, fixed(tick, decimals), "tick end"))
    for index, x in enumerate(plot.x):
        lines.append(_text(_x(plot, index), HEIGHT - BOTTOM + 18, str(x), "tick middle"))
    lines.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, plot.x_name, "plot-unit middle"))
    return lines


def _mark(plot: Plot, ticks: Sequence[float]) -> list[str]:
    y = _y(plot.mark or 0.0, ticks)
    line = f'<line class="mark" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
    return [line, _text(LEFT + 4, y - 5, plot.mark_name, "mark-name")]


def _line(plot: Plot, line: Series, index: int, ticks: Sequence[float]) -> list[str]:
    points = [(_x(plot, at), value) for at, value in enumerate(line.values) if value is not None]
    path = " ".join(f"{x:.1f},{_y(value, ticks):.1f}" for x, value in points)
    style = f"series-{index}{' dashed' if line.dashed else ''}"
    drawn = [*_band(plot, line, index, ticks), f'<polyline class="line {style}" points="{path}"/>' if points else ""]
    for at, value in enumerate(line.values):
        if value is not None:
            x, y = _x(plot, at), _y(value, ticks)
            told = escape(f"{line.name}, N = {plot.x[at]}: {number(value)}")
            drawn.append(f'<circle class="dot {style}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{told}</title></circle>')
    return drawn


def _labels(plot: Plot, line: Series, ticks: Sequence[float]) -> list[str]:
    """The values, on top of every line."""
    known = [(at, value) for at, value in enumerate(line.values) if value is not None]
    return [_text(_x(plot, at), _y(value, ticks) - 10, number(value), "value middle") for at, value in known]


def _band(plot: Plot, line: Series, index: int, ticks: Sequence[float]) -> list[str]:
    """The area between the lowest and the highest endpoint."""
    edges = [
        (_x(plot, at), low, high)
        for at, (low, high) in enumerate(zip(line.low, line.high, strict=True))
        if low is not None and high is not None
    ]
    if len(edges) < 2 or all(low == high for _, low, high in edges):
        return []
    upper = [f"{x:.1f},{_y(high, ticks):.1f}" for x, _, high in edges]
    lower = [f"{x:.1f},{_y(low, ticks):.1f}" for x, low, _ in reversed(edges)]
    return [f'<polygon class="band series-{index}" points="{" ".join(upper + lower)}"/>']


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'
