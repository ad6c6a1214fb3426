"""Rewrite a text: the change is typed, and each difference can be kept or undone."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextFormat
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton, QTextEdit, QWidget

from app.state.chat.changes import Piece, compare, put_together
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.keys import Dialog
from app.views.widgets.theme import Theme, keep_fixed

_SIZE = QSize(760, 560)
_TYPED_LINES = 2
_SAME, _TAKEN_AWAY, _NEW, _UNDONE = "  ", "− ", "+ ", "× "
"""The mark before each line: a change is never shown by colour alone."""


class RewriteDialog(Dialog):
    """Show a text, and then the changes of a rewrite; the window behind it goes on working.

    `text`: the old one. Signals: wanted(text, what to change), stopped(), kept(the new text, without what was undone).
    """

    wanted = Signal(str, str)
    stopped = Signal()
    kept = Signal(str)

    def __init__(self, text: str, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("rewrite")
        self.setWindowTitle(self.tr("Rewrite"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._theme, self._old, self._new = theme, text, text
        self._pieces: list[Piece] = []
        self._undone: set[int] = set()
        self._rows: list[tuple[int, str]] = []
        """Each shown line's piece, and the mark before it."""
        self._ended = self._begun = False
        self.what = QPlainTextEdit(self)
        self.what.setPlaceholderText(self.tr("What should change?"))
        self.what.setAccessibleName(self.tr("What should change?"))
        self.what.setTabChangesFocus(True)
        self.what.setFixedHeight(_TYPED_LINES * self.fontMetrics().lineSpacing() + 24)
        self.state = QLabel(self)
        self.state.setObjectName("hint")
        self.state.setTextFormat(Qt.TextFormat.PlainText)
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(self.tr("The text and its changes"))
        if "```" in text or any(line.startswith(("    ", "\t")) for line in text.splitlines()):
            keep_fixed(self.text)
        self._make_buttons()
        self._lay_out()
        self.what.textChanged.connect(self._show_state)
        self.text.cursorPositionChanged.connect(self._show_state)
        theme.changed.connect(self._draw)
        self._compare()
        self.resize(_SIZE)
        self.what.setFocus()

    def _make_buttons(self) -> None:
        self.rewrite_button = QPushButton(self.tr("Rewrite"), self)
        self.rewrite_button.setObjectName("primary")
        self.rewrite_button.setDefault(True)
        self.stop_button = QPushButton(self.tr("Stop"), self)
        self.next_button = QPushButton(self.tr("Next change"), self)
        self.undo_button = QPushButton(self.tr("Undo this change"), self)
        self.keep_button = QPushButton(self.tr("Use this text"), self)
        self.close_button = QPushButton(self.tr("Close"), self)
        self.rewrite_button.clicked.connect(self._ask)
        self.stop_button.clicked.connect(self.stopped)
        self.next_button.clicked.connect(self._go_to_next)
        self.undo_button.clicked.connect(self._turn)
        self.keep_button.clicked.connect(self._keep)
        self.close_button.clicked.connect(self.close)

    def _lay_out(self) -> None:
        asking = in_row(wide(self.what), self.rewrite_button, self.stop_button, spacing=8)
        row = in_row(self.next_button, self.undo_button, ..., self.keep_button, self.close_button, spacing=8)
        in_column(asking, wide(self.text), self.state, row, spacing=12, margins=(16, 16, 16, 16), parent=self)

    # What comes -------------------------------------------------------------------------------------------------------

    def show_new(self, text: str, *, ended: bool) -> None:
        self._new, self._ended = text, ended
        self._compare()

    def _ask(self) -> None:
        self._begun, self._ended = True, False
        self._old, self._undone = put_together(self._pieces, self._undone), set()
        self._new = ""
        self._compare()
        self.wanted.emit(self._old, self.what.toPlainText())

    def refuse(self) -> None:
        """Report that nothing can be rewritten now: the chat is being answered."""
        self._begun, self._new, self._ended = False, self._old, False
        self._compare()
        self.state.setText(self.tr("A reply is being written in this chat. Wait for it, or stop it."))

    # Changes ----------------------------------------------------------------------------------------------------------

    def _compare(self) -> None:
        self._pieces = compare(self._old, self._new, ended=self._ended or not self._begun)
        self._undone &= {n for n, piece in enumerate(self._pieces) if piece.changed}
        lines: list[str] = []
        self._rows = []
        for n, piece in enumerate(self._pieces):
            undone = n in self._undone
            if piece.changed:
                marked = [(_SAME if undone else _TAKEN_AWAY, line) for line in piece.old]
                marked += [(_UNDONE if undone else _NEW, line) for line in piece.new]
            else:
                marked = [(_SAME, line) for line in piece.new]
            for mark, line in marked:
                self._rows.append((n, mark))
                lines.append(mark + line)
        bar, place = self.text.verticalScrollBar().value(), self.text.textCursor().blockNumber()
        self.text.setPlainText("\n".join(lines))
        self._put_cursor(min(place, max(len(lines) - 1, 0)))
        self.text.verticalScrollBar().setValue(bar)
        self._draw()
        self._show_state()

    def _draw(self) -> None:
        tokens = self._theme.tokens
        found = []
        for line, (_, mark) in enumerate(self._rows):
            if mark == _SAME:
                continue
            kind = QTextCharFormat()
            kind.setProperty(QTextFormat.Property.FullWidthSelection, True)
            colour = QColor({_NEW: tokens.accent, _TAKEN_AWAY: tokens.danger, _UNDONE: tokens.border}[mark])
            colour.setAlphaF(0.18)
            kind.setBackground(colour)
            selection = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self.text.document().findBlockByNumber(line))
            selection.cursor, selection.format = cursor, kind
            found.append(selection)
        self.text.setExtraSelections(found)

    def _changes(self) -> list[int]:
        return [n for n, piece in enumerate(self._pieces) if piece.changed]

    def _here(self) -> int | None:
        """Return the change that the cursor stands in."""
        line = self.text.textCursor().blockNumber()
        piece = self._rows[line][0] if line < len(self._rows) else None
        return piece if piece is not None and self._pieces[piece].changed else None

    def _put_cursor(self, line: int) -> None:
        self.text.setTextCursor(QTextCursor(self.text.document().findBlockByNumber(line)))

    def _go_to_next(self) -> None:
        here = self._here()
        changes = self._changes()
        after = [n for n in changes if here is not None and n > here] or changes
        line = next(line for line, (piece, _) in enumerate(self._rows) if piece == after[0])
        self._put_cursor(line)
        self.text.centerCursor()
        self.text.setFocus()

    def _turn(self) -> None:
        """Undo the change at the cursor, or make it again."""
        here = self._here()
        if here is not None:
            self._undone ^= {here}
            self._compare()
            line = next(line for line, (piece, _) in enumerate(self._rows) if piece == here)
            self._put_cursor(line)

    def _show_state(self) -> None:
        writing, changes = self._begun and not self._ended, self._changes()
        self.rewrite_button.setVisible(not writing)
        self.rewrite_button.setEnabled(bool(self.what.toPlainText().strip()))
        self.stop_button.setVisible(writing)
        here = self._here()
        self.next_button.setEnabled(bool(changes))
        self.undo_button.setEnabled(here is not None and self._ended)
        redo = here is not None and here in self._undone
        self.undo_button.setText(self.tr("Make this change again") if redo else self.tr("Undo this change"))
        self.keep_button.setEnabled(self._ended and self._begun)
        if not self._begun:
            self.state.setText(self.tr("Nothing is changed yet."))
        elif writing:
            self.state.setText(self.tr("Writing: %n change(s) so far.", "", len(changes)))
        else:
            kept = len(changes) - len(self._undone)
            self.state.setText(self.tr("{kept} of {count} changes are kept.").format(kept=kept, count=len(changes)))

    def _keep(self) -> None:
        self.kept.emit(put_together(self._pieces, self._undone))
        self.close()
