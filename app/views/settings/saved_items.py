"""Show a line to choose a named item from, and to save, rename, delete, import and export the user's own."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QWidget

from app.state.models.selection import PickerLine
from app.state.settings.presets import SavedItems
from app.views.settings.fields import mark
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.icons import icon_button
from app.views.widgets.keys import keeps_escape
from app.views.widgets.picker import PATH_ROLE, Picker
from app.views.widgets.theme import Theme
from app.words.settings import name_words


class NameField(QLineEdit):
    """Edit a name. Signal: abandoned() (with Esc, which closes no dialog here)."""

    abandoned = Signal()

    def event(self, event: QEvent) -> bool:
        """Keep Esc for the field, before the dialog gets it."""
        return keeps_escape(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Leave the name as it was on Esc."""
        if event.key() == Qt.Key.Key_Escape:
            self.abandoned.emit()
            return
        super().keyPressEvent(event)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()  # or it would press the button that has the keyboard by now


class SavedItemsBar(QWidget):
    """Show saved items; actions on them are emitted.

    Signals: chosen(name), save_wanted(name), rename_wanted(old, new), delete_wanted(name), import_wanted(),
    export_wanted().
    """

    chosen = Signal(str)
    save_wanted = Signal(str)
    rename_wanted = Signal(str, str)
    delete_wanted = Signal(str)
    import_wanted = Signal()
    export_wanted = Signal()

    def __init__(self, theme: Theme, saved: SavedItems[Any], name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.saved = saved
        self._current: str | None = None
        self._renames = False
        self.picker = Picker(name, self)
        self.picker.setMinimumContentsLength(6)
        self.picker.chosen.connect(self._choose)
        self.save = icon_button(theme, "floppy-disk", self.tr("Save as…"), self)
        self.rename = icon_button(theme, "pencil-simple", self.tr("Rename…"), self)
        self.delete = icon_button(theme, "trash", self.tr("Delete"), self)
        self.take = icon_button(theme, "download-simple", self.tr("Import from a file…"), self)
        self.give = icon_button(theme, "upload-simple", self.tr("Export your own to a file…"), self)
        self.save.clicked.connect(lambda: self._ask_for_name(renames=False))
        self.rename.clicked.connect(lambda: self._ask_for_name(renames=True))
        self.delete.clicked.connect(self._delete)
        self.take.clicked.connect(self.import_wanted)
        self.give.clicked.connect(self.export_wanted)
        self.said = QLabel(self)
        self.said.setObjectName("hint")
        self.said.setWordWrap(True)
        self.said.hide()
        self._make_naming()
        self._lay_out()

    def _make_naming(self) -> None:
        self.naming = QWidget(self)
        self.name = NameField(self.naming)
        self.name.abandoned.connect(self._leave_naming)
        self.name.setAccessibleName(self.tr("Name"))
        self.name.setPlaceholderText(self.tr("Name"))
        self.name.textChanged.connect(self._check_name)
        self.name.returnPressed.connect(self._use_name)
        self.use = QPushButton(self.tr("Save"), self.naming)
        self.use.setAutoDefault(False)
        self.use.clicked.connect(self._use_name)
        self.back = QPushButton(self.tr("Cancel"), self.naming)
        self.back.setAutoDefault(False)
        self.back.clicked.connect(self._leave_naming)
        row = in_row(spacing=8, margins=(0, 0, 0, 0), parent=self.naming)
        for widget in (self.name, self.use, self.back):
            row.addWidget(widget, 1 if widget is self.name else 0)
        self.naming.hide()

    def _lay_out(self) -> None:
        row = in_row(wide(self.picker), spacing=8)
        for button in (self.save, self.rename, self.delete, self.take, self.give):
            row.addWidget(button)
        in_column(row, self.naming, self.said, margins=(0, 0, 0, 0), spacing=4, parent=self)

    def show_saved(self, current: str | None, missing: str, *, can_save: bool = True) -> None:
        """Show the saved items.

        `current`: the name of the item that is as what stands in the fields, None: none is; then `missing` is shown.
        """
        names = [self.saved.shown(item) for item in self.saved]
        self.picker.fill([PickerLine(None, name) for name in names], None, missing)
        for row, name in enumerate(names):
            self.picker.setItemData(row, name, PATH_ROLE)
        self.picker.setPlaceholderText(missing)
        self.picker.setCurrentIndex(names.index(current) if current in names else -1)
        self._current = current
        own = any(self.saved.shown(item) == current for item in self.saved.own)
        self.save.setEnabled(can_save)
        self.rename.setEnabled(own)
        self.delete.setEnabled(own)
        self.give.setEnabled(bool(self.saved.own))

    def say(self, words: str, *, wrong: bool = False) -> None:
        """Show the result of an action."""
        mark(self.said, wrong=wrong)
        self.said.setText(words)
        self.said.setVisible(bool(words))
        self.name.setAccessibleDescription(words)

    def _choose(self, name: object) -> None:
        self._end_naming()
        self.chosen.emit(str(name))

    def _delete(self) -> None:
        self._end_naming()
        self.delete_wanted.emit(self._current or "")

    def _ask_for_name(self, *, renames: bool) -> None:
        self._renames = renames
        self.naming.show()
        self.name.setText((self._current or "") if renames else "")
        self.name.selectAll()
        self.name.setFocus()
        self._check_name()

    def _check_name(self) -> None:
        problem = self.saved.name_problem(self.name.text(), besides=self._current if self._renames else None)
        self.use.setEnabled(problem is None)
        self.say("" if problem in (None, "empty") or self.naming.isHidden() else name_words(problem), wrong=True)

    def _use_name(self) -> None:
        if not self.use.isEnabled():
            return
        name, before = self.name.text(), self._current
        self._leave_naming()
        if self._renames:
            self.rename_wanted.emit(before or "", name)
        else:
            self.save_wanted.emit(name)

    def _leave_naming(self) -> None:
        """Leave naming: the keyboard goes back to where it came from."""
        (self.rename if self._renames and self.rename.isEnabled() else self.save).setFocus()
        self._end_naming()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Discard an unfinished edit when the dialog is closed."""
        super().hideEvent(event)
        if not self.window().isVisible():
            self._end_naming()

    def _end_naming(self) -> None:
        self.naming.hide()
        self.say("")
