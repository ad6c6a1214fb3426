"""Draw a line plot as SVG from numbers: every letter of the markup is ours, and names are escaped."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from xml.sax.saxutils import escape

from engine.tools.builtin.base import ToolRefused
from engine.tools.tool import one_line

WIDTH, HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 40, 36
_MOST_CURVES, _MOST_POINTS, _DRAWN_POINTS = 8, 200_000, 2_000
_COLORS = ("#2f6f5e", "#b3372f", "#33589c", "#b07a14", "#7a4a9c", "#3f8f9c", "#8c5a3c", "#6b675f")
_TICKS = 5

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Curve:
    """Hold a named curve; a point that is no number is a gap."""

    name: str
    points: tuple[Point, ...]


def curves_of(value: object) -> list[Curve]:
    """Return the curves in parsed JSON. Raises ValueError if there are none, ToolRefused for too many points."""
    if isinstance(value, dict) and set(value) >= {"x", "y"}:
        value = list(zip(value["x"], value["y"], strict=False)) if _lists(value["x"], value["y"]) else None
    named = list(value.items())[:_MOST_CURVES] if isinstance(value, dict) else [("", value)]
    curves = [Curve(one_line(str(name), 40), _points(each)) for name, each in named]
    if not any(_finite(point) for curve in curves for point in curve.points):
        raise ValueError
    return curves


def said_of(curves: Sequence[Curve]) -> str:
    """Describe the plot in words, for the model and for people who do not see it."""
    return "\n".join(map(_said, curves))


def plot_svg(curves: Sequence[Curve], title: str) -> str:
    """Return the plot as the address of a picture that holds it."""
    shown = [point for curve in curves for point in curve.points if _finite(point)]
    across = _ticks([x for x, _ in shown])
    up = _ticks([y for _, y in shown])
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="22" font-size="14" fill="#1e1d1a">{escape(title)}</text>',
    ]
    for y in up:
        at = f"{_at(y, up, HEIGHT - _BOTTOM, _TOP):.1f}"
        parts.append(f'<path d="M{_LEFT} {at}H{WIDTH - _RIGHT}" stroke="#e2ded6" fill="none"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{at}" dy="4" text-anchor="end" fill="#6b675f">{y:g}</text>')
    for x in across:
        at = f"{_at(x, across, _LEFT, WIDTH - _RIGHT):.1f}"
        parts.append(f'<path d="M{at} {_TOP}V{HEIGHT - _BOTTOM}" stroke="#e2ded6" fill="none"/>')
        parts.append(f'<text x="{at}" y="{HEIGHT - 16}" text-anchor="middle" fill="#6b675f">{x:g}</text>')
    for number, curve in enumerate(curves):
        parts += _drawn(curve, number, across, up)
    parts.append("</svg>")
    return "data:image/svg+xml;base64," + base64.b64encode("".join(parts).encode()).decode("ascii")


def _drawn(curve: Curve, number: int, across: Sequence[float], up: Sequence[float]) -> list[str]:
    color = _COLORS[number % len(_COLORS)]
    step = max(len(curve.points) // _DRAWN_POINTS, 1)
    parts = []
    for finite, points in groupby(curve.points[::step], _finite):
        if finite:
            drawn = " ".join(
                f"{_at(x, across, _LEFT, WIDTH - _RIGHT):.1f},{_at(y, up, HEIGHT - _BOTTOM, _TOP):.1f}"
                for x, y in points
            )
            drawn = drawn if " " in drawn else f"{drawn} {drawn}"  # a point by itself, as a dot
            line = f'fill="none" stroke="{color}" stroke-width="2" stroke-linecap="round"'
            parts.append(f'<polyline points="{drawn}" {line}/>')
    if curve.name:
        at = WIDTH - _RIGHT - 6
        parts.append(
            f'<text x="{at}" y="{_TOP + 14 + 15 * number}" text-anchor="end" fill="{color}">{escape(curve.name)}</text>'
        )
    return parts


def _points(value: object) -> tuple[Point, ...]:
    if not isinstance(value, list):
        raise ValueError  # noqa: TRY004 - JSON of another form
    if len(value) > _MOST_POINTS:
        raise ToolRefused(f"A curve has {len(value):,} points; {_MOST_POINTS:,} are the most.")
    return tuple(
        (_number(each[0]), _number(each[1]))
        if isinstance(each, list | tuple) and len(each) == 2
        else (float(n), _number(each))
        for n, each in enumerate(value)
    )


def _number(value: object) -> float:
    """Return a number, NaN for anything else; one that no picture can hold is none."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
    return float(value) if good else math.nan  # type: ignore[arg-type]


def _finite(point: Point) -> bool:
    return math.isfinite(point[0]) and math.isfinite(point[1])


def _lists(*values: object) -> bool:
    return all(isinstance(value, list) for value in values)


def _ticks(values: Sequence[float]) -> list[float]:
    """Return round numbers from at most the least to at least the largest value."""
    least, most = min(values), max(values)
    if least == most:
        least, most = least - (abs(least) or 1) / 2, most + (abs(most) or 1) / 2
    rough = (most - least) / _TICKS
    size = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next((each * size for each in (1, 2, 5, 10) if each * size >= rough), 10 * size)
    first, last = math.floor(least / step), math.ceil(most / step)
    return [round(number * step, 12) if abs(step) > 1e-9 else number * step for number in range(first, last + 1)]


def _at(value: float, ticks: Sequence[float], begin: float, end: float) -> float:
    share = (value - ticks[0]) / (ticks[-1] - ticks[0] or 1)
    return begin + share * (end - begin)


def _said(curve: Curve) -> str:
    points = [point for point in curve.points if _finite(point)]
    if not points:
        return f"{curve.name or 'The curve'}: no points."
    low, high = min(points, key=lambda each: each[1]), max(points, key=lambda each: each[1])
    return (
        f"{curve.name or 'The curve'}: {len(points):,} points, x from {min(x for x, _ in points):g} to "
        f"{max(x for x, _ in points):g}; lowest y {low[1]:g} at x {low[0]:g}, highest y {high[1]:g} at x {high[0]:g}."
    )
