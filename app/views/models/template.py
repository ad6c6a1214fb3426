"""Edit a model's chat template, and the variables of the one in use."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFormLayout, QLabel, QLineEdit, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.state.models.load_options import read_value, show_value
from app.views.widgets.theme import keep_fixed

_LINES = 6
_TYPING_MS = 400


class TemplateForm(QWidget):
    """Show a chat template, and a line for each of its variables, which come from `show_names`.

    Attributes: template (the edit), edits (of the variables, by name), problem. Signals: wanted(text) (its variables
    are to be found; blank: those of the file's own), changed().
    """

    wanted = Signal(str)
    changed = Signal()

    def __init__(self, template: str, variables: Mapping[str, Any], parent: QWidget) -> None:
        super().__init__(parent)
        self._given = dict(variables)
        self._of_file = ""
        self.template = QPlainTextEdit(template, self)
        self.template.setTabChangesFocus(True)
        self.template.setAccessibleName(self.tr("Chat template"))
        self.template.setPlaceholderText(self.tr("As in its file"))
        keep_fixed(self.template)
        self.template.setFixedHeight(_LINES * self.template.fontMetrics().lineSpacing() + 16)
        self.fill_button = QPushButton(self.tr("Start from the file’s template"), self)
        self.fill_button.setAutoDefault(False)
        self.fill_button.clicked.connect(lambda: self.template.setPlainText(self._of_file))
        self.problem = QLabel(self)
        self.problem.setObjectName("fieldProblem")
        self.problem.setWordWrap(True)
        hint = QLabel(self.tr("How chats are written for this model (Jinja). Empty: as in its file."), self)
        self.explanation = QLabel(
            self.tr("What its template asks for. JSON, or else text. Empty: as the template does."), self
        )
        for label in (hint, self.explanation):
            label.setObjectName("caption")
            label.setWordWrap(True)
        self.edits: dict[str, QLineEdit] = {}
        self._form = QFormLayout()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for widget in (self.template, self.problem, hint):
            layout.addWidget(widget)
        layout.addWidget(self.fill_button, 0, Qt.AlignmentFlag.AlignLeading)
        layout.addSpacing(8)
        layout.addLayout(self._form)
        layout.addWidget(self.explanation)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self._typing.timeout.connect(self.ask)
        self.template.textChanged.connect(self._typed)
        self.show_names("", (), "")

    def ask(self) -> None:
        """Request the variables of the present template."""
        self.wanted.emit(self.template.toPlainText())

    def _typed(self) -> None:
        self._typing.start()
        self.changed.emit()

    def show_names(self, of_file: str, names: tuple[str, ...], problem: str) -> None:
        """Show the variables of the template; `problem`: its error, in a sentence."""
        self._of_file = of_file or self._of_file
        self.fill_button.setEnabled(bool(self._of_file))
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if not problem and list(self.edits) != list(names):
            self._given |= self.variables
            while self._form.rowCount():
                self._form.removeRow(0)
            self.edits = {}
            for name in names:
                edit = self.edits[name] = QLineEdit(show_value(self._given[name]) if name in self._given else "", self)
                edit.setAccessibleName(name)
                edit.setPlaceholderText(self.tr("automatic"))
                edit.textChanged.connect(partial(self._note, name))
                self._form.addRow(name, edit)
        self.explanation.setVisible(bool(self.edits))
        self.changed.emit()

    def _note(self, name: str, text: str) -> None:
        self._given.pop(name, None)
        if text.strip():
            self._given[name] = read_value(text.strip())
        self.changed.emit()

    @property
    def own(self) -> str | None:
        """Return the template of one's own; None where chats are written as the file says."""
        text = self.template.toPlainText()
        return text if text.strip() and text != self._of_file else None

    @property
    def variables(self) -> dict[str, Any]:
        """Return the variables that were given."""
        return dict(self._given)

    def clear(self) -> None:
        """Leave all to the file."""
        self.template.clear()
        for edit in self.edits.values():
            edit.clear()
        self._given = {}
