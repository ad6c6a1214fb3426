"""Lay out the whole text of a recorded reply once, and say where each of its tokens stands."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QTextLayout, QTextLine, QTextOption

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
