"""Show two speeds side by side: large figures, bars, and their spread."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.views.widgets.boxes import in_row, wide
from app.views.widgets.theme import Theme
from app.words.compare import between, speed_words
from engine import Spread, WayFigures

HEIGHT = 18


class SpeedBar(QWidget):
    """Draw a bar as long as a speed, with a whisker across the middle half. Empty while unknown."""

    def __init__(self, theme: Theme, color: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._color = color
        self.speed: Spread | None = None
        self.full = 1.0
        self.setFixedHeight(HEIGHT)
        theme.changed.connect(self.update)

    def show_speed(self, speed: Spread | None, full: float) -> None:
        """Show this speed; the bar is as wide as the widget at `full` tokens/s."""
        self.speed, self.full = speed, max(full, 1e-9)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint the track, the bar, the whisker."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        width, height = float(self.width()), float(self.height())
        bar = QRectF(0.0, 3.0, width, height - 6.0)
        painter.setBrush(self._theme.color("raised"))
        painter.drawRoundedRect(bar, 4.0, 4.0)
        if self.speed is None:
            return
        bar.setWidth(max(width * min(self.speed.median / self.full, 1.0), 4.0))
        painter.setBrush(self._theme.color(self._color))
        painter.drawRoundedRect(bar, 4.0, 4.0)
        left, right = (width * min(value / self.full, 1.0) for value in (self.speed.low, self.speed.high))
        painter.setPen(QPen(self._theme.color("text"), 1.5))
        middle = height / 2.0
        painter.drawLine(int(left), int(middle), int(right), int(middle))
        for end in (left, right):
            painter.drawLine(int(end), int(middle - 4), int(end), int(middle + 4))


class SpeedColumn(QWidget):
    """Show a way's name, its speed in large figures, its bar, its spread."""

    def __init__(self, theme: Theme, color: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = QLabel(self)
        self.name.setObjectName("hint")
        self.figure = QLabel(self)
        self.figure.setObjectName("figure")
        self.bar = SpeedBar(theme, color, self)
        self.spread = QLabel(self)
        self.spread.setObjectName("caption")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for widget in (self.name, self.figure, self.bar, self.spread):
            layout.addWidget(widget)

    def show_way(self, name: str, way: WayFigures | None, full: float) -> None:
        """Show a way's figures; None: not measured yet."""
        self.name.setText(name)
        self.figure.setText(speed_words(way))
        self.figure.setAccessibleName(name)
        values = None if way is None else way.tokens_per_second
        # A space keeps the line where it is while there is nothing to say.
        self.spread.setText(between(values) or " ")
        self.bar.show_speed(values, full)


class SpeedPair(QWidget):
    """Show plain at the left and speculative at the right, drawn to one scale."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plain = SpeedColumn(theme, "muted", self)
        self.speculative = SpeedColumn(theme, "accent", self)
        in_row(wide(self.plain), wide(self.speculative), margins=(0, 0, 0, 0), spacing=24, parent=self)

    def show_ways(self, names: tuple[str, str], plain: WayFigures | None, other: WayFigures | None) -> None:
        """Show both; None: not measured yet."""
        speeds = [way.tokens_per_second for way in (plain, other) if way is not None]
        full = max((speed.high for speed in speeds if speed is not None), default=1.0)
        self.plain.show_way(names[0], plain, full)
        self.speculative.show_way(names[1], other, full)
