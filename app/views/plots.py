"""The two live plots. Imported after the first paint: pyqtgraph takes a while."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph
from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.views.theme import Theme

HEIGHT = 150
_GRID_ALPHA = 40
_TICKS = 4

Points = tuple[Sequence[float], Sequence[float]]


class LivePlot(pyqtgraph.PlotWidget):  # type: ignore[misc]
    """A line, and perhaps dots behind it. Not to be dragged or zoomed: it shows the whole reply."""

    def __init__(
        self,
        theme: Theme,
        name: str,
        x_label: str,
        y_label: str,
        *,
        top: float | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setMinimumHeight(HEIGHT)
        self.setMaximumHeight(2 * HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._theme = theme
        self._top = top
        self._labels = {"bottom": x_label, "left": y_label}
        plot = self.getPlotItem()
        plot.setMenuEnabled(False)
        plot.setMouseEnabled(False, False)
        plot.hideButtons()
        plot.showGrid(x=False, y=True, alpha=_GRID_ALPHA / 255)
        plot.getViewBox().setDefaultPadding(0.02)
        plot.disableAutoRange()
        plot.layout.setContentsMargins(0, 4, 8, 0)
        plot.getAxis("left").setWidth(44)
        self._dots = pyqtgraph.ScatterPlotItem(size=4, pxMode=True)
        self._line = pyqtgraph.PlotCurveItem(antialias=True)
        plot.addItem(self._dots)
        plot.addItem(self._line)
        theme.changed.connect(self._dress)
        self._dress()
        self.draw(([], []))

    def draw(self, line: Points, dots: Points | None = None) -> None:
        """Show these points; both are (x values, y values)."""
        xs, ys = line
        self._line.setData(list(xs), list(ys))
        if dots is not None:
            self._dots.setData(list(dots[0]), list(dots[1]))
        right = max(xs[-1] if xs else 0.0, 1.0)
        highest = max([*ys, 1.0])
        top = self._top if self._top is not None else _round_up(highest)
        box = self.getPlotItem().getViewBox()
        box.setRange(xRange=(0.0, right), yRange=(0.0, top), padding=0.03, disableAutoRange=True)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """The wheel is for the panel."""
        event.ignore()

    def _dress(self) -> None:
        theme = self._theme
        self.setBackground(theme.color("background"))
        plot = self.getPlotItem()
        for side, label in self._labels.items():
            axis = plot.getAxis(side)
            axis.setPen(pyqtgraph.mkPen(theme.color("border"), width=1))
            axis.setTextPen(theme.color("muted"))
            axis.setStyle(tickLength=0, maxTickLevel=0, autoReduceTextSpace=False)
            axis.enableAutoSIPrefix(False)
            plot.setLabel(side, label, color=theme.tokens.muted)
        self._line.setPen(pyqtgraph.mkPen(theme.color("accent"), width=2))
        dot = theme.color("muted")
        dot.setAlpha(110)
        self._dots.setPen(None)
        self._dots.setBrush(dot)


def _round_up(value: float) -> float:
    """The next 1, 2 or 5 times a power of ten, with a little room."""
    wanted = value * 1.1
    power = 1.0
    while power * 10 <= wanted:
        power *= 10
    return next(step * power for step in (1, 2, 3, 4, 5, 6, 8, 10) if step * power >= wanted)
