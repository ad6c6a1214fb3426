"""Compare: the same prompt plain and speculative, in turns, with both speeds, the speedup, and the outputs."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QWidget

from app.state.compare.compare import (
    AUTO,
    PLAIN,
    SERVER,
    ComparedModels,
    CompareSettings,
    figures,
    speculative,
    verdict,
    ways_to_compare,
)
from app.state.compare.text import compare_text
from app.views.compare.dialog import RunDialog
from app.views.compare.race import RaceView
from app.views.widgets.boxes import in_column, in_row, wide
from app.views.widgets.theme import Theme
from app.words.compare import (
    between,
    doubts_words,
    outcome_words,
    rounds_words,
    speed_words,
    speedup_words,
    verdict_help,
    verdict_words,
    way_words,
)
from engine import Spread, WayFigures

_SIZE = QSize(720, 760)


class CompareDialog(RunDialog):
    """Compare plain decoding with the selected models."""

    kind = "compare"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, CompareSettings(), parent)
        self.setWindowTitle(self.tr("Compare plain and speculative decoding"))
        self._chosen = AUTO
        self.race = RaceView(theme, self)
        self.speeds = SpeedPair(theme, self)
        self.speedup = QLabel(self)
        self.speedup.setObjectName("figure")
        self.speedup.setAccessibleName(self.tr("Speedup"))
        self.outcome = QLabel(self)
        self.outcome.setWordWrap(True)
        self.rounds = QLabel(self)
        self.rounds.setObjectName("hint")
        self.verdict = QLabel(self)
        self.verdict.setObjectName("verdict")
        self.verdict.setAccessibleName(self.tr("Outputs"))
        self.verdict_help = QLabel(self)
        self.doubts = QLabel(self)
        for label in (self.verdict_help, self.doubts):
            label.setObjectName("caption")
        for label in (self.verdict, self.verdict_help, self.doubts):
            label.setWordWrap(True)
        self.outcome_part = QWidget(self)
        row = in_row(self.speedup, wide(self.outcome), spacing=12)
        in_column(self.speeds, row, margins=(0, 0, 0, 0), spacing=16, parent=self.outcome_part)
        self.place.addWidget(self.race)
        self.place.addSpacing(8)
        self.place.addWidget(self.outcome_part)
        for widget in (self.rounds, self.verdict, self.verdict_help, self.doubts):
            self.place.addWidget(widget)
        self.place.addStretch(1)
        self.resize(_SIZE.boundedTo(self.screen().availableSize()))
        self.show_run(self.run)

    def show_pair(self, pair: ComparedModels) -> None:
        """Show the models that would be measured now."""
        super().show_pair(pair)
        chosen = SERVER if pair.server else str(ways_to_compare(pair.lookahead, has_draft=bool(pair.draft))[0])
        if chosen != self._chosen and not self.run.running:
            self._chosen = chosen
            self.show_figures()

    def advice(self) -> str:
        return self.tr(
            "Answers the prompt with plain and with speculative decoding, alternating. Messages that "
            "you send meanwhile wait."
        )

    def show_figures(self) -> None:
        report = self.run.report
        other = speculative(report)
        name = self._chosen if other is None else other.name
        shown = figures(report, name)
        self.show_race()
        self.outcome_part.setVisible(report is not None)  # Before that it is dashes only.
        self.speeds.show_ways((way_words(PLAIN), way_words(name)), figures(report, PLAIN), shown)
        self.speedup.setText(speedup_words(shown))
        self.outcome.setText(outcome_words(shown))
        self.rounds.setText(rounds_words(shown))
        found = verdict(report)
        if found.kind == "drawn" and self.run.running:
            found = verdict(None)
        self.verdict.setText(verdict_words(found))
        self.verdict.setProperty("bad", found.kind == "different")
        self.verdict.style().polish(self.verdict)
        self.verdict_help.setText(verdict_help(found))
        self.doubts.setText("" if self.run.running else doubts_words(report))
        for label in (self.rounds, self.verdict, self.verdict_help, self.doubts):
            label.setVisible(bool(label.text()))

    def show_race(self) -> None:
        request, race = self.run.request, self.run.race
        if request is None:
            self.race.show_race(None, ("", ""), sampled=False, free=True)
            return
        names = way_words(PLAIN), way_words(request.shown_way)
        drawn = request.settings.temperature > 0.0
        self.race.show_race(race, names, sampled=drawn, free=not self.run.running)

    def as_text(self) -> str:
        """Return the result as text for a forum."""
        report, request = self.run.report, self.run.request
        return "" if report is None or request is None else compare_text(report, request.prompt)


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
        layout = in_column(spacing=4, margins=(0, 0, 0, 0), parent=self)
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
