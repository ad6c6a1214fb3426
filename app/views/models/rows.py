"""Hold the rows of the library: Qt's model, sorting, filtering, and the painting of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRectF,
    QSortFilterProxyModel,
    Qt,
)
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from app.state.models.library import LibraryRow, Narrowing
from app.system.translation import say
from app.views.widgets.icons import icon
from app.views.widgets.labels import ltr
from app.views.widgets.theme import Theme
from app.words.library import COLUMNS, column, heading, row_words, state_words

Index = QModelIndex | QPersistentModelIndex
ROW_ROLE = int(Qt.ItemDataRole.UserRole)
SORT_ROLE = ROW_ROLE + 1
USED_ROLE = ROW_ROLE + 2
_DISPLAY = int(Qt.ItemDataRole.DisplayRole)


class LibraryModel(QAbstractTableModel):
    """Hold a row for each model."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: list[LibraryRow] = []
        theme.changed.connect(self._redraw)

    def show_rows(self, rows: Sequence[LibraryRow]) -> None:
        """Show these rows. If they are the same models, only the changed ones are redrawn."""
        before, self_rows = self._rows, list(rows)
        if [row.path for row in before] != [row.path for row in self_rows]:
            self.beginResetModel()
            self._rows = self_rows
            self.endResetModel()
            return
        self._rows = self_rows
        for place, (old, new) in enumerate(zip(before, self_rows, strict=True)):
            if old != new:
                self.dataChanged.emit(self.index(place, 0), self.index(place, len(COLUMNS) - 1))

    @property
    def rows(self) -> Sequence[LibraryRow]:
        return self._rows

    def place_of(self, path: Path | None) -> int:
        """Return the row of a model, -1 if it is missing."""
        return next((place for place, row in enumerate(self._rows) if row.path == path), -1)

    def _redraw(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(COLUMNS) - 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name and default
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name and default
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(  # noqa: N802 - Qt's name
        self, section: int, orientation: Qt.Orientation, role: int = _DISPLAY
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        name = COLUMNS[section]
        if role == _DISPLAY:
            return heading(name)
        if role == Qt.ItemDataRole.ToolTipRole:
            return say(column(name).help) or heading(name)
        return _side(name) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def data(self, index: Index, role: int = _DISPLAY) -> Any:
        if not index.isValid():
            return None
        row, name = self._rows[index.row()], COLUMNS[index.column()]
        answers: dict[int, Callable[[], Any]] = {
            _DISPLAY: lambda: ltr(column(name).cell(row)) if column(name).figure else column(name).cell(row),
            ROW_ROLE: lambda: row,
            SORT_ROLE: lambda: column(name).sort(row),
            USED_ROLE: lambda: row.used,
            int(Qt.ItemDataRole.DecorationRole): lambda: self._star(row, name),
            int(Qt.ItemDataRole.TextAlignmentRole): lambda: _side(name),
            int(Qt.ItemDataRole.ForegroundRole): lambda: self._color(row, name),
            int(Qt.ItemDataRole.ToolTipRole): lambda: f"{row.path}\n{state_words(row)}",
            int(Qt.ItemDataRole.AccessibleTextRole): lambda: _spoken(row, name),
        }
        give = answers.get(int(role))
        return None if give is None else give()

    def _star(self, row: LibraryRow, name: str) -> Any:
        return icon(self._theme, "star-fill", "accent") if row.favourite and name == "name" else None

    def _color(self, row: LibraryRow, name: str) -> Any:
        if row.state in ("problem", "away"):
            return self._theme.color("muted")
        if name == "state":
            if row.loaded or row.chosen:
                return self._theme.color("accent")
            return self._theme.color("danger" if row.state == "large" else "muted")
        return None


def _spoken(row: LibraryRow, name: str) -> str:
    return row_words(row) if name == "name" else f"{heading(name)}: {column(name).cell(row)}"


def _side(name: str) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column(name).figure else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


class LibraryFilter(QSortFilterProxyModel):
    """Sort the rows, and leave out those that lack one of the words sought, or a fact that was chosen.

    Those used last stand in that order.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setSortRole(SORT_ROLE)
        self._words: list[str] = []
        self._narrowing = Narrowing()

    def seek(self, text: str) -> None:
        """Filter by words, in the models' names, their family, their path or their figures."""
        words = text.casefold().split()
        if words != self._words:
            self._words = words
            self.invalidate()

    def narrow(self, narrowing: Narrowing) -> None:
        """Filter by facts."""
        self._narrowing = narrowing
        self.setSortRole(USED_ROLE if narrowing.subset == "recent" else SORT_ROLE)
        self.invalidate()

    def filterAcceptsRow(self, source_row: int, source_parent: Index) -> bool:  # noqa: N802 - Qt's name
        """Return True if the row has all that is wanted."""
        if not self._words and self._narrowing == Narrowing():
            return True
        row: LibraryRow = self.sourceModel().index(source_row, 0, source_parent).data(ROW_ROLE)
        if not self._narrowing.lists(row):
            return False
        facts = (row.model.name, row.model.architecture, row.model.role, row.model.file_format)
        text = " ".join((row_words(row), str(row.path), *facts)).casefold()
        return all(word in text for word in self._words)

    def row_at(self, index: Index) -> LibraryRow | None:
        row = index.data(ROW_ROLE) if index.isValid() else None
        return row if isinstance(row, LibraryRow) else None


class MemoryDelegate(QStyledItemDelegate):
    """Draw a model's memory against the free memory, as a thin bar under the figure."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint the figure, and the bar."""
        super().paint(painter, option, index)
        row = index.data(ROW_ROLE)
        if not isinstance(row, LibraryRow) or not row.needed or not row.free:
            return
        place = QRectF(option.rect).adjusted(8, 0, -8, 0)
        bar = QRectF(place.left(), place.bottom() - 5, place.width(), 3)
        share = min(row.needed / row.free, 1.0)
        used = QRectF(bar)
        used.setWidth(max(bar.width() * share, 2.0))
        if option.direction == Qt.LayoutDirection.RightToLeft:
            used.moveRight(bar.right())
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("border"))
        painter.drawRoundedRect(bar, 1.5, 1.5)
        painter.setBrush(self._theme.color("danger" if row.state == "large" else "accent"))
        painter.drawRoundedRect(used, 1.5, 1.5)
        painter.restore()
