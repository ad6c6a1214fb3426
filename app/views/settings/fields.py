"""Show fields of the settings: an input, and beside it its meaning or its error."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QPlainTextEdit, QWidget

from app.settings.entry import Setting
from app.state.models.selection import PickerLine
from app.state.settings.fields import GenerationField
from app.state.settings.generation import GenerationChoice
from app.state.settings.typed import check, parse, show
from app.system.translation import say
from app.views.widgets.picker import PATH_ROLE, Picker

_LINES = {"lines": 3, "text": 6}
_WIDE, _WIDE_LEAST = 30, 12
"""Characters: names that are longer get the room of two columns, in a list that may be narrower than they are."""
_NUMBER_WIDTH = 15
"""Characters, so that half of the largest seed is seen at once."""


def mark(label: QLabel, *, wrong: bool) -> None:
    """Mark the label as a hint, or as an error."""
    name = "fieldError" if wrong else "hint"
    if label.objectName() != name:
        label.setObjectName(name)
        label.style().unpolish(label)
        label.style().polish(label)


class Field(QObject):
    """Show a field of a GenerationChoice. Signal: changed(name, value), only with values that make sense.

    Attributes: name; edit (a line, or several); label; hint (what it means, or what is wrong); error (what is wrong in
    the engine's words, None: nothing).
    """

    changed = Signal(str, object)

    def __init__(self, field: GenerationField, parent: QWidget) -> None:
        super().__init__(parent)
        self.name = field.name
        self.error: str | None = None
        self._rule, self._meaning = field.rule, field.hint
        self.label = QLabel(say(field.label), parent)
        self.hint = QLabel(say(field.hint), parent)
        self.hint.setObjectName("hint")
        self.hint.setWordWrap(True)
        self.edit: QLineEdit | QPlainTextEdit
        self._lines = _LINES.get(field.kind, 0)
        if self._lines:
            self.edit = QPlainTextEdit(parent)
            self.edit.setTabChangesFocus(True)
        else:
            self.edit = QLineEdit(parent)
        self.fit_font(parent.fontMetrics())
        self.edit.setAccessibleName(say(field.label))
        self.edit.setAccessibleDescription(say(field.hint))
        self.label.setBuddy(self.edit)
        self._set(show(self.name, GenerationChoice()))
        self.edit.textChanged.connect(self._typed)
        self._showing = False

    def fit_font(self, metrics: QFontMetrics) -> None:
        """Fit the field to letters of this size."""
        if self._lines:
            self.edit.setFixedHeight(self._lines * metrics.lineSpacing() + 24)
        else:
            self.edit.setFixedWidth(metrics.averageCharWidth() * _NUMBER_WIDTH + 24)

    @property
    def text(self) -> str:
        return self.edit.text() if isinstance(self.edit, QLineEdit) else self.edit.toPlainText()

    def show(self, choice: GenerationChoice, *, anew: bool = False) -> None:
        """Show the value; typed text of the same value stays. `anew`: invalid text is replaced too."""
        if self.error is not None and not anew:
            return
        if self.error is None and parse(self.name, self.text) == getattr(choice, self.name):
            return
        self._showing = True
        self._set(show(self.name, choice))
        self._showing = False

    def _set(self, text: str) -> None:
        if isinstance(self.edit, QLineEdit):
            self.edit.setText(text)
        else:
            self.edit.setPlainText(text)

    def _typed(self) -> None:
        self.error = check(self.name, self.text)
        words = say(self._meaning if self.error is None else self._rule or self.error)
        self.hint.setText(words)
        self.edit.setAccessibleDescription(words)
        mark(self.hint, wrong=self.error is not None)
        self.edit.setProperty("wrong", self.error is not None)
        self.edit.style().unpolish(self.edit)
        self.edit.style().polish(self.edit)
        if self.error is None and not self._showing:
            self.changed.emit(self.name, parse(self.name, self.text))

    def put_into(self, grid: QGridLayout, row: int, *, narrow: bool) -> None:
        """Put the field into two rows of a form: name, value and meaning, or the meaning below them."""
        grid.addWidget(self.label, row, 0)
        grid.addWidget(self.edit, row, 1)
        if narrow:
            grid.addWidget(self.hint, row + 1, 0, 1, 3)
        else:
            grid.addWidget(self.hint, row, 2)


class OptionField(QObject):
    """Edit a setting with a few values, and explain the chosen one. Signal: changed(name, value).

    Attributes: name, label, picker, hint.
    """

    changed = Signal(str, object)

    def __init__(self, setting: Setting, parent: QWidget) -> None:
        super().__init__(parent)
        self.name = setting.name
        self._setting = setting
        self._options = setting.choices()
        self.label = QLabel(say(setting.label), parent)
        self.picker = Picker(say(setting.label), parent)
        names = [say(option.label) for option in self._options]
        lines = [
            PickerLine(None, name, hint=say(option.hint)) for name, option in zip(names, self._options, strict=True)
        ]
        self.picker.fill(lines, None, "")
        for row, option in enumerate(self._options):
            self.picker.setItemData(row, option.value, PATH_ROLE)
        longest = max(map(len, names))
        self._wide = longest > _WIDE
        self.picker.setMinimumContentsLength(_WIDE_LEAST if self._wide else longest)
        self.label.setBuddy(self.picker)
        self.hint = QLabel(say(setting.hint), parent)
        self.hint.setObjectName("hint")
        self.hint.setWordWrap(True)
        self.picker.chosen.connect(lambda value: self.changed.emit(self.name, value))

    def put_into(self, grid: QGridLayout, row: int) -> None:
        """Put it into two rows of a form: name and value, the meaning below them."""
        grid.addWidget(self.label, row, 0)
        grid.addWidget(self.picker, row, 1, 1, 2 if self._wide else 1)
        grid.addWidget(self.hint, row + 1, 1, 1, 2)
        self.hint.setHidden(not self.hint.text())

    def show_value(self, value: Any) -> None:
        row = next((row for row, option in enumerate(self._options) if option.value == value), -1)
        unlisted = self._setting.unlisted
        if row < 0 and unlisted is None:
            row = 0
        self.picker.setCurrentIndex(row)
        self.picker.setPlaceholderText(say(unlisted(value)) if row < 0 and unlisted is not None else "")
        meaning = say(self._options[row].hint) if row >= 0 else ""
        if meaning:
            self.hint.setText(meaning)
            self.hint.show()
            self.picker.setAccessibleDescription(meaning)
