"""Paint a replay: the text, the draft's guesses as ghosts, and the target's verdicts."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, QSizeF, Qt, QTimer
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QPen,
    QRegion,
    QResizeEvent,
    QShowEvent,
    QTextCharFormat,
    QTextLayout,
    QTextLine,
    QTextOption,
)
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QWidget

from app.state.replay.timeline import Replay, ReplayRound, Scene
from app.views.tokens.painter import UNDERLINES, paint_token
from app.views.widgets.theme import Theme

_MARGIN = 4
_FALL = 7.0
"""Pixels that the target's own token drops."""


class ReplayText(QAbstractScrollArea):
    """Show a moment of a replay, and follow the line of writing. The whole text is laid out once: nothing jumps.

    It is laid out when it is seen, in a turn of the event loop of its own, so that a long reply does not hold up the
    window that opens.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("replayText")
        self.setAccessibleName(self.tr("Replay"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._theme = theme
        self._replay: Replay | None = None
        self._layout: ReplayLayout | None = None
        self._index = 0
        self._scene = Scene(0, 0.0, 0.0, 0.0)
        self._shown = QTimer(self)
        self._shown.setSingleShot(True)
        self._shown.timeout.connect(self._lay_out)
        theme.changed.connect(self._lay_out)

    def show_replay(self, replay: Replay) -> None:
        """Show the beginning of a replay."""
        self._replay, self._index, self._scene = replay, 0, Scene(0, 0.0, 0.0, 0.0)
        self._layout = None
        self._lay_out()

    def show_scene(self, index: int, scene: Scene) -> None:
        """Show this moment of a round: only where something changes is painted again."""
        if (index, scene) == (self._index, self._scene):
            return
        before, self._index, self._scene = self._index, index, scene
        if self._layout is None:
            return
        moved = self._follow()
        if moved or abs(index - before) > 1:
            self.viewport().update()
            return
        for each in {before, index}:
            self.viewport().update(self._place_of_round(each))

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(560, 120)

    # Layout -----------------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        if self._replay is None or not self.isVisible():
            return
        self._shown.stop()
        self._layout = ReplayLayout(self._replay.texts, self.font(), self.viewport().width() - 2 * _MARGIN)
        bar = self.verticalScrollBar()
        bar.setRange(0, max(int(self._layout.height) + 2 * _MARGIN - self.viewport().height(), 0))
        bar.setPageStep(self.viewport().height())
        bar.setSingleStep(int(self._layout.line_height))
        self._follow()
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if not self._shown.isActive():
            self._lay_out()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Lay the text out for the current width and font."""
        super().showEvent(event)
        self._shown.start()

    def _follow(self) -> bool:
        """Scroll so that the line of writing, and the space below it, is visible; return True if it scrolled."""
        if self._layout is None or self._replay is None or not self._replay.rounds:
            return False
        bar, line = self.verticalScrollBar(), self._layout.line_height
        top = self._layout.place_of(self._layout.starts[self._round.end]).top() + _MARGIN
        height = self.viewport().height()
        before, low = bar.value(), int(top + 2.5 * line - height)
        high = top - min(line, max(height - line, 0.0))  # The line of writing comes before the one above it.
        if before < low:
            # By several lines at once: a text that moves with each line cannot be read.
            bar.setValue(int(min(low + 0.35 * height, high)))
        elif before > high:
            bar.setValue(int(max(top - 2 * line, min(low, high))))
        return bar.value() != before

    @property
    def _round(self) -> ReplayRound:
        if self._replay is None:
            raise IndexError
        return self._replay.rounds[self._index]

    def _place_of_round(self, index: int) -> QRect:
        """Return the lines that a round may touch, in the viewport."""
        if self._layout is None or self._replay is None:
            return self.viewport().rect()
        shown, starts, line = self._replay.rounds[index], self._layout.starts, self._layout.line_height
        top = self._layout.place_of(starts[shown.start]).top() - line
        bottom = self._layout.place_of(starts[shown.end]).bottom() + 2 * line
        shift = _MARGIN - self.verticalScrollBar().value()
        return QRect(0, int(top) + shift, self.viewport().width(), int(bottom - top) + 1)

    # Painting ---------------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        if self._layout is None or self._replay is None or not self._replay.rounds:
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        shift = _MARGIN - self.verticalScrollBar().value()
        area = QRectF(event.rect()).translated(-_MARGIN, -shift)
        painter.translate(_MARGIN, shift)
        shown, scene, starts = self._round, self._scene, self._layout.starts
        ghosts = min(scene.ghosts, shown.kept)
        written, guessed = starts[shown.start], starts[shown.start + ghosts]
        self._paint_grounds(painter, area)
        for paragraph in self._layout.between(area.top(), area.bottom()):
            self._draw(painter, paragraph, guessed, (written, guessed), area)
        self._paint_ghosts(painter, shown, ghosts)
        if scene.ghosts > shown.kept and scene.struck < 1.0:
            self._paint_rejected(painter, shown, scene)
        end = guessed
        if scene.dropped > 0.0:
            self._paint_ending(painter, shown, scene.dropped)
            end = starts[shown.end]
        if not (scene.over and self._index == len(self._replay) - 1):
            at = self._layout.place_of(end if scene.dropped >= 1.0 else guessed)
            painter.setPen(QPen(self._theme.color("accent"), 1.5))
            painter.drawLine(QPointF(at.left() + 0.5, at.top()), QPointF(at.left() + 0.5, at.bottom()))

    def _draw(
        self, painter: QPainter, paragraph: LaidParagraph, end: int, ghosts: tuple[int, int], seen: QRectF
    ) -> None:
        """Draw the visible part of a paragraph, up to a character, and the characters of `ghosts` as such."""
        if self._layout is None or paragraph.start >= end:
            return
        low = min(max(ghosts[0] - paragraph.start, 0), paragraph.length)
        high = min(ghosts[1] - paragraph.start, paragraph.length)
        formats = [_colored(low, high - low, self._theme.color("muted"))] if high > low else []
        painter.save()
        if end < paragraph.start + paragraph.length:
            at = self._layout.place_of(end)
            line = QRectF(-_MARGIN, paragraph.top, self.viewport().width(), at.top() - paragraph.top - 2)
            area = QRegion(line.toRect())
            beginning = self._layout.line_start(end)
            read_part = QRectF(-_MARGIN, at.top() - 2, at.left() + _MARGIN, at.height() + 4)
            if beginning > at.left():  # It is read from the right.
                read_part = QRectF(at.left(), at.top() - 2, self.viewport().width() - at.left(), at.height() + 4)
            painter.setClipRegion(area.united(QRegion(read_part.toAlignedRect())), Qt.ClipOperation.IntersectClip)
        painter.setPen(self._theme.color("text"))
        # Only the lines that are seen: a paragraph may have hundreds.
        reach = self._layout.line_height
        paragraph.layout.draw(
            painter, QPointF(0.0, paragraph.top), formats, seen.adjusted(-_MARGIN, -reach, _MARGIN, reach)
        )
        painter.restore()

    def _paint_grounds(self, painter: QPainter, area: QRectF) -> None:
        """Paint the backgrounds of the text of earlier rounds."""
        if self._layout is None or self._replay is None:
            return
        first, last = self._visible(area)
        for token in range(first, min(last, self._round.start)):
            self._paint_ground(painter, token)

    def _visible(self, area: QRectF) -> tuple[int, int]:
        """Return the tokens of the paragraphs in the area."""
        if self._layout is None:
            return 0, 0
        inside = list(self._layout.between(area.top(), area.bottom()))
        if not inside:
            return 0, 0
        top, bottom = self._cut(inside[0], area.top()), self._cut(inside[-1], area.bottom(), end=True)
        starts = self._layout.starts
        return max(bisect_right(starts, top) - 1, 0), min(bisect_left(starts, bottom), len(starts) - 1)

    def _cut(self, paragraph: LaidParagraph, y: float, *, end: bool = False) -> int:
        """Return the character at which the line at this height begins, or ends."""
        if self._layout is None:
            return 0
        number = int((y - paragraph.top) // self._layout.line_height)
        line = paragraph.layout.lineAt(min(max(number, 0), paragraph.layout.lineCount() - 1))
        return paragraph.start + line.textStart() + (line.textLength() + 1 if end else 0)

    def _paint_ground(self, painter: QPainter, token: int, share: float = 1.0) -> None:
        """Paint the colour and the line of a token, up to a share of it."""
        if self._layout is None or self._replay is None:
            return
        origin = self._replay.origins[token]
        if origin not in ("accepted", "correction", "bonus"):
            return
        color, ink = self._theme.color(origin), self._theme.color("muted")
        for whole, baseline in self._layout.parts_of(token):
            rect = whole if share == 1.0 else QRectF(whole.topLeft(), QSizeF(whole.width() * share, whole.height()))
            paint_token(painter, rect, baseline, color, UNDERLINES[origin], ink)

    def _paint_ghosts(self, painter: QPainter, shown: ReplayRound, ghosts: int) -> None:
        """Paint the marks of the ghosts that the target keeps: the dotted line, then colour and tick."""
        if self._layout is None:
            return
        for place in range(ghosts):
            token, share = shown.start + place, min(max(self._scene.filled - place, 0.0), 1.0)
            if share > 0.0:
                self._paint_ground(painter, token, share)
                start, end = self._layout.starts[token], self._layout.starts[token + 1]
                self._draw_between(painter, start, end)
            for rect, baseline in self._layout.parts_of(token):
                if share < 1.0:
                    _dotted(painter, rect, baseline, self._theme.color("muted"))
                else:
                    _tick(painter, rect, self._theme.color("accent"))
                break

    def _draw_between(self, painter: QPainter, start: int, end: int) -> None:
        """Draw the characters from `start` to `end` once more, in the colour of the text."""
        if self._layout is None:
            return
        for rect, _ in self._layout.parts_between(start, end):
            painter.save()
            painter.setClipRect(rect.adjusted(0, -2, 0, 4), Qt.ClipOperation.IntersectClip)
            painter.setPen(self._theme.color("text"))
            for paragraph in self._layout.between(rect.top() + 1, rect.bottom() - 1):
                paragraph.layout.draw(painter, QPointF(0.0, paragraph.top), [], rect)
            painter.restore()

    def _paint_rejected(self, painter: QPainter, shown: ReplayRound, scene: Scene) -> None:
        """Paint the ghosts that the target does not keep, behind the kept ones; judged, they are struck and fade."""
        if self._layout is None:
            return
        at = self._layout.place_of(self._layout.starts[shown.start + shown.kept])
        width = self.viewport().width() - 2 * _MARGIN
        x, y = at.left(), at.top()
        painter.save()
        painter.setOpacity(1.0 - scene.struck)
        for place in range(scene.ghosts - shown.kept):
            guess = shown.rejected[place]
            text = showable(guess.text or "").replace("\n", "↵") or "…"
            layout = one_line(text, self.font())
            wide = layout.lineAt(0).naturalTextWidth()
            if x + wide > width and x > 0.0:
                x, y = 0.0, y + self._layout.line_height
            rect = QRectF(x, y, wide, at.height())
            self._paint_guess(painter, layout, rect, first=place == 0, judged=scene.struck > 0.0)
            x += wide
        painter.restore()

    def _paint_guess(self, painter: QPainter, layout: QTextLayout, rect: QRectF, *, first: bool, judged: bool) -> None:
        theme, line = self._theme, layout.lineAt(0)
        painter.setPen(theme.color("muted"))
        layout.draw(painter, QPointF(rect.left(), rect.top() - line.y()))
        if not judged:
            _dotted(painter, rect, rect.top() + line.ascent(), theme.color("muted"))
            return
        painter.setPen(QPen(theme.color("danger"), 1.6))
        middle = rect.top() + 0.62 * line.ascent()
        painter.drawLine(QPointF(rect.left() + 2, middle), QPointF(rect.right() - 1, middle))
        if first:
            _cross(painter, rect, theme.color("danger"))

    def _paint_ending(self, painter: QPainter, shown: ReplayRound, dropped: float) -> None:
        """Paint the token that the target wrote itself, on its way down, and where it stands."""
        if self._layout is None:
            return
        start, end = self._layout.starts[shown.start + shown.kept], self._layout.starts[shown.end]
        painter.save()
        painter.setOpacity(dropped)
        painter.translate(0.0, -_FALL * (1.0 - dropped))
        for token in range(shown.start + shown.kept, shown.end):
            self._paint_ground(painter, token)
        self._draw_between(painter, start, end)
        painter.restore()


def _colored(start: int, length: int, color: QColor) -> QTextLayout.FormatRange:
    found = QTextLayout.FormatRange()
    found.start, found.length = start, length
    words = QTextCharFormat()
    words.setForeground(color)
    found.format = words
    return found


def _dotted(painter: QPainter, rect: QRectF, baseline: float, ink: QColor) -> None:
    pen = QPen(ink, 1.3, Qt.PenStyle.CustomDashLine, Qt.PenCapStyle.RoundCap)
    pen.setDashPattern([0.1, 2.2])
    painter.setPen(pen)
    painter.drawLine(QPointF(rect.left() + 2, baseline + 3), QPointF(rect.right() - 1, baseline + 3))


def _tick(painter: QPainter, rect: QRectF, color: QColor) -> None:
    x, y = rect.center().x(), rect.bottom() + 5
    painter.setPen(QPen(color, 1.6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
    painter.drawPolyline([QPointF(x - 3.5, y), QPointF(x - 1, y + 2.5), QPointF(x + 4, y - 3)])


def _cross(painter: QPainter, rect: QRectF, color: QColor) -> None:
    x, y = rect.center().x(), rect.bottom() + 5
    painter.setPen(QPen(color, 1.6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
    painter.drawLine(QPointF(x - 3, y - 3), QPointF(x + 3, y + 3))
    painter.drawLine(QPointF(x - 3, y + 3), QPointF(x + 3, y - 3))


_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufdd0-\ufdef\ufffc\ud800-\udfff]")

LINE_SPACING = 1.9
"""Line spacing in times of the font's height: below each line there is room for the target's verdicts."""
_MARK = 7.0


def showable(text: str) -> str:
    """Return the text as a layout can hold it.

    It keeps its length, without control characters and halves of characters.
    """
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def length_of(text: str) -> int:
    """Return its length in a layout of Qt: in units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(slots=True)
class LaidParagraph:
    """Hold one paragraph: its layout, where its text begins (characters of the whole) and its place in the page."""

    layout: QTextLayout
    start: int
    length: int
    top: float
    height: float


class ReplayLayout:
    """Lay out texts one behind the other at a width.

    Attributes: starts (where each token begins, in UTF-16 units, and the end of the last one), paragraphs, height,
    line_height.
    """

    def __init__(self, texts: list[str], font: QFont, width: float) -> None:
        shown = [showable(text) for text in texts]
        self.starts = [0, *accumulate(map(length_of, shown))]
        self.paragraphs: list[LaidParagraph] = []
        self._parts: dict[int, tuple[tuple[QRectF, float], ...]] = {}
        self.height = 0.0
        metrics = QFontMetricsF(font)
        self.line_height = round(LINE_SPACING * metrics.height())
        self._lead = round((self.line_height - metrics.height()) / 3)
        start = 0
        for text in "".join(shown).replace("\u2029", "\n").split("\n"):
            length = length_of(text)
            self._add(text, start, length, font, max(width, 40.0))
            start += length + 1

    def _add(self, text: str, start: int, length: int, font: QFont, width: float) -> None:
        layout = QTextLayout(text, font)
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        layout.setTextOption(option)
        layout.setCacheEnabled(True)
        layout.beginLayout()
        top = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            line.setPosition(QPointF(0.0, top + self._lead))
            top += self.line_height
        layout.endLayout()
        self.paragraphs.append(LaidParagraph(layout, start, length, self.height, top))
        self.height += top

    def _index_of(self, position: int) -> int:
        return max(bisect_right(self.paragraphs, position, key=lambda each: each.start) - 1, 0)

    def between(self, top: float, bottom: float) -> Iterator[LaidParagraph]:
        """Return the paragraphs that stand between two heights of the page."""
        first = bisect_left(self.paragraphs, top, key=lambda each: each.top + each.height)
        for paragraph in self.paragraphs[first:]:
            if paragraph.top > bottom:
                return
            yield paragraph

    def place_of(self, position: int) -> QRectF:
        """Return the rectangle of the next character at this position: a line without width."""
        paragraph = self.paragraphs[self._index_of(position)]
        inside = min(max(position - paragraph.start, 0), paragraph.length)
        line = paragraph.layout.lineForTextPosition(inside)
        if not line.isValid():
            return QRectF(0.0, paragraph.top + self._lead, 0.0, self.line_height)
        return QRectF(x_of(line, inside), paragraph.top + line.y(), 0.0, line.ascent() + line.descent())

    def line_start(self, position: int) -> float:
        """Return the beginning of a character's line: left, or right in a script from the right."""
        paragraph = self.paragraphs[self._index_of(position)]
        line = paragraph.layout.lineForTextPosition(min(max(position - paragraph.start, 0), paragraph.length))
        return x_of(line, line.textStart()) if line.isValid() else 0.0

    def parts_of(self, token: int) -> tuple[tuple[QRectF, float], ...]:
        """Return the rectangles of a token, one a line, each with its baseline; a mark for a line's end."""
        known = self._parts.get(token)
        if known is None:
            # Kept: while the text is scrubbed, hundreds of them are painted each time.
            known = self._parts[token] = tuple(self.parts_between(self.starts[token], self.starts[token + 1]))
        return known

    def parts_between(self, start: int, end: int) -> Iterator[tuple[QRectF, float]]:
        """Return the rectangles of these characters, each with its baseline."""
        index = self._index_of(start)
        while start < end and index < len(self.paragraphs) and self.paragraphs[index].start < end:
            paragraph = self.paragraphs[index]
            low, high = max(start - paragraph.start, 0), min(end - paragraph.start, paragraph.length)
            yield from self._in_lines(paragraph, low, high)
            if low >= high and end > paragraph.start + paragraph.length:
                at = self.place_of(paragraph.start + paragraph.length)
                yield QRectF(at.x(), at.y(), _MARK, at.height()), at.bottom()
            index += 1

    def _in_lines(self, paragraph: LaidParagraph, low: int, high: int) -> Iterator[tuple[QRectF, float]]:
        while low < high:
            line = paragraph.layout.lineForTextPosition(low)
            if not line.isValid():
                return
            stop = min(line.textStart() + line.textLength(), high)
            one, other = x_of(line, low), x_of(line, stop)
            top = paragraph.top + line.y()
            height = line.ascent() + line.descent()
            yield QRectF(min(one, other), top, abs(other - one), height), top + line.ascent()
            low = max(stop, low + 1)


def x_of(line: QTextLine, position: int) -> float:
    """Return the offset of a character in its line."""
    x: Any = line.cursorToX(position)  # a pair with the position, whatever the types say
    return float(x[0])


def one_line(text: str, font: QFont) -> QTextLayout:
    """Return a layout of a text in one line."""
    layout = QTextLayout(text, font)
    option = QTextOption()
    option.setFlags(QTextOption.Flag.IncludeTrailingSpaces)
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    option.setAlignment(Qt.AlignmentFlag.AlignLeft)
    layout.setTextOption(option)
    layout.beginLayout()
    layout.createLine().setLineWidth(10_000.0)
    layout.endLayout()
    return layout
