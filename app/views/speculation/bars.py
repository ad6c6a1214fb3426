"""Draw bars of the Speculation panel: acceptance by position, and where the time goes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.state.speculation.figures import TimeSplit
from app.system.translation import number
from app.views.widgets.theme import Theme
from app.words.figures import SEPARATOR, percent

_GAP = 3.0


class PositionBars(QWidget):
    """Draw a bar for each place in a draft: the share of accepted tokens. Pale: few were proposed.

    Attribute: pairs, (proposed, accepted) by place.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.pairs: tuple[tuple[int, int], ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)
        self._name()

    def draw(self, pairs: Sequence[tuple[int, int]]) -> None:
        if tuple(pairs) != self.pairs:
            self.pairs = tuple(pairs)
            self._name()
            self.update()

    def _name(self) -> None:
        text = ", ".join(self._words(place) for place in range(len(self.pairs)))
        self.setAccessibleName(self.tr("Acceptance by position"))
        self.setAccessibleDescription(text)

    def _words(self, place: int) -> str:
        proposed, accepted = self.pairs[place]
        rate = percent(accepted / proposed if proposed else None)
        return self.tr("position {place}: {rate} of {proposed}").format(
            place=place + 1, rate=rate, proposed=number(proposed)
        )

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(240, 84 + 2 * self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(120, self.sizeHint().height())

    def _room(self) -> QRectF:
        """Return the area of the bars: beside the numbers, above the positions."""
        height = self.fontMetrics().height()
        left = max(50.0, self.fontMetrics().horizontalAdvance(percent(1.0)) + 10.0)
        return QRectF(self.rect()).adjusted(left, height / 2, -12.0, -(2.0 * height + 4.0))

    def _bar(self, place: int) -> QRectF:
        room, number = self._room(), max(len(self.pairs), 4)
        step = room.width() / number
        width = min(max(step - _GAP, 1.0), 28.0)
        proposed, accepted = self.pairs[place]
        height = room.height() * (accepted / proposed if proposed else 0.0)
        return QRectF(room.left() + place * step + (step - width) / 2, room.bottom() - height, width, height)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_grid(painter)
        most = max((proposed for proposed, _ in self.pairs), default=0)
        painter.setPen(Qt.PenStyle.NoPen)
        for place, (proposed, _) in enumerate(self.pairs):
            color = self._theme.color("accent")
            color.setAlphaF(0.4 + 0.6 * (proposed / most if most else 0.0))
            painter.setBrush(color)
            painter.drawRoundedRect(self._bar(place), 2.0, 2.0)
        self._paint_places(painter)

    def _paint_grid(self, painter: QPainter) -> None:
        room, metrics = self._room(), self.fontMetrics()
        for share in (0.0, 0.5, 1.0):
            y = round(room.bottom() - share * room.height()) + 0.5
            painter.setPen(self._theme.color("border"))
            painter.drawLine(QPointF(room.left(), y), QPointF(room.right(), y))
            painter.setPen(self._theme.color("muted"))
            place = QRectF(0.0, y - metrics.height() / 2, room.left() - 6.0, metrics.height())
            painter.drawText(place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, percent(share))

    def _paint_places(self, painter: QPainter) -> None:
        room, height = self._room(), self.fontMetrics().height()
        painter.setPen(self._theme.color("muted"))
        every = 1 if len(self.pairs) <= 8 else 4
        for place in range(len(self.pairs)):
            if place % every == 0:
                middle = self._bar(place).center().x()
                where = QRectF(middle - 20.0, room.bottom() + 2.0, 40.0, height)
                painter.drawText(where, Qt.AlignmentFlag.AlignCenter, str(place + 1))
        below = QRectF(room.left(), room.bottom() + 2.0 + height, room.width(), height)
        painter.drawText(below, Qt.AlignmentFlag.AlignCenter, self.tr("position in the draft"))

    def event(self, event: QEvent) -> bool:
        """Return a tooltip for each bar."""
        if event.type() != QEvent.Type.ToolTip or not isinstance(event, QHelpEvent):
            return super().event(event)
        step = self._room().width() / max(len(self.pairs), 4)
        place = int((event.pos().x() - self._room().left()) // step)
        text = (
            self._words(place)
            if 0 <= place < len(self.pairs)
            else self.tr("Share of proposed tokens that were accepted")
        )
        QToolTip.showText(event.globalPos(), text, self)
        return True


class TimeBar(QWidget):
    """Draw the time after the prompt as one bar: draft, target, rest; the figures below. Attribute: times."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.times = TimeSplit()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip(
            self.tr("Draft: waiting for proposals. Target: forward passes. Rest: sampling, text and the window.")
        )
        theme.changed.connect(self.update)
        self._name()

    def draw(self, times: TimeSplit) -> None:
        if times != self.times:
            self.times = times
            self._name()
            self.update()

    def _name(self) -> None:
        self.setAccessibleName(self.tr("Time"))
        self.setAccessibleDescription(", ".join(f"{word} {text}" for word, text, _ in self.parts()))

    def parts(self) -> list[tuple[str, str, float]]:
        """Return each part's name, its figures, and its share 0..1."""
        words = {"draft": self.tr("Draft"), "target": self.tr("Target"), "rest": self.tr("Rest")}
        total = self.times.total_ms
        found: list[tuple[str, str, float]] = []
        for name, milliseconds in self.times.parts():
            share = milliseconds / total if total else 0.0
            figures = percent(share if total else None)
            if total:
                figures += SEPARATOR + duration(milliseconds)
            found.append((words[name], figures, share))
        return found

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(240, 20 + 3 * (self.fontMetrics().height() + 4))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(120, self.sizeHint().height())

    def _colors(self) -> tuple[QColor, QColor, QColor]:
        pale = self._theme.color("accent")
        pale.setAlphaF(0.45)
        return pale, self._theme.color("accent"), self._theme.color("border")

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        super().paintEvent(event)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.color("raised"))
        painter.drawRoundedRect(QRectF(0.0, 2.0, self.width(), 10.0), 3.0, 3.0)
        metrics, left, y = self.fontMetrics(), 0.0, 20
        for (word, figures, share), color in zip(self.parts(), self._colors(), strict=True):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color)
            width = share * self.width()
            if width > 0.5:
                painter.drawRect(self._sided(QRectF(left, 2.0, max(width - 1.0, 0.5), 10.0)))
            left += width
            line = QRectF(0.0, y, self.width(), metrics.height())
            painter.drawRoundedRect(self._sided(QRectF(0.0, y + metrics.height() / 2 - 4.0, 8.0, 8.0)), 2.0, 2.0)
            painter.setPen(self._theme.color("muted"))
            place = self._sided(line.adjusted(16.0, 0.0, 0.0, 0.0))
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeading, word)
            painter.setPen(self._theme.color("text"))
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(line, right, figures)
            y += metrics.height() + 4

    def _sided(self, box: QRectF) -> QRectF:
        """Mirror a box where text runs from right to left."""
        if self.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            box.moveLeft(self.width() - box.right())
        return box


def duration(milliseconds: float) -> str:
    """Return a time in its unit: 850 ms, 1.2 s."""
    if milliseconds < 1_000.0:
        return QCoreApplication.translate("Figures", "{count} ms").format(count=number(float(milliseconds)))
    return QCoreApplication.translate("Figures", "{count} s").format(count=number(milliseconds / 1000.0, 1))
