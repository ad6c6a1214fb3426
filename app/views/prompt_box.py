"""Where the user writes: grows with the text; one button that is Send or Cancel."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QPushButton, QWidget

from app.views.icons import keep_icon
from app.views.theme import Theme

MAX_LINES = 8


class PromptEdit(QPlainTextEdit):
    """Several lines of plain text, as tall as needed. Signals: submitted(), focused(bool), recalled()."""

    submitted = Signal()
    focused = Signal(bool)
    recalled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("prompt")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.document().setDocumentMargin(4)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        lines = max(1, int(self.document().size().height()))
        shown = min(lines, MAX_LINES)
        height = shown * self.fontMetrics().lineSpacing() + 2 * 4 + 2
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)
        wanted = Qt.ScrollBarPolicy.ScrollBarAsNeeded if lines > MAX_LINES else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        if wanted != self.verticalScrollBarPolicy():
            self.setVerticalScrollBarPolicy(wanted)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Another width may mean another number of lines."""
        super().resizeEvent(event)
        self._fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Enter sends, Shift+Enter breaks the line, Up in an empty box brings the last prompt back."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self.textCursor().insertText("\n")
                self.ensureCursorVisible()
            else:
                self.submitted.emit()
            event.accept()
        elif event.key() == Qt.Key.Key_Up and not self.toPlainText():
            self.recalled.emit()
        else:
            super().keyPressEvent(event)

    def insertFromMimeData(self, source: QMimeData) -> None:  # noqa: N802 - Qt's name
        """Paste text only."""
        if source.hasText():
            self.textCursor().insertText(source.text())
            self.ensureCursorVisible()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Tell the frame."""
        super().focusInEvent(event)
        self.focused.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Tell the frame."""
        super().focusOutEvent(event)
        self.focused.emit(False)


class PromptBox(QFrame):
    """Prompt and button. Signals: send(text), cancel()."""

    send = Signal(str)
    cancel = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("promptFrame")
        self._theme = theme
        self._busy = False
        self._last = ""
        self.edit = PromptEdit(self)
        self.edit.setPlaceholderText(self.tr("Ask something…"))
        self.edit.setAccessibleName(self.tr("Prompt"))
        self.edit.setToolTip(self.tr("Enter sends, Shift+Enter breaks the line"))
        self.button = QPushButton(self)
        self.button.setObjectName("send")
        self.button.setFixedSize(36, 36)
        self.button.setAutoDefault(False)
        self.button.clicked.connect(self._pressed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 6, 6, 6)
        layout.setSpacing(8)
        layout.addWidget(self.edit, 1, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.button, 0, Qt.AlignmentFlag.AlignBottom)
        self.setFocusProxy(self.edit)
        self.edit.submitted.connect(self._submit)
        self.edit.recalled.connect(self._recall)
        self.edit.focused.connect(self._show_focus)
        self.edit.textChanged.connect(self._show_state)
        self._show_state()

    def set_busy(self, busy: bool) -> None:
        """The button is Cancel while busy, else Send."""
        self._busy = busy
        self._show_state()

    def set_text(self, text: str) -> None:
        """Put text into the box, the cursor behind it."""
        self.edit.setPlainText(text)
        self.edit.moveCursor(QTextCursor.MoveOperation.End)

    def _pressed(self) -> None:
        if self._busy:
            self.cancel.emit()
        else:
            self._submit()
        self.edit.setFocus()

    def _submit(self) -> None:
        text = self.edit.toPlainText()
        if self._busy or not text.strip():
            return
        self._last = text
        self.edit.clear()
        self.send.emit(text)

    def _recall(self) -> None:
        if self._last:
            self.set_text(self._last)

    def _show_state(self) -> None:
        word = self.tr("Cancel (Esc)") if self._busy else self.tr("Send (Enter)")
        self.button.setToolTip(word)
        self.button.setAccessibleName(self.tr("Cancel") if self._busy else self.tr("Send"))
        self.button.setEnabled(self._busy or bool(self.edit.toPlainText().strip()))
        if self.button.property("cancels") is not self._busy or self.button.icon().isNull():
            self.button.setProperty("cancels", self._busy)
            name, color = ("stop", "text") if self._busy else ("arrow-up", "on_accent")
            keep_icon(self.button, self._theme, name, color)
            _polish(self.button)

    def _show_focus(self, focused: bool) -> None:
        self.setProperty("focused", focused)
        _polish(self)


def _polish(widget: QWidget) -> None:
    widget.style().unpolish(widget)
    widget.style().polish(widget)
