"""Hold the lines of the command palette: Qt's model, and their painting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.state.commands.fuzzy import FuzzyMatch, match
from app.views.widgets.icons import icon
from app.views.widgets.theme import Theme

Index = QModelIndex | QPersistentModelIndex
LINE_ROLE = int(Qt.ItemDataRole.UserRole)
_PADDING, _ICON, _RADIUS = 10, 16, 6
_JOINED = 0x0590
"""The first character of scripts with joined letters, or from right to left."""
_LEAST = 6.0
"""Letters that are scattered more widely than this are there by chance."""


@dataclass(frozen=True, slots=True)
class Line:
    """Describe a command, or a conversation to be opened (`title`).

    `section`: where it belongs, in words; `keys`: how else it can be had; `marks`: places in the text that were typed;
    `destroys`: stands after all others that were found, and Enter alone does not run it.
    """

    text: str
    section: str
    keys: str
    run: Callable[[], object]
    possible: bool = True
    checked: bool = False
    title: bool = False
    marks: tuple[int, ...] = ()
    destroys: bool = False

    def found(self, query: str) -> FuzzyMatch | None:
        """Match it with a typed query. A command is also found by the name of its section."""
        hit = match(query, self.text)
        if hit is None and not self.title:
            both = match(query, f"{self.text} {self.section}")
            hit = (
                None
                if both is None
                else FuzzyMatch(both.score - 20.0, tuple(at for at in both.places if at < len(self.text)))
            )
        if hit is None or hit.score < _LEAST:
            return None
        return FuzzyMatch(hit.score - (0.0 if self.possible else 15.0) - (5.0 if self.title else 0.0), hit.places)

    def marked(self, places: tuple[int, ...]) -> Line:
        """Return the same line, with the typed letters marked."""
        return replace(self, marks=places)


class PaletteRows(QAbstractListModel):
    """Hold the lines that are shown."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.lines: list[Line] = []

    def show(self, lines: list[Line]) -> None:
        self.beginResetModel()
        self.lines = lines
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name and default
        return 0 if parent.isValid() else len(self.lines)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        if not index.isValid():
            return None
        line = self.lines[index.row()]
        if role == LINE_ROLE:
            return line
        if role == Qt.ItemDataRole.DisplayRole:
            return line.text
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return ", ".join(part for part in (line.text, line.keys, line.section) if part)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return the flags; a command that is not possible now cannot be chosen."""
        if not index.isValid() or not self.lines[index.row()].possible:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


class CommandPainter(QStyledItemDelegate):
    """Draw the lines: the words, typed letters in bold; at the other side the section, and the keys."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802 - Qt's name
        return QSize(120, QFontMetrics(option.font).height() + 14)

    def paint(self, painter: QPainter, option: Any, index: Index) -> None:
        line: Line = index.data(LINE_ROLE)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = option.rect.adjusted(1, 1, -1, -1)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setBrush(self._theme.color("raised"))
            painter.setPen(QPen(self._theme.color("border"), 1.0))
            painter.drawRoundedRect(box, _RADIUS, _RADIUS)
        room = box.adjusted(_PADDING, 0, -_PADDING, 0)
        mirrored = option.direction == Qt.LayoutDirection.RightToLeft
        self._paint_mark(painter, line, room, mirrored)
        room = _without(room, _ICON + 8, from_left=not mirrored)
        room = self._paint_side(painter, option.font, line, room, mirrored)
        self._paint_text(painter, option.font, line, room, mirrored)
        painter.restore()

    def _paint_mark(self, painter: QPainter, line: Line, room: QRect, mirrored: bool) -> None:
        if line.checked or line.title:
            left = room.right() - _ICON + 1 if mirrored else room.left()
            place = QRect(left, room.center().y() - _ICON // 2 + 1, _ICON, _ICON)
            name, color = ("check", "accent") if line.checked else ("chat-circle", "muted")
            icon(self._theme, name, color).paint(painter, place)

    def _paint_side(self, painter: QPainter, font: QFont, line: Line, room: QRect, mirrored: bool) -> QRect:
        """Return the keys, and before them where the command belongs; gives the room that is left."""
        # Absolute: the painter would mirror it once more.
        side = Qt.AlignmentFlag.AlignLeft if mirrored else Qt.AlignmentFlag.AlignRight
        aside = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute | side
        small = QFont(font)
        small.setPointSizeF(font.pointSizeF() * 0.92)
        metrics = QFontMetrics(small)
        painter.setFont(small)
        for text, color in ((line.keys, "text" if line.possible else "muted"), (line.section, "muted")):
            width = metrics.horizontalAdvance(text)
            if text and width < room.width() // 2:
                painter.setPen(self._theme.color(color))
                painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | aside, text)
                room = _without(room, width + 16, from_left=mirrored)
        return room

    def _paint_text(self, painter: QPainter, font: QFont, line: Line, room: QRect, mirrored: bool) -> None:
        strong = QFont(font)
        strong.setWeight(QFont.Weight.Bold)
        metrics = QFontMetrics(font)
        shown = metrics.elidedText(line.text, Qt.TextElideMode.ElideRight, room.width() - len(line.marks))
        painter.setPen(self._theme.color("text" if line.possible else "muted"))
        if mirrored or (line.text.isascii() is False and any(ord(each) >= _JOINED for each in line.text)):
            # Such letters must not be drawn in pieces.
            painter.setFont(font)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading, shown)
            return
        left = room.left()
        for text, marked in _runs(shown, frozenset(line.marks)):
            painter.setFont(strong if marked else font)
            width = painter.fontMetrics().horizontalAdvance(text)
            painter.drawText(QRect(left, room.top(), width + 2, room.height()), Qt.AlignmentFlag.AlignVCenter, text)
            left += width


def _runs(text: str, marks: frozenset[int]) -> Iterator[tuple[str, bool]]:
    """Return the text in pieces that are marked or not."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or (place in marks) != (start in marks):
            yield text[start:place], start in marks
            start = place


def _without(room: QRect, width: int, *, from_left: bool) -> QRect:
    return room.adjusted(width, 0, 0, 0) if from_left else room.adjusted(0, 0, -width, 0)
