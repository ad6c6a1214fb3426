"""Find tables in a page of a PDF file by the lines that are drawn around their cells."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from ctypes import byref, c_float
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pypdfium2 import raw

_MOST_PATHS, _MOST_SEGMENTS, _MOST_RULES = 2_000, 200, 600
_SHORTEST, _STRAIGHT, _NEAR = 6.0, 0.6, 2.5
"""Points: the shortest rule; the largest bend of one; the largest distance of two that are one, or touch."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Hold the edges of a table's columns, from the left, and of its rows, from the top down (negative)."""

    columns: tuple[float, ...]
    rows: tuple[float, ...]

    def cell(self, x: float, y: float) -> tuple[int, int] | None:
        """Return the row and the column of a point; None outside."""
        column, row = bisect(self.columns, x) - 1, bisect(self.rows, -y) - 1
        inside = 0 <= column < len(self.columns) - 1 and 0 <= row < len(self.rows) - 1
        return (row, column) if inside else None


_Rule = tuple[float, float, float, float]
"""Left, bottom, right, top."""


def grids(page: Any) -> list[Grid]:
    """Return the ruled tables of a page: each has two rows and two columns at least."""
    rules = list(islice(_rules(page), _MOST_RULES + 1))
    if len(rules) > _MOST_RULES:
        return []
    found = []
    for group in _touching(rules):
        columns = _edges([rule[0] for rule in group if rule[3] - rule[1] > _SHORTEST])
        rows = _edges([-rule[1] for rule in group if rule[2] - rule[0] > _SHORTEST])
        if len(columns) > 2 and len(rows) > 2:
            found.append(Grid(columns, rows))
    return found


def _rules(page: Any) -> Iterator[_Rule]:
    """Yield the straight lines across and down that a page draws, the edges of boxes too."""
    for path in islice(page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH], max_depth=2), _MOST_PATHS):
        matrix = path.get_matrix()
        start = last = None
        for index in range(min(raw.FPDFPath_CountSegments(path.raw), _MOST_SEGMENTS)):
            segment = raw.FPDFPath_GetPathSegment(path.raw, index)
            x, y = c_float(), c_float()
            raw.FPDFPathSegment_GetPoint(segment, byref(x), byref(y))
            point = matrix.on_point(x.value, y.value)
            kind = raw.FPDFPathSegment_GetType(segment)
            if kind == raw.FPDF_SEGMENT_MOVETO:
                start = point
            elif kind == raw.FPDF_SEGMENT_LINETO and last is not None:
                yield from _straight(last, point)
            last = point
            if raw.FPDFPathSegment_GetClose(segment) and start is not None:
                yield from _straight(last, start)


def _straight(one: tuple[float, float], two: tuple[float, float]) -> Iterator[_Rule]:
    left, right = sorted((one[0], two[0]))
    bottom, top = sorted((one[1], two[1]))
    wide, high = right - left, top - bottom
    if min(wide, high) <= _STRAIGHT and max(wide, high) > _SHORTEST:
        yield left, bottom, right, top


def _touching(rules: list[_Rule]) -> Iterator[list[_Rule]]:
    """Yield the rules in groups of those that touch each other."""
    left = list(rules)
    while left:
        group, new = [], [left.pop()]
        while new:
            group += new
            touch = [any(_touch(rule, each) for each in new) for rule in left]
            new = [rule for rule, touches in zip(left, touch, strict=True) if touches]
            left = [rule for rule, touches in zip(left, touch, strict=True) if not touches]
        yield group


def _touch(one: _Rule, two: _Rule) -> bool:
    across = one[0] <= two[2] + _NEAR and two[0] <= one[2] + _NEAR
    return across and one[1] <= two[3] + _NEAR and two[1] <= one[3] + _NEAR


def _edges(places: list[float]) -> tuple[float, ...]:
    """Return places in order, those that are near each other once."""
    found: list[float] = []
    for place in sorted(places):
        if not found or place - found[-1] > _NEAR:
            found.append(place)
    return tuple(found)
