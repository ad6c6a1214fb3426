"""Show the prompt of a conversation, its control tokens marked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QColor, QGuiApplication, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QTextEdit, QWidget

from app.system.translation import number
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.keys import Dialog
from app.views.widgets.theme import Theme, keep_fixed
from engine import ReadPrompt

_SIZE = QSize(760, 560)
_COPIED_MS = 2_000
_MOST_MARKED = 5_000
"""Control tokens that are marked: of a longer text the first ones."""


class PromptDialog(Dialog):
    """Show the text, and copy it; the window behind it goes on working. `notes`: sentences above the text."""

    def __init__(self, read: ReadPrompt, notes: Sequence[str], theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("modelReads")
        self.setWindowTitle(self.tr("What the model reads"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme = theme
        self._read = read
        said = self.tr("{count} tokens. Control tokens are marked.")
        introduction = QLabel("\n".join([said.format(count=number(read.tokens)), *notes]), self)
        introduction.setWordWrap(True)
        self.text = QPlainTextEdit(read.text, self)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(self.windowTitle())
        self.text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        keep_fixed(self.text)
        self.copy_button = QPushButton(self.tr("Copy"), self)
        self.copy_button.setObjectName("primary")
        self.copy_button.setDefault(True)
        self.close_button = QPushButton(self.tr("Close"), self)
        row = in_row(..., self.copy_button, self.close_button, spacing=8)
        in_column(introduction, wide(self.text), row, margins=(16, 16, 16, 16), spacing=12, parent=self)
        self.copy_button.clicked.connect(self._copy)
        self.close_button.clicked.connect(self.close)
        theme.changed.connect(self._mark)
        self._mark()
        self.resize(_SIZE)
        self.copy_button.setFocus()

    def _mark(self) -> None:
        kind = QTextCharFormat()
        kind.setForeground(QColor(self._theme.tokens.on_accent))
        kind.setBackground(QColor(self._theme.tokens.accent))
        found = []
        # Qt counts the halves of letters beyond 2^16.
        before, place = 0, 0
        for begin, end in self._read.markers[:_MOST_MARKED]:
            before += _units(self._read.text[place:begin])
            size, place = _units(self._read.text[begin:end]), end
            mark = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self.text.document())
            cursor.setPosition(before)
            cursor.setPosition(before + size, QTextCursor.MoveMode.KeepAnchor)
            mark.cursor, mark.format = cursor, kind
            found.append(mark)
            before += size
        self.text.setExtraSelections(found)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._read.text)
        self.copy_button.setText(self.tr("Copied"))
        QTimer.singleShot(_COPIED_MS, self.copy_button, self._show_copy)

    def _show_copy(self) -> None:
        self.copy_button.setText(self.tr("Copy"))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
