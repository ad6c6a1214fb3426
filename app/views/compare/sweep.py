"""Show the lookahead sweep: tokens/s against K, drawn during the measurement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyqtgraph
from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QSizePolicy, QWidget

from app.state.compare.compare import (
    AUTO,
    PLAIN,
    SWEEP_MOST,
    ComparedModels,
    CompareSettings,
    SweepPoint,
    best_lookahead,
    figures,
    rivals,
    sweep_points,
)
from app.state.compare.text import sweep_text
from app.views.compare.dialog import RunDialog
from app.views.speculation.plots import StillPlot, dress_axes
from app.views.widgets.theme import Theme
from app.words.compare import best_words, doubts_words, use_words
from engine import WayFigures

_SIZE = QSize(760, 680)


class SweepDialog(RunDialog):
    """Measure every lookahead from 0 to 16, and auto. Signal: lookahead_chosen(int)."""

    lookahead_chosen = Signal(object)
    kind = "sweep"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, CompareSettings(repeats=3, tokens=64), parent)
        self.setWindowTitle(self.tr("Lookahead sweep"))
        self.plot = SweepPlot(theme, (self.tr("plain"), self.tr("auto")), self)
        self.best = QLabel(self)
        self.best.setObjectName("verdict")
        self.best.setAccessibleName(self.tr("The fastest lookahead"))
        self.best.setWordWrap(True)
        self.doubts = QLabel(self)
        self.doubts.setObjectName("caption")
        self.doubts.setWordWrap(True)
        self.use = QPushButton(self)
        self.use.setAutoDefault(False)
        self.use.clicked.connect(self._use)
        self.buttons.insertWidget(0, self.use)
        self.place.addWidget(self.plot, 1)
        self.place.addWidget(self.best)
        self.place.addWidget(self.doubts)
        self.resize(_SIZE.boundedTo(self.screen().availableSize()))
        self.show_run(self.run)

    def can_measure(self, pair: ComparedModels) -> bool:
        """Return True if there is a draft: a lookahead needs one."""
        return bool(pair.target and pair.draft)

    def advice(self) -> str:
        pattern = self.tr(
            "Answers the prompt with every lookahead from 0 to {most} and with auto, alternating. Needs a draft. "
            "Messages that you send meanwhile wait."
        )
        return pattern.format(most=SWEEP_MOST)

    def _use(self) -> None:
        best = best_lookahead(self.run.report)
        if best is not None:
            self.lookahead_chosen.emit(best)

    def show_figures(self) -> None:
        """Show the points so far, and the best once all are there."""
        report = self.run.report
        best = None if self.run.running else best_lookahead(report)
        self.plot.draw(sweep_points(report), _speed(figures(report, PLAIN)), _speed(figures(report, AUTO)), best)
        self.best.setText(best_words(best, rivals(report)))
        self.doubts.setText("" if self.run.running else doubts_words(report))
        self.doubts.setVisible(bool(self.doubts.text()))
        self.use.setText(use_words(best))
        self.use.setEnabled(best is not None)

    def as_text(self) -> str:
        report, request = self.run.report, self.run.request
        return "" if report is None or request is None else sweep_text(report, request.prompt)


def _speed(way: WayFigures | None) -> float | None:
    return None if way is None or way.tokens_per_second is None else way.tokens_per_second.median


HEIGHT = 260
_GRID = 0.5
_HEADROOM = 1.12
_LABELS_FROM = SWEEP_MOST + 0.4
_RIGHT = SWEEP_MOST + 2.6
"""Room for the labels at the ends of the lines."""


class SweepPlot(StillPlot):
    """Plot points with whiskers, plain decoding as a dashed line, auto as a dotted one. Looks right while empty."""

    def __init__(self, theme: Theme, words: tuple[str, str], parent: QWidget | None = None) -> None:
        """Build the plot. `words`: of plain and of auto, at the ends of their lines."""
        super().__init__(parent)
        self.setAccessibleName(self.tr("Tokens per second by lookahead"))
        self.setMinimumHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAntialiasing(True)
        self._theme = theme
        self._words = words
        self._labels = {"bottom": self.tr("lookahead K"), "left": self.tr("tok/s")}
        plot = self.getPlotItem()
        plot.showGrid(x=False, y=True, alpha=_GRID)
        plot.layout.setContentsMargins(0, 8, 8, 0)
        plot.getAxis("bottom").setTicks([[(k, str(k)) for k in range(0, SWEEP_MOST + 1, 2)]])
        self._whiskers = pyqtgraph.ErrorBarItem(beam=0.25)
        self._line = pyqtgraph.PlotCurveItem(antialias=True)
        self._points = pyqtgraph.ScatterPlotItem(size=7, pxMode=True)
        self._best = pyqtgraph.ScatterPlotItem(size=13, pxMode=True)
        self._plain, self._auto = pyqtgraph.PlotCurveItem(), pyqtgraph.PlotCurveItem()
        self._ends = (pyqtgraph.TextItem(anchor=(0, 0.5)), pyqtgraph.TextItem(anchor=(0, 0.5)))
        self._name = pyqtgraph.TextItem(anchor=(0.5, 1.2))
        for item in (self._plain, self._auto, self._whiskers, self._line, self._points, self._best):
            plot.addItem(item)
        for item in (*self._ends, self._name):
            plot.addItem(item, ignoreBounds=True)
        theme.changed.connect(self._dress)
        self._dress()
        self.draw([], None, None, None)

    def draw(self, points: Sequence[SweepPoint], plain: float | None, auto: float | None, best: int | None) -> None:
        """Show these points, the speeds (tokens/s) of plain decoding and of auto, and mark the best lookahead."""
        xs = np.array([point.lookahead for point in points], dtype=float)
        ys = np.array([point.speed.median for point in points], dtype=float)
        low = ys - np.array([point.speed.low for point in points], dtype=float)
        high = np.array([point.speed.high for point in points], dtype=float) - ys
        self._line.setData(xs, ys)
        self._points.setData(xs, ys)
        self._whiskers.setData(x=xs, y=ys, top=high, bottom=low)
        marked = [point for point in points if point.lookahead == best]
        self._best.setData([best] * len(marked), [point.speed.median for point in marked])
        self._name.setVisible(bool(marked))
        if marked:
            self._name.setText(self.tr("K = {k}").format(k=best))
            self._name.setPos(float(marked[0].lookahead), marked[0].speed.high)
        top = max([*(point.speed.high for point in points), plain or 0.0, auto or 0.0, 1.0 if not points else 0.0])
        self._draw_levels(plain, auto, top)
        box = self.getPlotItem().getViewBox()
        box.setRange(xRange=(-0.6, _RIGHT), yRange=(0.0, _HEADROOM * top), padding=0.0, disableAutoRange=True)

    def _draw_levels(self, plain: float | None, auto: float | None, top: float) -> None:
        """Draw the two lines, and keep their labels out of each other's way."""
        places = [plain, auto]
        least = 0.07 * top
        if plain is not None and auto is not None and abs(auto - plain) < least:
            middle, half = (auto + plain) / 2.0, least / 2.0
            places = [middle - half, middle + half] if auto >= plain else [middle + half, middle - half]
        for line, end, word, level, place in zip(
            (self._plain, self._auto), self._ends, self._words, (plain, auto), places, strict=True
        ):
            end.setVisible(level is not None)
            if level is None or place is None:
                line.setData([], [])
                continue
            line.setData([0.0, _LABELS_FROM], [level, level])
            end.setText(word)
            end.setPos(_LABELS_FROM, place)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Ignore the wheel: the plot is not to be zoomed."""
        event.ignore()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Draw anew for another screen, which may have smaller dots."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._dress()

    def _dress(self) -> None:
        theme = self._theme
        self.setBackground(theme.color("background"))
        dress_axes(self.getPlotItem(), theme, self._labels)
        accent, muted = theme.color("accent"), theme.color("muted")
        # These pens count the dots of the screen.
        dots = self.devicePixelRatioF()
        self._line.setPen(pyqtgraph.mkPen(accent, width=2 * dots))
        self._points.setPen(None)
        self._points.setBrush(accent)
        self._whiskers.setData(pen=pyqtgraph.mkPen(accent, width=1.5 * dots))
        self._best.setPen(pyqtgraph.mkPen(accent, width=2 * dots))
        self._best.setBrush(theme.color("background"))
        self._plain.setPen(pyqtgraph.mkPen(muted, width=1.5 * dots, style=Qt.PenStyle.DashLine))
        self._auto.setPen(pyqtgraph.mkPen(accent, width=1.5 * dots, style=Qt.PenStyle.DotLine))
        for item, color in (*zip(self._ends, (muted, accent), strict=True), (self._name, theme.color("text"))):
            item.setColor(color)
            item.setFont(QApplication.font())
