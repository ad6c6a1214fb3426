"""The lines of a picker: what Qt asks of them. A line gets its words when somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.state.models.models import PickerLine
from app.words.models import shortage_words

Index = QModelIndex | QPersistentModelIndex
Words = Callable[[PickerLine], PickerLine]
PATH_ROLE = int(Qt.ItemDataRole.UserRole)
MORE_ROLE = PATH_ROLE + 1
DIM_ROLE = PATH_ROLE + 2
_DISPLAY = int(Qt.ItemDataRole.DisplayRole)
_CHOSEN = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable


class PickerLines(QAbstractListModel):
    """Hundreds of models are shown anew whenever memory changes; hardly any of them is looked at."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._choices: tuple[PickerLine, ...] = ()
        self._words: Words | None = None
        self._worded: dict[int, PickerLine] = {}
        self._kept: dict[tuple[int, int], object] = {}

    def show(self, choices: Sequence[PickerLine], words: Words | None) -> None:
        """Show these; `words` gives a line its words, where it has none yet."""
        self.beginResetModel()
        self._choices, self._words = tuple(choices), words
        self._worded, self._kept = {}, {}
        self.endResetModel()

    def place_of(self, key: object) -> int:
        """The last line with this key; -1: there is none."""
        return max((row for row, choice in enumerate(self._choices) if choice.key == key), default=-1)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name and default
        """One a choice."""
        return 0 if parent.isValid() else len(self._choices)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return the flags; an item with a problem cannot be chosen."""
        if not index.isValid() or self._line(index.row()).problem is not None:
            return Qt.ItemFlag.ItemIsSelectable if index.isValid() else Qt.ItemFlag.NoItemFlags
        return _CHOSEN

    def data(self, index: Index, role: int = _DISPLAY) -> Any:
        """Its words, what names it, and how it is to look."""
        if not index.isValid():
            return None
        kept = (index.row(), int(role))
        if kept in self._kept:
            return self._kept[kept]
        if role == PATH_ROLE:
            return self._choices[index.row()].key
        line = self._line(index.row())
        if role == _DISPLAY:
            return line.label
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole):
            return line.problem or line.hint
        if role == MORE_ROLE:
            return _more(line)
        return line.shortage is not None if role == DIM_ROLE else None

    def setData(self, index: Index, value: Any, role: int = _DISPLAY) -> bool:  # noqa: N802 - Qt's name
        """Name a line otherwise."""
        if not index.isValid():
            return False
        self._kept[index.row(), int(role)] = value
        self.dataChanged.emit(index, index, [int(role)])
        return True

    def _line(self, row: int) -> PickerLine:
        line = self._worded.get(row)
        if line is None:
            line = self._choices[row]
            line = self._worded[row] = line if self._words is None else self._words(line)
        return line


def _more(line: PickerLine) -> str:
    """Return the small text under it."""
    if line.problem is not None:
        return line.problem
    if line.kind != "model":
        return line.hint
    return "" if line.shortage is None else shortage_words(*line.shortage)
