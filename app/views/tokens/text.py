"""Show a reply token by token: its source text, with a colour behind each token that tells where it came from."""

from __future__ import annotations

from time import perf_counter

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QFocusEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlockFormat,
    QTextCursor,
)
from PySide6.QtWidgets import QWidget

from app.state.chat.trace import TokenTrace
from app.views.markdown.reply import AutoHeightText
from app.views.tokens.card import TokenCard, describe_token
from app.views.tokens.painter import TokenPainter, TokenPlaces, length_of, showable
from app.views.widgets.keys import keeps_escape
from app.views.widgets.theme import LINE_HEIGHT, Theme

FLUSH_MS = 50
_BUDGET_S = 0.008
_BATCH = 100
"""Tokens that are put in at once."""
_LONG = 2_000
"""Characters from which on a paragraph is laid out in parts: Qt lays it out anew whenever it grows."""
_SPACED = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value
_STEPS = {
    Qt.Key.Key_Right: 1,
    Qt.Key.Key_Left: -1,
    Qt.Key.Key_Home: -(2**31),
    Qt.Key.Key_End: 2**31,
}
TOKEN_KEYS = frozenset({*_STEPS, Qt.Key.Key_Up, Qt.Key.Key_Down})
"""Keys that go from token to token."""


class TokenText(AutoHeightText):
    """Show the tokens of a record, and grow with it. A card tells about the token under the mouse or the keys.

    Text before the record's and behind it is shown without a colour. Attribute: card.
    Signals: settled() (all of a complete reply is drawn), grew() (it became taller), pointed(QRect) (the keys went to
    the token in this rectangle of the widget).
    """

    settled = Signal()
    grew = Signal()
    pointed = Signal(QRect)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("replyText")
        self.setAccessibleName(self.tr("Reply, token by token"))
        self.viewport().setMouseTracking(True)
        self.setTabStopDistance(4.0 * self.fontMetrics().horizontalAdvance(" "))
        self._theme = theme
        self.trace = TokenTrace()
        self._head = self._tail = ""
        self._drawn = 0
        self._complete = self._settled = False
        self._current: int | None = None
        self.card = TokenCard(theme, self)
        self.card.dismissed.connect(lambda: self.point_at(None))
        self._clock = QTimer(self)
        self._clock.setSingleShot(True)
        self._clock.timeout.connect(self._flush)
        self._begin()
        theme.changed.connect(self.viewport().update)

    # What is shown ----------------------------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Return whether the reply is complete and drawn."""
        return self._settled

    @property
    def shown(self) -> int:
        """Return how many tokens are drawn."""
        return self._drawn

    def follow(self, trace: TokenTrace, head: str = "") -> None:
        """Show this record, behind a text that it does not cover."""
        self.trace, self._head, self._tail = trace, head, ""
        self._complete = self._settled = False
        self._begin()
        self._soon(0)

    def grow(self) -> None:
        """Grow with the record, which has more tokens."""
        self._soon(FLUSH_MS)

    def finish(self, text: str) -> None:
        """Finish the reply; `text` is all of it."""
        recorded = self.trace.text
        if text.startswith(self._head + recorded):
            self._tail = text[len(self._head) + len(recorded) :]
        elif recorded and text.endswith(recorded):
            self._head = text[: len(text) - len(recorded)]
            self._begin()
        self._complete = True
        self._soon(0)

    def _soon(self, milliseconds: int) -> None:
        if not self._clock.isActive():
            self._clock.start(milliseconds)

    def _begin(self) -> None:
        self.point_at(None)
        self.document().clear()
        self._places = TokenPlaces()
        self._painter = TokenPainter(self.document(), self._places, self._theme, self.trace.origin)
        self._drawn, self._parted = 0, False
        cursor = QTextCursor(self.document())
        spaced = QTextBlockFormat()
        spaced.setLineHeight(LINE_HEIGHT, _SPACED)
        cursor.setBlockFormat(spaced)
        if self._head:
            cursor.insertText(showable(self._head))

    def _flush(self) -> None:
        """Draw what has come, for a few milliseconds at most."""
        began = perf_counter()
        while self._drawn < len(self.trace) and perf_counter() - began < _BUDGET_S:
            self._draw(min(self._drawn + _BATCH, len(self.trace)))
            self._part()
        left = self._drawn < len(self.trace)
        if not left and self._complete and not self._settled:
            self._end().insertText(showable(self._tail))
            self._settled = True
        self.fit()
        self.grew.emit()
        if left:
            self._soon(FLUSH_MS // 2)
        elif self._settled:
            self.settled.emit()

    def _draw(self, until: int) -> None:
        """Put in the tokens up to this one."""
        cursor = self._end()
        place = cursor.position()
        texts: list[str] = []
        for index in range(self._drawn, until):
            text = showable(self.trace.text_of(index))
            texts.append(text)
            self._places.add(place, place := place + length_of(text))
        cursor.insertText("".join(texts))
        self._drawn = until

    def _end(self) -> QTextCursor:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        return cursor

    def _part(self) -> None:
        """Make the last line of a very long paragraph a paragraph of its own: it looks the same and costs less."""
        block = self.document().lastBlock()
        if block.length() < _LONG:
            return
        self.document().size()  # lays it out
        lines = block.layout().lineCount()
        if lines < 2:
            return
        begin = block.position() + block.layout().lineAt(lines - 1).textStart()
        index = self._places.first_at(begin)
        if index >= len(self._places):
            return
        cursor = QTextCursor(self.document())
        cursor.setPosition(self._places.span(index)[0])
        spaced = QTextBlockFormat(cursor.blockFormat())
        spaced.setLayoutDirection(block.textDirection())
        cursor.insertBlock(spaced)
        self._places.shift(index)
        self._parted = True

    # The token that is pointed at -------------------------------------------------------------------------------------

    @property
    def current(self) -> int | None:
        """Return the token that the card tells about."""
        return self._current

    def point_at(self, index: int | None) -> None:
        """Show the card of a token, or none."""
        if index == self._current:
            return
        for changed in (self._current, index):
            self._paint_again(changed)
        self._current = index
        if index is None:
            self.card.hide()
            return
        record = self.trace[index]
        self.card.tell(record, self.place_of(index))
        words = describe_token(record)
        self.card.setAccessibleName(words)
        self.setAccessibleDescription(words)
        QAccessible.updateAccessibility(QAccessibleEvent(self, QAccessible.Event.DescriptionChanged))

    def _paint_again(self, index: int | None) -> None:
        if index is not None and index < self._drawn:
            for piece in self._painter.pieces_of(index):
                self.viewport().update(piece.rect.adjusted(-2.0, -2.0, 2.0, 3.0).toAlignedRect())

    def place_of(self, index: int) -> QRect:
        """Return the rectangle of a token in this widget; of a token on two lines the part on the first."""
        pieces = self._painter.pieces_of(index)
        rect = pieces[0].rect if pieces else QRectF()
        return rect.toAlignedRect().translated(self.viewport().pos())

    def token_at(self, point: QPoint) -> int | None:
        """Return the token at a point of this widget, if there is one."""
        return self._painter.token_at((point - self.viewport().pos()).toPointF())

    def _go(self, index: int) -> None:
        """Go to a token with the keys."""
        if self._drawn:
            index = min(max(index, 0), self._drawn - 1)
            self.pointed.emit(self.place_of(index))
            self.point_at(index)

    def _go_lines(self, step: int) -> None:
        """Go to the token above or below."""
        here = self.place_of(self._current or 0)
        x, y = here.left() + min(here.width() // 2, 3), here.center().y()
        for far in range(1, 6):
            found = self.token_at(QPoint(x, y + step * round(far * 0.75 * here.height())))
            if found is not None and found != self._current and self.place_of(found).top() != here.top():
                self._go(found)
                return
        self._go((self._current or 0) + step)

    # Events -----------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint the colours, then the text."""
        painter = QPainter(self.viewport())
        self._painter.paint(painter, QRectF(event.rect()), self._current)
        painter.end()
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Fit another width: lines that were parted are put together again."""
        super().resizeEvent(event)
        if event.oldSize().width() == event.size().width():
            return
        self.point_at(None)
        if self._parted:
            self._settled = False
            self._begin()
            self._soon(0)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Tell about the token under the mouse, unless text is being selected."""
        super().mouseMoveEvent(event)
        pressed = event.buttons() != Qt.MouseButton.NoButton
        self.point_at(None if pressed else self.token_at(event.position().toPoint() + self.viewport().pos()))

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Let the keys go on from here."""
        super().mousePressEvent(event)
        self.point_at(self.token_at(event.position().toPoint() + self.viewport().pos()))

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Hide the card: the mouse is elsewhere."""
        super().leaveEvent(event)
        self.point_at(None)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Go from token to token with the arrows, Home and End; hide the card on Escape."""
        key = event.key()
        if event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            super().keyPressEvent(event)
        elif key in _STEPS:
            self._go((-1 if self._current is None else self._current) + _STEPS[Qt.Key(key)])
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._go_lines(1 if key == Qt.Key.Key_Down else -1)
        elif key == Qt.Key.Key_Escape and self._current is not None:
            self.point_at(None)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Let Escape hide the card before it does anything else."""
        asked = event.type() == QEvent.Type.ShortcutOverride and self._current is not None
        return (asked and keeps_escape(event)) or super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Show the current token when the focus comes by keyboard."""
        super().focusInEvent(event)
        if event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason):
            self._go(0)

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Hide the card: the keys are elsewhere."""
        super().focusOutEvent(event)
        self.point_at(None)

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        """Hide the card with its text."""
        super().hideEvent(event)
        self.point_at(None)
