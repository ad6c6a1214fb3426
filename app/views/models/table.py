"""Show the table of the library: its columns, as far as there is room for them, and its keys."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QItemSelectionModel, QModelIndex, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from app.views.models.rows import LibraryFilter, MemoryDelegate
from app.views.widgets.theme import Theme
from app.words.library import COLUMNS, column, heading

_NAME_LEAST, _STATE_LEAST = 200, 120
_DROPPED = sorted((name for name in COLUMNS if column(name).gives_way), key=lambda name: column(name).gives_way)


class LibraryTable(QTableView):
    """Choose one row at a time; typing goes to the filter. Signals: typed(text), wanted() (Enter, double click)."""

    typed = Signal(str)
    wanted = Signal()

    def __init__(self, rows: LibraryFilter, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setModel(rows)
        self.setAccessibleName(self.tr("Models"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setSortingEnabled(True)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setItemDelegateForColumn(COLUMNS.index("memory"), MemoryDelegate(theme, self))
        self.verticalHeader().hide()
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionsMovable(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setMinimumSectionSize(24)
        self.activated.connect(lambda _index: self.wanted.emit())
        self._fit()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return a small preferred size: the layout gives the table all available space."""
        return QSize(_NAME_LEAST + _STATE_LEAST, 6 * self.verticalHeader().defaultSectionSize())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(_NAME_LEAST + _STATE_LEAST, 3 * self.verticalHeader().defaultSectionSize() + 4)

    def choose(self, index: QModelIndex) -> None:
        """Choose a row, without a word to anyone."""
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.selectionModel().setCurrentIndex(index, flags)
        self.scrollTo(index)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Send printable keys to the filter."""
        text = event.text()
        command = event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
        if text and text.isprintable() and not text.isspace() and not command:
            self.typed.emit(text)
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._fit()
        self.scrollTo(self.currentIndex())

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _fit(self) -> None:
        self.ensurePolished()
        metrics = self.fontMetrics()
        self.verticalHeader().setDefaultSectionSize(metrics.height() + 14)
        widths = {
            name: max(metrics.horizontalAdvance(column(name).sample), metrics.horizontalAdvance(heading(name))) + 36
            for name in COLUMNS
            if column(name).sample
        }
        room = self.viewport().width()
        shown = list(widths)
        for name in _DROPPED:
            if sum(widths[each] for each in shown) + _NAME_LEAST + _STATE_LEAST > room:
                shown.remove(name)
        rest = max(room - sum(widths[name] for name in shown), 0)
        # A name tells more than all else; a state is one word.
        first = max(rest - _STATE_LEAST, min(_NAME_LEAST, rest))
        widths |= {"name": first, "state": rest - first}
        for place, name in enumerate(COLUMNS):
            self.setColumnHidden(place, name not in shown and name not in ("name", "state"))
            self.setColumnWidth(place, widths[name])
