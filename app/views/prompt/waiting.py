"""Show the messages that wait until the reply before them is written: to change, to move, to drop, to send at once."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QToolButton, QWidget

from app.state.chat.attachments import split_question
from app.system.translation import number
from app.views.prompt.box import PromptEdit
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.icons import icon_button
from app.views.widgets.keys import keeps_escape
from app.views.widgets.theme import Theme

_MOST_SHOWN = 4
"""Messages that are shown at once: the chat above keeps its room."""
_ROW = 28


class _WordsEdit(PromptEdit):
    """Edit the words of a message. Signal: left()."""

    left = Signal()

    def event(self, event: QEvent) -> bool:
        """Keep Escape from the window."""
        return keeps_escape(event) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class WaitingRow(QWidget):
    """Show one message that waits. Signals: edited(typed), moved(step), dropped(), sent()."""

    edited = Signal(str)
    moved = Signal(int)
    dropped = Signal()
    sent = Signal()

    def __init__(self, text: str, theme: Theme, parent: QWidget, *, first: bool, last: bool) -> None:
        super().__init__(parent)
        self.setObjectName("waitingRow")
        self._typed, files = split_question(text)
        self._shown = " ".join(self._typed.split()) or ", ".join(file.name for file in files)
        self.words = QLabel(self)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.words.setAccessibleName(self._shown)
        self.editor: _WordsEdit | None = None
        self.send = icon_button(theme, "skip-forward", self.tr("Stop and send now"), self)
        self.edit = icon_button(theme, "pencil-simple", self.tr("Edit this message"), self)
        self.up = icon_button(theme, "caret-up", self.tr("Send this message earlier"), self)
        self.down = icon_button(theme, "caret-down", self.tr("Send this message later"), self)
        self.drop = icon_button(theme, "x", self.tr("Drop this message"), self)
        self.up.setEnabled(not first)
        self.down.setEnabled(not last)
        self._row = in_row(wide(self.words), spacing=0, margins=(8, 0, 0, 0), parent=self)
        for button in (self.send, self.edit, self.up, self.down, self.drop):
            button.setFixedSize(_ROW, _ROW)
            button.setIconSize(QSize(16, 16))
            self._row.addWidget(button)
        self.send.clicked.connect(self.sent)
        self.edit.clicked.connect(self._open)
        self.up.clicked.connect(lambda: self.moved.emit(-1))
        self.down.clicked.connect(lambda: self.moved.emit(1))
        self.drop.clicked.connect(self.dropped)

    def show_busy(self, busy: bool) -> None:
        """Label the button by the effect of sending."""
        words = self.tr("Stop and send now") if busy else self.tr("Send now")
        self.send.setToolTip(words)
        self.send.setAccessibleName(words)

    def _open(self) -> None:
        if self.editor is not None:
            return
        editor = self.editor = _WordsEdit(self)
        editor.setAccessibleName(self.tr("Message that waits"))
        editor.setPlainText(self._typed)
        for entered in (editor.submitted, editor.steered):
            entered.connect(lambda: self.edited.emit(editor.toPlainText()))
        editor.left.connect(self._leave)
        self.words.hide()
        self._row.insertWidget(0, editor, 1)
        editor.setFocus()
        editor.selectAll()

    def _leave(self) -> None:
        editor, self.editor = self.editor, None
        if editor is not None:
            editor.hide()
            editor.deleteLater()
            self.words.show()
            self.edit.setFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        metrics = self.words.fontMetrics()
        self.words.setText(metrics.elidedText(self._shown, Qt.TextElideMode.ElideRight, self.words.width()))


class WaitingView(QFrame):
    """Show the messages of the chat on the screen that wait, above the prompt; nothing if there are none.

    Signals: edited(number, typed), moved(number, step), dropped(number), sent(number), as the messages are numbered.
    """

    edited = Signal(int, str)
    moved = Signal(int, int)
    dropped = Signal(int)
    sent = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("waiting")
        self._theme = theme
        self._busy = False
        self.rows: dict[int, WaitingRow] = {}
        self._shown: tuple[tuple[int, str], ...] = ()
        self.title = QLabel(self)
        self.title.setObjectName("caption")
        self.title.setWordWrap(True)
        self.more = QLabel(self)
        self.more.setObjectName("caption")
        self._column = in_column(self.title, self.more, spacing=2, margins=(8, 6, 4, 6), parent=self)
        self.hide()

    def show_messages(self, messages: Sequence[tuple[int, str]]) -> None:
        """Show these messages, each with its number, in the order in which they are sent."""
        listed = tuple(messages)
        if listed == self._shown:
            return
        focused = self._focused()
        self._shown = listed
        for row in self.rows.values():
            row.hide()
            row.deleteLater()
        self.rows = {}
        for place, (each, text) in enumerate(listed[:_MOST_SHOWN]):
            row = WaitingRow(text, self._theme, self, first=not place, last=place == len(listed) - 1)
            row.edited.connect(lambda typed, each=each: self.edited.emit(each, typed))
            row.moved.connect(lambda step, each=each: self.moved.emit(each, step))
            row.dropped.connect(lambda each=each: self.dropped.emit(each))
            row.sent.connect(lambda each=each: self.sent.emit(each))
            self._column.insertWidget(1 + place, row)
            self.rows[each] = row
        more = len(listed) - len(self.rows)
        self.more.setText(self.tr("and {count} more").format(count=number(more)))
        self.more.setVisible(more > 0)
        self.set_busy(self._busy)
        self.setVisible(bool(listed))
        self._focus(focused)

    def set_busy(self, busy: bool) -> None:
        """Show the reason for waiting: the reply being written, or the reader, if that was stopped or failed."""
        self._busy = busy
        self.title.setText(
            self.tr("Sent in turn once the reply is written:")
            if busy
            else self.tr("On hold, because the reply before is not complete:")
        )
        for row in self.rows.values():
            row.show_busy(busy)

    def _focused(self) -> tuple[int, str] | None:
        for each, row in self.rows.items():
            for name in ("up", "down", "edit", "drop"):
                button: QToolButton = getattr(row, name)
                if button.hasFocus() or (name == "edit" and row.editor is not None and row.editor.hasFocus()):
                    return each, name
        return None

    def _focus(self, focused: tuple[int, str] | None) -> None:
        """Restore the keyboard focus after the rows were rebuilt."""
        row = None if focused is None else self.rows.get(focused[0], next(iter(self.rows.values()), None))
        if row is not None and focused is not None:
            button: QToolButton = getattr(row, focused[1])
            (button if button.isEnabled() else row.edit).setFocus(Qt.FocusReason.OtherFocusReason)
