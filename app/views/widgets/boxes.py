"""Fill rows and columns of a dialog: widgets and layouts one after the other."""

from __future__ import annotations

from types import EllipsisType
from typing import NamedTuple, TypeVar

from PySide6.QtWidgets import QBoxLayout, QGridLayout, QHBoxLayout, QLayout, QVBoxLayout, QWidget

B = TypeVar("B", bound=QBoxLayout)
Margins = tuple[int, int, int, int]


class wide(NamedTuple):  # noqa: N801 - it reads as a word of the row
    """A part that takes the room that is left."""

    part: QWidget | QLayout


Part = QWidget | QLayout | wide | EllipsisType
"""The contents of a box; `...` is room between parts."""


def in_row(
    *parts: Part, spacing: int | None = None, margins: Margins | None = None, parent: QWidget | None = None
) -> QHBoxLayout:
    """Make a row of these parts."""
    return _filled(QHBoxLayout(parent) if parent is not None else QHBoxLayout(), parts, spacing, margins)


def in_column(
    *parts: Part, spacing: int | None = None, margins: Margins | None = None, parent: QWidget | None = None
) -> QVBoxLayout:
    """Make a column of these parts."""
    return _filled(QVBoxLayout(parent) if parent is not None else QVBoxLayout(), parts, spacing, margins)


def in_grid(
    *, across: int, down: int, stretch: int, margins: Margins | None = None, parent: QWidget | None = None
) -> QGridLayout:
    """Make an empty grid. `across`, `down`: pixels between cells; `stretch`: the column that takes the room left."""
    grid = QGridLayout(parent) if parent is not None else QGridLayout()
    if margins is not None:
        grid.setContentsMargins(*margins)
    grid.setHorizontalSpacing(across)
    grid.setVerticalSpacing(down)
    grid.setColumnStretch(stretch, 1)
    return grid


def _filled(box: B, parts: tuple[Part, ...], spacing: int | None, margins: Margins | None) -> B:
    if spacing is not None:
        box.setSpacing(spacing)
    if margins is not None:
        box.setContentsMargins(*margins)
    for part in parts:
        if isinstance(part, EllipsisType):
            box.addStretch(1)
            continue
        inner, stretch = (part.part, 1) if isinstance(part, wide) else (part, 0)
        if isinstance(inner, QWidget):
            box.addWidget(inner, stretch)
        else:
            box.addLayout(inner, stretch)
    return box
