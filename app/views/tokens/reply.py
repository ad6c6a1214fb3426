"""Colour the tokens of a reply, and show a legend that counts them."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QCoreApplication, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QVBoxLayout, QWidget

from app.state.chat.trace import ORIGINS, TokenTrace
from app.system.translation import number
from app.views.markdown.reply import ReplyView
from app.views.tokens.layer import TokenLayer
from app.views.tokens.painter import UNDERLINES, paint_token
from app.views.widgets.theme import Theme
from engine import Origin

_GAP = 12
_RARE = ("plain", "forced")
"""Origins that most replies do not have, and that have no colour."""
_PAD = 5


def _word(origin: Origin) -> str:
    return {
        "accepted": QCoreApplication.translate("Tokens", "accepted"),
        "correction": QCoreApplication.translate("Tokens", "correction"),
        "bonus": QCoreApplication.translate("Tokens", "bonus"),
        "plain": QCoreApplication.translate("Tokens", "plain"),
        "forced": QCoreApplication.translate("Tokens", "forced"),
    }[origin]


class TokenLegend(QWidget):
    """Explain the colours and count their tokens, in as many lines as the width requires."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.counts: dict[Origin, int] = {}
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self.show_counts({})

    def show_counts(self, counts: Mapping[Origin, int]) -> None:
        """Count these. Plain and forced tokens are left out where there are none."""
        shown = {origin: counts.get(origin, 0) for origin in ORIGINS if origin not in _RARE or counts.get(origin)}
        if shown == self.counts:
            return
        self.counts = shown
        self.setAccessibleName(", ".join(f"{_word(origin)} {number(count)}" for origin, count in shown.items()))
        self._fit()
        self.update()

    def _line_height(self) -> int:
        return self.fontMetrics().height() + 6

    def _chips(self) -> list[tuple[Origin, QRect, str]]:
        """Return each chip's place, and the number behind it."""
        found: list[tuple[Origin, QRect, str]] = []
        metrics, height = self.fontMetrics(), self._line_height()
        x = y = 0
        for origin, count in self.counts.items():
            figure = number(count)
            width = metrics.horizontalAdvance(_word(origin)) + 2 * _PAD
            whole = width + _PAD + metrics.horizontalAdvance(figure)
            if x and x + whole > self.width():
                x, y = 0, y + height
            found.append((origin, QRect(x, y, width, height - 4), figure))
            x += whole + _GAP
        return found

    def _fit(self) -> None:
        chips = self._chips()
        height = chips[-1][1].top() + self._line_height() if chips else self._line_height()
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return a size as high as its lines."""
        return QSize(240, self.minimumHeight())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Fit the number of lines to another width."""
        super().resizeEvent(event)
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint words on their colours, and numbers behind them."""
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics, theme = self.fontMetrics(), self._theme
        for origin, place, figure in self._chips():
            rect = QStyle.visualRect(self.layoutDirection(), self.rect(), place)
            baseline = rect.top() + (rect.height() + metrics.ascent() - metrics.descent()) / 2
            color = QColor(0, 0, 0, 0) if origin in _RARE else theme.color(origin)
            paint_token(painter, QRectF(rect), baseline, color, UNDERLINES[origin], theme.color("muted"))
            painter.setPen(theme.color("text"))
            painter.drawText(rect.left() + _PAD, round(baseline), _word(origin))
            painter.setPen(theme.color("muted"))
            mirrored = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
            beside = rect.left() - _PAD - metrics.horizontalAdvance(figure) if mirrored else rect.right() + 1 + _PAD
            painter.drawText(beside, round(baseline), figure)


class TokenReply(QWidget):
    """Colour the tokens of a reply where it stands, and show the legend below it. A reply without a record says so.

    Attributes: layer (the TokenLayer), legend, note.
    """

    def __init__(self, reply: ReplyView, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.layer = TokenLayer(reply, theme)
        self.legend = TokenLegend(theme, self)
        self.note = QLabel(self.tr("There is no token record for this reply."), self)
        self.note.setObjectName("summary")
        self.note.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.note)
        layout.addWidget(self.legend)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def trace(self) -> TokenTrace:
        """Return the record that is shown; an empty one where there is none."""
        return self.layer.trace

    def follow(self, trace: TokenTrace | None, reply: str, shown: str) -> None:
        """Show the record of a reply, of which this is shown, as far as they are there."""
        self.layer.follow(trace if trace is not None else TokenTrace(), reply, shown)
        self.legend.show_counts(self.layer.trace.counts)

    def finish(self) -> None:
        """Say whether there is a record: the reply is complete."""
        has_record = bool(len(self.layer.trace))
        self.note.setVisible(not has_record)
        self.legend.setVisible(has_record)

    def end(self) -> None:
        """Take the colours away."""
        self.layer.end()
        self.hide()
        self.deleteLater()
