"""Draw the two live plots. Imported after the first paint: pyqtgraph takes a while."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from math import ceil, inf, log10

import numpy as np
import pyqtgraph
from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFontMetrics, QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QScrollBar, QSizePolicy, QToolTip, QWidget

from app.system.translation import number
from app.views.widgets.theme import Theme

HEIGHT = 150
_GRID_ALPHA = 130
_ROOM = 0.07
_STEPS = 100
"""Steps of the scroll bar in one unit of x."""
_EMPTY = 10.0
"""The range of the axes before there is anything to draw."""
_NOTCH = 0.15
"""Share of the window by which one notch of the wheel scrolls."""

Points = tuple[Sequence[float], Sequence[float]]


class NumberAxis(pyqtgraph.AxisItem):  # type: ignore[misc]
    """Draw an axis whose numbers are in the locale's format."""

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:  # noqa: N802 - pyqtgraph's
        """Return the numbers at the ticks, with as many digits as tell them apart."""
        digits = max(0, ceil(-log10(spacing * scale)))
        return [number(value * scale, digits) for value in values]


def make_axes() -> dict[str, NumberAxis]:
    """Return the axes of a plot of ours."""
    return {side: NumberAxis(side) for side in ("left", "bottom")}


class StillPlot(pyqtgraph.PlotWidget):  # type: ignore[misc]
    """A plot that answers the mouse in no way of its own: no menus, no buttons, no dragging."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, axisItems=make_axes(), enableMenu=False)
        plot = self.getPlotItem()
        # pyqtgraph makes its menu all the same; without a parent it outlives the plot, and follows each theme.
        plot.ctrlMenu.setParent(self, plot.ctrlMenu.windowFlags())
        plot.setMouseEnabled(False, False)
        plot.hideButtons()
        plot.disableAutoRange()


def axis_width(metrics: QFontMetrics) -> int:
    """Return the room for numbers of five digits, and for the label beside them."""
    return metrics.horizontalAdvance("00000") + metrics.height() + 6


def dress_axes(plot: pyqtgraph.PlotItem, theme: Theme, labels: Mapping[str, str]) -> None:
    """Set the axes' labels (by side), the theme's colours, and letters of its size."""
    # Time goes from left to right in every language, and pyqtgraph's axes know no other way.
    plot.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
    font = QApplication.font()
    for side, label in labels.items():
        axis = plot.getAxis(side)
        axis.setPen(pyqtgraph.mkPen(theme.color("border"), width=1))
        axis.setTextPen(theme.color("muted"))
        axis.setStyle(tickLength=0, maxTickLevel=0, autoReduceTextSpace=False, tickFont=font)
        axis.label.setFont(font)
        axis.enableAutoSIPrefix(False)
        # No ranges: else the second time a label is set its axis counts in thousandths.
        plot.setLabel(side, label, siPrefixEnableRanges=(), color=theme.tokens.muted)
    plot.getAxis("left").setWidth(axis_width(QFontMetrics(font)))


class _Bar(QScrollBar):
    """Scroll a plot, with the keys too; time goes from left to right in every language."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Scroll back on Left and on with Right: Qt's bars are not made for keys, and go on."""
        steps = {Qt.Key.Key_Left: -self.singleStep(), Qt.Key.Key_Right: self.singleStep()}
        step = steps.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.setValue(self.value() + step)


class LivePlot(StillPlot):
    """Draw a line, perhaps dots behind it and a dashed line across.

    It shows the last `window` units of x, and follows the end until somebody scrolls: with the wheel, by dragging, or
    with the scroll bar. Attribute: bar, that scroll bar, to be put below the plot.
    """

    def __init__(
        self,
        theme: Theme,
        name: str,
        x_label: str,
        y_label: str,
        *,
        top: float | None = None,
        least: float = 1.0,
        window: float = 100.0,
        unit: str = "",
        digits: int = 0,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._theme = theme
        self._top = top
        self._least = least
        self._window = window
        self._unit, self._digits = unit, digits
        self.setMouseTracking(True)
        self._labels = {"bottom": x_label, "left": y_label}
        self._data: tuple[Points, Points] = (([], []), ([], []))
        self._level: float | None = None
        self._step = inf
        self._dragged: tuple[float, int] | None = None
        self.bar = _Bar()
        self.bar.setAccessibleName(self.tr("Scroll {plot}").format(plot=name))
        self.bar.setSingleStep(round(_STEPS * window * _NOTCH))
        self.bar.setPageStep(round(_STEPS * window))
        self.bar.setRange(0, 0)
        self.bar.valueChanged.connect(self._show_window)
        self._build(top)
        theme.changed.connect(self._dress)
        self._dress()
        self.draw(([], []))

    def _build(self, top: float | None) -> None:
        plot = self.getPlotItem()
        plot.showGrid(x=False, y=True, alpha=_GRID_ALPHA / 255)
        plot.getViewBox().setDefaultPadding(0.02)
        plot.layout.setContentsMargins(0, 8, 12, 0)
        if top is not None:
            steps = [top * quarter / 4 for quarter in range(5)]
            plot.getAxis("left").setTicks([[(step, number(step)) for step in steps]])
        self._dots = pyqtgraph.ScatterPlotItem(size=4, pxMode=True)
        self._line = pyqtgraph.PlotCurveItem(antialias=True)
        self._dashes = pyqtgraph.PlotCurveItem()
        self._dashes_label = pyqtgraph.TextItem(anchor=(1.0, 1.0))
        self._dashes_label.setZValue(1.0)
        for item in (self._dots, self._dashes, self._line):
            plot.addItem(item)
        plot.addItem(self._dashes_label, ignoreBounds=True)

    # Drawing ----------------------------------------------------------------------------------------------------------

    def draw(
        self,
        line: Points,
        dots: Points = ((), ()),
        level: float | None = None,
        level_name: str = "",
        *,
        step: float = inf,
    ) -> None:
        """Show these points; both are (x values, y values). `level`: where the dashed line is, None for none.

        The line is broken between points that are more than `step` apart: nothing is known of what lies between.
        """
        self._data, self._level, self._step = (line, dots), level, step
        self._dashes_label.setText(level_name, color=self._theme.color("muted"))
        most = round(_STEPS * max(self._extent - self._window, 0.0))
        if most != self.bar.maximum():
            following = self.bar.value() >= self.bar.maximum()
            self.bar.blockSignals(True)
            self.bar.setMaximum(most)
            if following:
                self.bar.setValue(most)
            self.bar.blockSignals(False)
        self._show_window()

    def show_bar(self) -> None:
        """Show the scroll bar if there is something to scroll to."""
        self.bar.setVisible(self.bar.maximum() > 0)

    @property
    def _extent(self) -> float:
        (xs, _), (more, _) = self._data
        return max([*xs[-1:], *more[-1:], self._least if xs or more else _EMPTY])

    @property
    def shown_range(self) -> tuple[float, float]:
        """Return the first and the last x that is shown."""
        left = self.bar.value() / _STEPS
        return left, left + min(self._window, self._extent)

    def _show_window(self) -> None:
        (xs, ys), dots = self._data
        left, right = self.shown_range
        places, values = _between((xs, ys), left, right)
        joined = np.append(np.diff(places) <= self._step, True) if places else None
        self._line.setData(places, values, connect="all" if joined is None else joined)
        self._dots.setData(*_between(dots, left, right))
        shown = self._level is not None
        self._dashes.setData([left, right] if shown else [], [self._level] * 2 if shown else [])
        self._dashes_label.setVisible(shown)
        highest = max([*ys, 1.15 * (self._level or 0.0), 1.0 if ys else _EMPTY])
        top = self._top if self._top is not None else _round_up(highest)
        self._place_label(left, right, top)
        margin = 0.02 * (right - left)
        # Room above and below, or the labels of the lowest and the highest line are left out.
        self.getPlotItem().getViewBox().setRange(
            xRange=(left - margin, right + margin),
            yRange=(-_ROOM * top, (1.0 + _ROOM) * top),
            padding=0.0,
            disableAutoRange=True,
        )

    def _place_label(self, left: float, right: float, top: float) -> None:
        """Place the label at the end of the dashed line, on the side where less of the other line is."""
        level = self._level or 0.0
        (xs, ys), _ = self._data
        recent = [y for x, y in zip(xs, ys, strict=True) if x >= (left + right) / 2] or list(ys[-1:])
        below = 2 * sum(y >= level for y in recent) > len(recent) and level > 0.15 * top
        self._dashes_label.setAnchor((1.0, 0.0 if below else 1.0))
        self._dashes_label.setPos(right, level)

    def _dress(self) -> None:
        theme = self._theme
        self.setBackground(theme.color("background"))
        dress_axes(self.getPlotItem(), theme, self._labels)
        height = round(HEIGHT * max(theme.scale, 1.0))
        self.setMinimumHeight(height)
        self.setMaximumHeight(2 * height)
        # These pens count the dots of the screen.
        dots = self.devicePixelRatioF()
        self._line.setPen(pyqtgraph.mkPen(theme.color("accent"), width=2 * dots))
        self._dashes.setPen(pyqtgraph.mkPen(theme.color("muted"), width=1.5 * dots, style=Qt.PenStyle.DashLine))
        self._dashes_label.setColor(theme.color("muted"))
        ground = theme.color("background")
        ground.setAlpha(200)  # The line may run behind it.
        self._dashes_label.fill = pyqtgraph.mkBrush(ground)
        self._dashes_label.setFont(QApplication.font())
        dot = theme.color("muted")
        dot.setAlpha(110)
        self._dots.setPen(None)
        self._dots.setBrush(dot)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the wanted size: Qt's is that of the scene, which follows the plot and lets it shrink."""
        return QSize(self.minimumWidth(), self.maximumHeight())

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Draw anew for another screen, which may have smaller dots."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._dress()

    # Scrolling --------------------------------------------------------------------------------------------------------

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Scroll, if there is something to scroll to; else the wheel is for the panel."""
        turned = event.angleDelta().x() or event.angleDelta().y()
        wanted = self.bar.value() - round(turned / 120 * self.bar.singleStep())
        if not turned or self.bar.value() == min(max(wanted, 0), self.bar.maximum()):
            event.ignore()
            return
        self.bar.setValue(wanted)
        event.accept()

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        if event.button() == Qt.MouseButton.LeftButton and self.bar.maximum():
            self._dragged = (event.position().x(), self.bar.value())
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Drag the visible range with the mouse, or show the nearest value."""
        if self._dragged is not None:
            began, value = self._dragged
            room = max(self.getPlotItem().getViewBox().width(), 1.0)
            self.bar.setValue(value - round((event.position().x() - began) / room * self.bar.pageStep()))
        elif self._data[0][0]:
            self._tell_nearest(event)
        event.accept()

    def _tell_nearest(self, event: QMouseEvent) -> None:
        """Show the value of the point that is nearest to the mouse."""
        (xs, ys), (dots, values) = self._data
        x = self.getPlotItem().getViewBox().mapSceneToView(event.position()).x()
        nearest = min(range(len(xs)), key=lambda place: abs(xs[place] - x))
        unit = {"%": " %", "": ""}.get(self._unit, f" {self._unit}")
        words = f"{self._labels['bottom']} {number(xs[nearest], self._digits)}: {number(ys[nearest], 1)}{unit}"
        own = bisect_left(dots, xs[nearest])
        if own < len(dots) and dots[own] == xs[nearest]:
            words += f" ({number(values[own])}{unit})"
        QToolTip.showText(event.globalPosition().toPoint(), words, self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        self._dragged = None
        self.unsetCursor()
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Reset the cursor, as nothing is dragged any more."""
        super().leaveEvent(event)
        if self._dragged is None:
            self.unsetCursor()


def _between(points: Points, left: float, right: float) -> tuple[list[float], list[float]]:
    """Return the points from the last one before `left` to the first one behind `right`."""
    xs, ys = points
    first, last = max(bisect_left(xs, left) - 1, 0), bisect_right(xs, right) + 1
    return list(xs[first:last]), list(ys[first:last])


def _round_up(value: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten, with a little room."""
    wanted = value * 1.1
    power = 1.0
    while power * 10 <= wanted:
        power *= 10
    return next(step * power for step in (1, 2, 3, 4, 5, 6, 8, 10) if step * power >= wanted)
