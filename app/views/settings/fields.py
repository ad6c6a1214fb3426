"""Fields of the settings: something to type into, what it means beside it, and there too what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from app.state.models.models import PickerLine
from app.state.settings.generation import GenerationChoice, check, parse, show
from app.views.widgets.picker import PATH_ROLE, Picker
from app.words.settings import field_hint, field_name, field_rule, option_words

_NUMBER_WIDTH = 15
"""Characters, so that half of the largest seed is seen at once."""


def mark(label: QLabel, *, wrong: bool) -> None:
    """A hint, or what is wrong."""
    name = "fieldError" if wrong else "hint"
    if label.objectName() != name:
        label.setObjectName(name)
        label.style().unpolish(label)
        label.style().polish(label)


class Field(QObject):
    """A field of a GenerationChoice. Signal: changed(name, value), only with values that make sense.

    Attributes: name; edit (a line, or several); label; hint (what it means, or what is wrong); error (what is wrong in
    the engine's words, None: nothing).
    """

    changed = Signal(str, object)

    def __init__(self, name: str, parent: QWidget, *, lines: int = 0) -> None:
        super().__init__(parent)
        self.name = name
        self.error: str | None = None
        self.label = QLabel(field_name(name), parent)
        self.hint = QLabel(field_hint(name), parent)
        self.hint.setObjectName("hint")
        self.hint.setWordWrap(True)
        self.edit: QLineEdit | QPlainTextEdit
        if lines:
            self.edit = QPlainTextEdit(parent)
            self.edit.setTabChangesFocus(True)
        else:
            self.edit = QLineEdit(parent)
        self._lines = lines
        self.fit_letters(parent.fontMetrics())
        self.edit.setAccessibleName(field_name(name))
        self.edit.setAccessibleDescription(field_hint(name))
        self.label.setBuddy(self.edit)
        self._set(show(name, GenerationChoice()))
        self.edit.textChanged.connect(self._typed)
        self._showing = False

    def fit_letters(self, metrics: QFontMetrics) -> None:
        """Room for letters of this size."""
        if self._lines:
            self.edit.setFixedHeight(self._lines * metrics.lineSpacing() + 24)
        else:
            self.edit.setFixedWidth(metrics.averageCharWidth() * _NUMBER_WIDTH + 24)

    @property
    def text(self) -> str:
        """Return the typed text."""
        return self.edit.text() if isinstance(self.edit, QLineEdit) else self.edit.toPlainText()

    def show(self, choice: GenerationChoice, *, anew: bool = False) -> None:
        """Show the value; where what is typed there says just that, it stays. `anew`: what is wrong goes too."""
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
        words = field_hint(self.name) if self.error is None else field_rule(self.name)
        self.hint.setText(words)
        self.edit.setAccessibleDescription(words)
        mark(self.hint, wrong=self.error is not None)
        self.edit.setProperty("wrong", self.error is not None)
        self.edit.style().unpolish(self.edit)
        self.edit.style().polish(self.edit)
        if self.error is None and not self._showing:
            self.changed.emit(self.name, parse(self.name, self.text))

    def put_into(self, grid: QGridLayout, row: int, *, narrow: bool) -> None:
        """Two rows of a form: name, value and meaning, or the meaning below them."""
        grid.addWidget(self.label, row, 0)
        grid.addWidget(self.edit, row, 1)
        if narrow:
            grid.addWidget(self.hint, row + 1, 0, 1, 3)
        else:
            grid.addWidget(self.hint, row, 2)


class OptionField(QWidget):
    """One of a few values, and what the chosen one does. Signal: changed(name, value). Attributes: name, picker."""

    changed = Signal(str, object)

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.name = name
        self._words: Mapping[str, tuple[str, str]] = option_words(name)
        label = QLabel(field_name(name), self)
        self.picker = Picker(field_name(name), self)
        self.picker.fill([PickerLine(None, words, hint=hint) for words, hint in self._words.values()], None, "")
        for row, value in enumerate(self._words):
            self.picker.setItemData(row, value, PATH_ROLE)
        self.picker.setMinimumContentsLength(max(len(words) for words, _ in self._words.values()))
        label.setBuddy(self.picker)
        self.hint = QLabel(self)
        self.hint.setObjectName("hint")
        self.hint.setWordWrap(True)
        self.picker.chosen.connect(lambda value: self.changed.emit(self.name, value))
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.addWidget(label, 0, 0)
        grid.addWidget(self.picker, 0, 1)
        grid.setColumnMinimumWidth(0, 140)
        grid.setColumnStretch(2, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(grid)
        column.addWidget(self.hint)

    def show_value(self, value: str) -> None:
        """Show what is chosen."""
        row = list(self._words).index(value)
        self.picker.setCurrentIndex(row)
        self.hint.setText(self._words[value][1])
        self.picker.setAccessibleDescription(self._words[value][1])
