"""List the folders that are searched for models: they can be added and removed, and missing ones are marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QListWidget, QListWidgetItem, QPushButton, QSizePolicy, QWidget

from app.views.widgets.labels import ltr

_MOST_LINES = 3


class _Folders(QListWidget):
    """Show as many lines as there are, up to three. Signal: delete_pressed()."""

    delete_pressed = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Delete takes the chosen folder off the list."""
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.delete_pressed.emit()
        else:
            super().keyPressEvent(event)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size that the lines need."""
        lines = min(max(self.count(), 1), _MOST_LINES)
        row = self.sizeHintForRow(0) if self.count() else self.fontMetrics().height() + 6
        return QSize(200, lines * row + 12)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the same."""
        return QSize(120, self.sizeHint().height())


class FolderList(QFrame):
    """Show the models folders. Signals: add_wanted(), remove_wanted(Path)."""

    add_wanted = Signal()
    remove_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.list = _Folders(self)
        self.list.setAccessibleName(self.tr("Model folders"))
        self.list.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.add_button = QPushButton(self.tr("Add folder…"), self)
        self.add_button.setAutoDefault(False)
        self.add_button.clicked.connect(self.add_wanted)
        self.remove_button = QPushButton(self.tr("Remove"), self)
        self.remove_button.setToolTip(self.tr("Remove the chosen folder from this list; its files are not deleted"))
        self.remove_button.setAutoDefault(False)
        self.remove_button.clicked.connect(self._remove)
        self.list.delete_pressed.connect(self._remove)
        self.list.currentRowChanged.connect(lambda _row: self._show_button())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.list, 1, Qt.AlignmentFlag.AlignTop)
        for button in (self.add_button, self.remove_button):
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self._shown: object = None
        self.show_folders((), ())

    def show_folders(self, folders: Sequence[Path], away: Iterable[Path]) -> None:
        """Show these; those that are not there at present say so."""
        gone = frozenset(away)
        if self._shown == (tuple(folders), gone):
            return
        self._shown = (tuple(folders), gone)
        kept = self._chosen()
        self.list.clear()
        for folder in folders:
            words = ltr(str(folder))
            if folder in gone:
                words = self.tr("{folder} · not available").format(folder=words)
            item = QListWidgetItem(words, self.list)
            item.setData(Qt.ItemDataRole.UserRole, folder)
            item.setToolTip(words)
            if folder == kept:
                self.list.setCurrentItem(item)
        if not folders:
            item = QListWidgetItem(self.tr("There is no folder yet. Add one with GGUF models."), self.list)
            item.setFlags(Qt.ItemFlag.NoItemFlags)
        self.list.updateGeometry()
        self._show_button()

    def _chosen(self) -> Path | None:
        folder = self.list.currentIndex().data(Qt.ItemDataRole.UserRole)
        return folder if isinstance(folder, Path) else None

    def _show_button(self) -> None:
        self.remove_button.setEnabled(self._chosen() is not None)

    def _remove(self) -> None:
        folder = self._chosen()
        if folder is not None:
            self.remove_wanted.emit(folder)
