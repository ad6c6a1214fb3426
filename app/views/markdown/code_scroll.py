"""Show code whose long lines are not wrapped, over its place in the text, where it can be scrolled sideways."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextOption,
    QTextTable,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.views.markdown.code_writer import CODE_LINES, CODE_MARGIN, CodeBox
from app.views.widgets.theme import Theme

MOST = 200_000
"""Characters of code that can be shown so: they stand in two documents."""
_NO_LINES = (0.01, QTextBlockFormat.LineHeightTypes.FixedHeight.value)


def wraps(box: CodeBox) -> bool:
    """Return True if a line of laid out code takes more than one row."""
    return any(block.layout().lineCount() > 1 for block in _blocks(box))


def is_short_enough(box: CodeBox) -> bool:
    """Return True if the code may be shown unwrapped."""
    return sum(frame.lastPosition() - frame.firstPosition() for frame in box.frames) <= MOST


def break_lines(box: CodeBox, *, on: bool) -> None:
    """Wrap the lines of the code in the text, or not: then it takes as much height as it has lines."""
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


def edges(layout: QAbstractTextDocumentLayout, frame: QTextTable) -> tuple[float, float]:
    """Return the top and the bottom of a table, without its margins. Qt tells its size, but not where it begins."""
    form, cell = frame.format().toTableFormat(), frame.cellAt(0, 0).format().toTableCellFormat()
    padded = cell.hasProperty(QTextFormat.Property.TableCellTopPadding)
    inside = layout.blockBoundingRect(frame.firstCursorPosition().block()).top()
    top = inside - (cell.topPadding() if padded else form.cellPadding()) - form.border()
    height = layout.frameBoundingRect(frame).height() - form.topMargin() - form.bottomMargin()
    return top, top + height


def make_room(box: CodeBox, height: int | None) -> None:
    """Set the height (pixels) of the code's place, and hide its lines; None: restore it."""
    cursor = QTextCursor(box.frame.document())
    cursor.beginEditBlock()
    for frame in box.frames:
        cursor.setPosition(frame.firstPosition())
        cursor.setPosition(frame.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
        form = QTextBlockFormat()
        form.setLineHeight(*(CODE_LINES if height is None else _NO_LINES))
        cursor.mergeBlockFormat(form)
    last = box.frames[-1].cellAt(0, 0)
    cell = last.format().toTableCellFormat()
    cell.setBottomPadding(CODE_MARGIN - 2 + (height or 0))
    last.setFormat(cell)
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
    """Show a copy of code as it stands in a text, in its colours, with a scroll bar below it if it is wider."""

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


class LineNumbers(QWidget):
    """Show the numbers of lines beside code. Attribute: wanted (its width, which the code leaves free)."""

    def __init__(self, box: CodeBox, theme: Theme, text: QTextEdit) -> None:
        super().__init__(text.viewport())
        self._box = box
        self._theme = theme
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._font = box.frame.firstCursorPosition().charFormat().font()
        digits = "0" * len(str(box.code.count("\n") + 1))
        self.wanted = QFontMetrics(self._font).horizontalAdvance(digits) + 2 * int(CODE_MARGIN)
        self._leave_free(self.wanted)

    def leave(self) -> None:
        """Delete the copy, and give the code its room back."""
        self._leave_free(0)
        self.hide()
        self.deleteLater()

    def _leave_free(self, room: int) -> None:
        for frame in self._box.frames:
            place = frame.cellAt(0, 0)
            cell = place.format().toTableCellFormat()
            cell.setLeftPadding(CODE_MARGIN + room)
            place.setFormat(cell)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint the numbers that are in sight, each beside the first row of its line."""
        document = self._box.frame.document()
        layout = document.documentLayout()
        painter = QPainter(self)
        painter.setFont(self._font)
        painter.setPen(self._theme.color("muted"))
        top, number = self.y(), 0
        for frame in self._box.frames:
            block = frame.firstCursorPosition().block()
            while block.isValid() and block.position() <= frame.lastPosition():
                number += 1
                place = layout.blockBoundingRect(block)
                if place.top() - top > event.rect().bottom():
                    return
                if place.bottom() - top >= event.rect().top():
                    line = block.layout().lineAt(0)
                    row = QRectF(0, place.top() - top, self.width() - CODE_MARGIN, line.height())
                    painter.drawText(row, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, str(number))
                block = block.next()
