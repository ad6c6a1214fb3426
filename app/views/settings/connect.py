"""The part of the server's page on other programs: the settings for each to use the server, and a round trip."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QLabel, QPlainTextEdit, QPushButton, QWidget

from app.system.translation import say
from app.views.settings.fields import mark
from app.views.widgets.boxes import in_column
from app.views.widgets.flow_layout import FlowLayout
from app.views.widgets.theme import fixed_font

_LINES = 7


class ConnectPart(QWidget):
    """Show the settings for one program. Attributes: programs, text, note, write, test, state.

    Signals: chosen(name), write_wanted(name), test_wanted(name).
    """

    chosen = Signal(str)
    write_wanted = Signal(str)
    test_wanted = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        title = QLabel(self.tr("Connect your apps"), self)
        title.setObjectName("cardTitle")
        self.programs = QComboBox(self)
        self.programs.setAccessibleName(self.tr("Program"))
        self.programs.currentIndexChanged.connect(lambda _index: self.chosen.emit(self.name))
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setFont(fixed_font())
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(self.tr("What to set in it"))
        self.text.setFixedHeight(_LINES * self.text.fontMetrics().lineSpacing() + 24)
        self.note, self.state = QLabel(self), QLabel(self)
        for label in (self.note, self.state):
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setWordWrap(True)
            mark(label, wrong=False)
            label.hide()
        copy = QPushButton(self.tr("Copy"), self)
        copy.clicked.connect(lambda _on: QGuiApplication.clipboard().setText(self.text.toPlainText()))
        self.write = QPushButton(self.tr("Write it into its settings"), self)
        self.write.clicked.connect(lambda _on: self.write_wanted.emit(self.name))
        self.test = QPushButton(self.tr("Test"), self)
        self.test.setToolTip(self.tr("Ask the server as this program would, and show the answer"))
        self.test.clicked.connect(lambda _on: self.test_wanted.emit(self.name))
        buttons = FlowLayout()
        for button in (copy, self.write, self.test):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        column = in_column(title, spacing=8, margins=(0, 0, 0, 0), parent=self)
        column.addWidget(self.programs, 0, Qt.AlignmentFlag.AlignLeading)
        column.addWidget(self.text)
        column.addWidget(self.note)
        column.addLayout(buttons)
        column.addWidget(self.state)

    @property
    def name(self) -> str:
        """Return the name of the shown program, '' before there is one."""
        return str(self.programs.currentData() or "")

    def show_programs(self, found: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> None:
        """List programs by name and title: those that are on this computer first. The one that is shown stays."""
        chosen = self.name
        with QSignalBlocker(self.programs):
            self.programs.clear()
            for name, title in found:
                self.programs.addItem(self.tr("{name}, found here").format(name=title), name)
            for name, title in others:
                self.programs.addItem(title, name)
            self.programs.setCurrentIndex(max(self.programs.findData(chosen), 0))

    def show_text(self, text: str, note: str, file: str) -> None:
        """Show the settings. `file`: that they can be written into, '' for none."""
        if text != self.text.toPlainText():
            self.text.setPlainText(text)
        self.note.setText(say(note))
        self.note.setVisible(bool(note))
        self.write.setEnabled(bool(file))
        tip = self.tr("Writes to {file}, and keeps a copy of the old file").format(file=file)
        by_hand = self.tr("Enter it by hand: its settings cannot be written automatically")
        self.write.setToolTip(tip if file else by_hand)

    def say(self, words: str, *, wrong: bool = False) -> None:
        mark(self.state, wrong=wrong)
        self.state.setText(words)
        self.state.setVisible(bool(words))
