"""Show code whose long lines are not wrapped, over its place in the text, where it can be scrolled sideways."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextBlock, QTextCursor, QTextFrameFormat, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.views.markdown.code_writer import CODE_MARGIN, CodeBox

MOST = 200_000
"""Characters of code that can be shown so: they stand in two documents."""


def wraps(box: CodeBox) -> bool:
    """Return True if a line of laid out code takes more than one row."""
    return any(block.layout().lineCount() > 1 for block in _blocks(box))


def is_short_enough(box: CodeBox) -> bool:
    """Return True if the code may be shown unwrapped."""
    return sum(frame.lastPosition() - frame.firstPosition() for frame in box.frames) <= MOST


def break_lines(box: CodeBox, *, on: bool) -> None:
    """Let the lines of the code wrap in the text, or not: then it takes as much height as it has lines."""
    cursor = QTextCursor(box.frame.document())
    cursor.beginEditBlock()
    for frame in box.frames:
        first = frame.firstCursorPosition()
        cursor.setPosition(first.position())
        cursor.setPosition(frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
        form = first.blockFormat()
        form.setNonBreakableLines(not on)
        cursor.mergeBlockFormat(form)
    cursor.endEditBlock()


def _blocks(box: CodeBox) -> list[QTextBlock]:
    found = []
    for frame in box.frames:
        block = frame.firstCursorPosition().block()
        while block.isValid() and block.position() <= frame.lastPosition():
            found.append(block)
            block = block.next()
    return found


class CodeScroll(QTextEdit):
    """Show a copy of code as it stands in a text, in its colours, with a scroll bar below it where it is wider."""

    def __init__(self, box: CodeBox, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("codeScroll")
        self.setAccessibleName(self.tr("Code"))
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.box = box
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QTextEdit.LineWrapMode.NoWrap)
        self.setWordWrapMode(QTextOption.WrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setTabChangesFocus(True)
        self.setUndoRedoEnabled(False)
        self.document().setDefaultFont(box.frame.document().defaultFont())
        self.document().setDocumentMargin(0)
        self._fill()

    def _fill(self) -> None:
        cursor = QTextCursor(self.document())
        for place, frame in enumerate(self.box.frames):
            if place:
                cursor.insertBlock()
            part = QTextCursor(frame.document())
            part.setPosition(frame.firstPosition())
            part.setPosition(frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
            cursor.insertFragment(part.selection())
        lines = self.box.frame.firstCursorPosition().blockFormat()
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.setBlockFormat(lines)
        root = QTextFrameFormat(self.document().rootFrame().frameFormat())
        root.setLeftMargin(CODE_MARGIN)
        root.setRightMargin(CODE_MARGIN)
        self.document().rootFrame().setFrameFormat(root)
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Scroll sideways; up and down is the transcript's."""
        sideways = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if sideways or abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()
