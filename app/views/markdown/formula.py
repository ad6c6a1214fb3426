"""Draw formulas in a document, in the colour and the size of the text around them."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, QRect, QRectF, QSizeF
from PySide6.QtGui import (
    QBrush,
    QFont,
    QFontInfo,
    QFontMetricsF,
    QPainter,
    QPyTextObject,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)

from app.system.typesetter import Formula
from app.views.widgets.theme import Theme

OBJECT = "\N{OBJECT REPLACEMENT CHARACTER}"
_KIND = int(QTextFormat.ObjectTypes.UserObject) + 1
_NUMBER = int(QTextFormat.Property.UserProperty) + 1
_X_HEIGHT = 0.467
"""The x-height of mathematical letters, in times of their size."""
_SPACE = 0.12
"""The space on both sides of a formula in a line, in times of the letters' size."""
_LONGEST_TIP = 600


class FormulaObjects(QPyTextObject):
    """Draw the formulas of one document. Attribute: sources, their TeX, by number."""

    def __init__(self, document: QTextDocument, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._document = document
        self._theme = theme
        self._formulas: list[Formula] = []
        self.sources: list[str] = []
        document.documentLayout().registerHandler(_KIND, self)

    def shared_with(self, document: QTextDocument, parent: QObject) -> FormulaObjects:
        """Draw the same formulas in another document too, which has copies of them."""
        same = FormulaObjects(document, self._theme, parent)
        same._formulas, same.sources = self._formulas, self.sources
        return same

    def clear(self) -> None:
        """Forget all: the document begins anew."""
        self._formulas, self.sources = [], []

    def cut(self, number: int) -> None:
        """Forget all but the first of them, which are no longer in the document."""
        del self._formulas[number:], self.sources[number:]

    def insert(self, cursor: QTextCursor, formula: Formula, source: str, look: QTextCharFormat) -> None:
        """Insert a formula where a cursor is."""
        form = QTextCharFormat(look)
        form.setObjectType(_KIND)
        form.setProperty(_NUMBER, len(self._formulas))
        form.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignMiddle)
        form.setToolTip(source[:_LONGEST_TIP])
        self._formulas.append(formula)
        self.sources.append(source)
        cursor.insertText(OBJECT, form)

    def with_sources(self, text: str, begin: int, end: int) -> str:
        """Return a text of the document, from a position to another one, with the source of its formulas."""
        if OBJECT not in text:
            return text
        pieces = text.split(OBJECT)
        found = iter(self._written(begin, end))
        return pieces[0] + "".join(next(found, OBJECT) + piece for piece in pieces[1:])

    def _written(self, begin: int, end: int) -> list[str]:
        cursor = self._document.find(OBJECT, begin)
        found = []
        while not cursor.isNull() and cursor.selectionEnd() <= end:
            number = cursor.charFormat().property(_NUMBER)
            found.append(OBJECT if number is None else self.sources[int(number)])
            cursor = self._document.find(OBJECT, cursor)
        return found

    def intrinsicSize(self, document: QTextDocument, position: int, form: QTextFormat) -> QSizeF:  # noqa: N802 - Qt's name
        """Return the room that a formula takes: as much above and below as puts it on the base line."""
        formula, scale, half = self._look_up(document, form)
        height = scale * max(2 * formula.ascent - half, 2 * formula.descent + half)
        return QSizeF(scale * (formula.width + 2 * _SPACE), height)

    def drawObject(  # noqa: N802 - Qt's name
        self, painter: QPainter, rect: QRectF | QRect, document: QTextDocument, position: int, form: QTextFormat
    ) -> None:
        formula, scale, half = self._look_up(document, form)
        look = form.toCharFormat()
        brush = look.foreground()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(
            rect.left() + scale * (_SPACE - formula.left), rect.top() + (rect.height() + scale * half) / 2
        )
        painter.scale(scale, scale)
        colored = look.hasProperty(QTextFormat.Property.ForegroundBrush)
        painter.fillPath(formula.outline, brush if colored else QBrush(self._theme.color("text")))
        painter.restore()

    def _look_up(self, document: QTextDocument, form: QTextFormat) -> tuple[Formula, float, float]:
        """Return the formula, the size of its letters (pixels), and Qt's height of the middle, in times of it."""
        number: Any = form.property(_NUMBER)
        formula = self._formulas[int(number)]
        font = form.toCharFormat().font()
        metrics = QFontMetricsF(font)
        scale = _letters(font, metrics)
        room = document.textWidth() - 2 * document.documentMargin()
        if room > 0:
            # What is wider than the column is made smaller: letters that are small say more than those cut off.
            scale = min(scale, room / (formula.width + 2 * _SPACE) * 0.98)
        return formula, scale, round(metrics.xHeight()) / 2 / scale


def _letters(font: QFont, metrics: QFontMetricsF) -> float:
    """Return the size (pixels) of letters that look as large as those of a font."""
    size = QFontInfo(font).pixelSize()
    return min(max(metrics.xHeight() / _X_HEIGHT, 1.0 * size), 1.25 * size)
