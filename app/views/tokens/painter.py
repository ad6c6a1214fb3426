"""Paint the backgrounds of a document's tokens, and find the token under a point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF, QTextBlock, QTextDocument, QTextLine

from app.state.chat.unsure import Doubt
from app.views.markdown.formula import OBJECT
from app.views.widgets.theme import Theme
from engine import Origin

UNDERLINES: dict[Origin, str] = {
    "accepted": "none",
    "correction": "wavy",
    "bonus": "dotted",
    "plain": "none",
    "forced": "none",
}
_ROUND = 3.0
_MARK = 7.0
"""Width in pixels of the mark of a token that is a line's end."""
_WAVE = 2.5
_BELOW = 4.0
"""Pixels between the line under a formula and the end of its ground."""
_ON_CHARACTER = QTextLine.CursorPosition.CursorOnCharacter


class Look(NamedTuple):
    """Hold a token's look: the theme's colour behind it, "" for none, and the line under it."""

    color: str = ""
    underline: str = "none"


ORIGIN_LOOKS: dict[Origin, Look] = {
    origin: Look("" if origin in ("plain", "forced") else origin, line) for origin, line in UNDERLINES.items()
}
DOUBT_LOOKS: dict[Doubt, Look] = {
    "": Look(),
    "unsure": Look("unsure"),
    "more unsure": Look("more_unsure", "dotted"),
    "most unsure": Look("most_unsure", "wavy"),
}


class TokenPart(NamedTuple):
    """Hold a part of a token (its index) on one line. `rect` and `baseline` in the coordinates of the document."""

    token: int
    rect: QRectF
    baseline: float


class Places(Protocol):
    """Map tokens to a document's positions, from the first to behind the last; the same: at none."""

    def span(self, index: int) -> tuple[int, int]: ...

    def at(self, position: int) -> int | None: ...

    def first_from(self, position: int) -> int:
        """Return the first token that ends behind this position; their number if there is none."""
        ...

    @property
    def silent_end(self) -> int | None: ...

    def __len__(self) -> int: ...


class TokenPainter:
    """Paint tokens at their places in a document; `look_of` returns their look."""

    def __init__(self, document: QTextDocument, places: Places, theme: Theme, look_of: Callable[[int], Look]) -> None:
        self._document = document
        self._places = places
        self._theme = theme
        self._look_of = look_of

    # Geometry ---------------------------------------------------------------------------------------------------------

    def pieces(self, top: float, bottom: float) -> Iterator[TokenPart]:
        """Return the parts of tokens between two heights."""
        block = self._block_at(QPointF(0.0, top))
        while block.isValid() and self._layout_of(block).top() <= bottom:
            for number in range(block.layout().lineCount()):
                line = block.layout().lineAt(number)
                at = self._place_of(block, line)
                if at.y() + line.height() >= top and at.y() <= bottom:
                    yield from self._pieces_of(block, line, at)
            block = block.next()

    def pieces_of(self, index: int) -> list[TokenPart]:
        """Return the parts of one token; one that adds no text is a mark where it would stand."""
        start, end = self._places.span(index)
        found: list[TokenPart] = []
        block = self._document.findBlock(start)
        while block.isValid() and block.position() <= max(start, end - 1):
            for number in range(block.layout().lineCount()):
                line = block.layout().lineAt(number)
                at = self._place_of(block, line)
                found += [piece for piece in self._pieces_of(block, line, at, index) if piece.token == index]
            block = block.next()
        return found or self._mark_of(index)

    def token_at(self, point: QPointF) -> int | None:
        block = self._block_at(point)
        line = self._line_at(block, point.y())
        if line is None:
            return None
        at = self._place_of(block, line)
        x, right = point.x() - at.x(), line.naturalTextRect().right() - line.x()
        left = line.naturalTextRect().left() - line.x()
        if x < left - 1 or x > right + _MARK:
            return None
        behind = line.textStart() + line.textLength()
        if x > right:
            last = behind >= block.length() - 1
            return self._at_end_of(block) if last else None
        character = line.xToCursor(x + line.x(), _ON_CHARACTER)
        return self._places.at(block.position() + min(character, max(behind - 1, 0)))

    def _at_end_of(self, block: QTextBlock) -> int | None:
        """Return the token that is a paragraph's end, or the reply's."""
        end = block.position() + block.length() - 1
        return self._places.at(end) if block.next().isValid() else self._places.silent_end

    def _pieces_of(
        self, block: QTextBlock, line: QTextLine, at: QPointF, first: int | None = None
    ) -> Iterator[TokenPart]:
        begin = block.position() + line.textStart()
        end = begin + line.textLength()
        last_line = line.textStart() + line.textLength() >= block.length() - 1
        index = self._places.first_from(begin) if first is None else first
        height = line.ascent() + line.descent()
        while index < len(self._places):
            start, stop = self._places.span(index)
            if start >= end + last_line:
                return
            if stop > start:
                room = self._extent(line, max(start, begin) - block.position(), min(stop, end) - block.position())
                if last_line and start <= end < stop:
                    room = _with_mark(line, room)
                if room is not None:
                    left, width = room
                    rect = QRectF(at.x() + left - line.x(), at.y(), width, height)
                    yield TokenPart(index, rect, at.y() + line.ascent())
            if first is not None:
                return
            index += 1

    def _extent(self, line: QTextLine, begin: int, end: int) -> tuple[float, float] | None:
        if end <= begin:
            return None
        one, other = _x_of(line, begin), _x_of(line, end)
        return min(one, other), abs(other - one)

    def _mark_of(self, index: int) -> list[TokenPart]:
        start, _ = self._places.span(index)
        block = self._document.findBlock(start)
        if not block.isValid():
            return []
        line = block.layout().lineForTextPosition(start - block.position())
        if not line.isValid():
            return []
        at = self._place_of(block, line)
        left = at.x() + _x_of(line, start - block.position()) - line.x()
        return [TokenPart(index, QRectF(left, at.y(), _MARK, line.ascent() + line.descent()), at.y() + line.ascent())]

    def _block_at(self, point: QPointF) -> QTextBlock:
        layout = self._document.documentLayout()
        return self._document.findBlock(max(layout.hitTest(point, Qt.HitTestAccuracy.FuzzyHit), 0))

    def _line_at(self, block: QTextBlock, y: float) -> QTextLine | None:
        nearest: tuple[float, QTextLine] | None = None
        for number in range(block.layout().lineCount()):
            line = block.layout().lineAt(number)
            top = self._place_of(block, line).y()
            away = max(top - y, y - top - line.height(), 0.0)
            if nearest is None or away < nearest[0]:
                nearest = (away, line)
        return None if nearest is None or nearest[0] > nearest[1].height() else nearest[1]

    def _layout_of(self, block: QTextBlock) -> QRectF:
        return self._document.documentLayout().blockBoundingRect(block)

    def _place_of(self, block: QTextBlock, line: QTextLine) -> QPointF:
        return self._layout_of(block).topLeft() + line.position()

    # Painting ---------------------------------------------------------------------------------------------------------

    def paint(self, painter: QPainter, area: QRectF, current: int | None) -> None:
        """Paint the colours and underlines in this area over the text, and a frame around the current token.

        Of each point the darker or the lighter colour stays, as the theme is, so the letters keep theirs.
        """
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        modes = QPainter.CompositionMode
        light = self._theme.color("background").lightness() > self._theme.color("text").lightness()
        painter.setCompositionMode(modes.CompositionMode_Darken if light else modes.CompositionMode_Lighten)
        ink = self._theme.color("muted")
        end = self._places.silent_end
        marks = [] if end is None else self._mark_of(end)
        for piece in (*self.pieces(area.top(), area.bottom()), *marks):
            look = self._look_of(piece.token)
            if look.color:
                # Through a formula no line: it is below it.
                is_formula = self._document.characterAt(self._places.span(piece.token)[0]) == OBJECT
                below = piece.rect.bottom() - _BELOW if is_formula else piece.baseline
                paint_token(painter, piece.rect, below, self._theme.color(look.color), look.underline, ink)
        painter.setCompositionMode(modes.CompositionMode_SourceOver)
        if current is not None:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(self._theme.color("accent"), 1.5))
            for piece in self.pieces_of(current):
                painter.drawRoundedRect(piece.rect.adjusted(0.25, 0.25, -0.25, 0.75), _ROUND, _ROUND)


def paint_token(painter: QPainter, rect: QRectF, baseline: float, color: QColor, underline: str, ink: QColor) -> None:
    """Paint the background of a token, with a hair of space to its neighbours, and the line under it."""
    if rect.width() < 0.5:
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    gap = 0.5 if rect.width() > 2.0 else 0.0
    painter.drawRoundedRect(rect.adjusted(gap, 0.0, -gap, 1.0), _ROUND, _ROUND)
    left, right = rect.left() + 1.5, rect.right() - 1.5
    y = min(baseline + 3.0, rect.bottom())
    if underline == "none" or right - left < 1.0:
        return
    if underline == "dotted":
        pen = QPen(ink, 1.5, Qt.PenStyle.CustomDashLine, Qt.PenCapStyle.RoundCap)
        pen.setDashPattern([0.1, 2.2])
        painter.setPen(pen)
        painter.drawLine(QLineF(left, y, right, y))
        return
    painter.setPen(QPen(ink, 1.2))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    steps = max(int((right - left) / _WAVE), 1)
    painter.drawPolyline(
        QPolygonF([QPointF(left + (right - left) * i / steps, y + (1.0 if i % 2 else -1.0)) for i in range(steps + 1)])
    )


def _with_mark(line: QTextLine, room: tuple[float, float] | None) -> tuple[float, float]:
    """Return the extent with the mark of the line's end behind it."""
    text = line.naturalTextRect()
    if room is None:
        return text.right(), _MARK
    return room[0], max(room[0] + room[1], text.right()) + _MARK - room[0]


def _x_of(line: QTextLine, position: int) -> float:
    x: Any = line.cursorToX(position)  # a pair with the position, whatever the types say
    return float(x[0])
