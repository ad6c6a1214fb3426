"""The two live plots. Imported after the first paint: pyqtgraph takes a while."""

from __future__ import annotations

from collections.abc import Sequence

import pyqtgraph
from PySide6.QtCore import Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.views.theme import Theme

HEIGHT = 150
_GRID_ALPHA = 130
_ROOM = 0.07

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
        least: float = 1.0,
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
        self._least = least
        self._labels = {"bottom": x_label, "left": y_label}
        plot = self.getPlotItem()
        plot.setMenuEnabled(False)
        plot.setMouseEnabled(False, False)
        plot.hideButtons()
        plot.showGrid(x=False, y=True, alpha=_GRID_ALPHA / 255)
        plot.getViewBox().setDefaultPadding(0.02)
        plot.disableAutoRange()
        plot.layout.setContentsMargins(0, 8, 12, 0)
        plot.getAxis("left").setWidth(50)
        if top is not None:
            steps = [top * quarter / 4 for quarter in range(5)]
            plot.getAxis("left").setTicks([[(step, f"{step:.0f}") for step in steps]])
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
        right = max(xs[-1], self._least) if xs else max(self._least, 1.0)
        highest = max([*ys, 1.0])
        top = self._top if self._top is not None else _round_up(highest)
        box = self.getPlotItem().getViewBox()
        # Room above and below, or the labels of the lowest and the highest line are left out.
        low, high = -_ROOM * top, (1.0 + _ROOM) * top
        box.setRange(xRange=(-0.02 * right, 1.02 * right), yRange=(low, high), padding=0.0, disableAutoRange=True)

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
