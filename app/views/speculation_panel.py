"""The Speculation panel: two live plots with their figures, and the counters."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.state.lookahead import LookaheadNote
from app.state.metrics import Metrics
from app.views.steady_label import SteadyLabel
from app.views.theme import Theme
from app.views.words import UNKNOWN, accepted, lookahead_source, lookahead_words, percent, speed

if TYPE_CHECKING:
    from app.views.plots import LivePlot

REDRAW_MS = 120
_NOTES = (
    LookaheadNote("ready"),
    LookaheadNote("drafting", 32, 10.0),
    LookaheadNote("trying", 32),
    LookaheadNote("plain"),
    LookaheadNote("plain", has_draft=False),
    LookaheadNote("fixed", 32),
    LookaheadNote("off"),
    LookaheadNote("off", has_draft=False),
)
"""What may be said of the lookahead: there is always room for the longest."""


class SpeculationPanel(QScrollArea):
    """Shows the figures of the reply that is being written, or of the last one. Draws nothing while hidden."""

    def __init__(self, metrics: Metrics, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("right")
        self.setAccessibleName(self.tr("Speculation"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._metrics = metrics
        self._theme = theme
        self._drawn = -1
        self._drawn_at = 0.0
        self._plots: tuple[LivePlot, LivePlot] | None = None
        self._build()
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.timeout.connect(self.refresh)
        self.refresh()

    def _build(self) -> None:
        page = QWidget()
        page.setObjectName("page")
        layout = QVBoxLayout(page)
        layout.setContentsMargins(16, 16, 16, 16)
        layout.setSpacing(4)
        title = QLabel(self.tr("Speculation"), page)
        title.setObjectName("panelTitle")
        layout.addWidget(title)
        layout.addSpacing(8)
        self._make_lookahead(layout)
        layout.addSpacing(12)
        self.rate_figure, self._rate_place = self._plot_place(layout, self.tr("Acceptance rate"))
        layout.addSpacing(12)
        self.speed_figure, self._speed_place = self._plot_place(layout, self.tr("Tokens per second"))
        layout.addSpacing(12)
        layout.addLayout(self._make_counters(page))
        layout.addStretch(1)
        self.setWidget(page)

    def _make_lookahead(self, layout: QVBoxLayout) -> None:
        """What the lookahead does and why, and where the proposals come from."""
        self.lookahead = SteadyLabel([lookahead_words(note) for note in _NOTES])
        self.lookahead.setObjectName("lookahead")
        self.lookahead.setAccessibleName(self.tr("Lookahead"))
        self.lookahead_source = QLabel()
        self.lookahead_source.setObjectName("caption")
        help_text = self.tr(
            "The lookahead K is the number of tokens proposed per round; auto chooses it in each round for the most "
            "tokens per second, by what rounds cost on this machine and how many proposals are accepted."
        )
        for label in (self.lookahead, self.lookahead_source):
            label.setToolTip(help_text)
            layout.addWidget(label)

    def _plot_place(self, layout: QVBoxLayout, title: str) -> tuple[QLabel, QVBoxLayout]:
        figure = QLabel()
        figure.setObjectName("figure")
        figure.setAccessibleName(title)
        caption = QLabel(title)
        caption.setObjectName("caption")
        place = QVBoxLayout()
        place.setContentsMargins(0, 0, 0, 0)
        holder = QWidget()
        holder.setMinimumHeight(150)
        holder.setLayout(place)
        layout.addWidget(figure)
        layout.addWidget(caption)
        layout.addWidget(holder, 1)
        return figure, place

    def _make_counters(self, page: QWidget) -> QGridLayout:
        names = {
            "rounds": (self.tr("Rounds"), self.tr("One round: propose, verify, accept, commit")),
            "proposed": (self.tr("Proposed"), self.tr("Draft tokens that the target verified")),
            "accepted": (self.tr("Accepted"), self.tr("Proposed tokens that were kept")),
            "rate": (self.tr("Acceptance rate"), self.tr("Accepted / proposed")),
            "length": (self.tr("Mean length"), self.tr("Tokens per round, corrections and bonuses included")),
            "speed": (self.tr("Tokens/s"), self.tr("Of the last second while a reply is written, then of all of it")),
        }
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(0, 1)
        self.counters: dict[str, QLabel] = {}
        for row, (key, (word, help_text)) in enumerate(names.items()):
            name = QLabel(word, page)
            name.setObjectName("counterName")
            value = QLabel(page)
            value.setObjectName("counterValue")
            value.setAlignment(Qt.AlignmentFlag.AlignRight)
            value.setAccessibleName(word)
            name.setToolTip(help_text)
            value.setToolTip(help_text)
            grid.addWidget(name, row, 0)
            grid.addWidget(value, row, 1)
            self.counters[key] = value
        return grid

    def build_plots(self) -> None:
        """Make the plots. Called once the window is on screen."""
        if self._plots is not None:
            return
        from app.views.plots import LivePlot  # noqa: PLC0415 - after the first paint, see there

        rate = LivePlot(
            self._theme,
            self.tr("Acceptance rate per round"),
            self.tr("round"),
            self.tr("accepted, %"),
            top=100.0,
            least=10.0,
        )
        pace = LivePlot(
            self._theme, self.tr("Tokens per second over time"), self.tr("seconds"), self.tr("tok/s"), least=0.05
        )
        self._rate_place.addWidget(rate)
        self._speed_place.addWidget(pace)
        self._plots = (rate, pace)
        self._drawn = -1
        self.refresh()

    @property
    def plots(self) -> tuple[LivePlot, LivePlot] | None:
        """The two plots, once they are made."""
        return self._plots

    def refresh(self) -> None:
        """Draw what has changed, if it can be seen, and not too often."""
        metrics = self._metrics
        if metrics.version == self._drawn or (self._drawn >= 0 and not self.isVisible()):
            return
        wait = REDRAW_MS - 1000.0 * (perf_counter() - self._drawn_at)
        if wait > 0 and self._drawn >= 0:
            if not self._again.isActive():
                self._again.start(int(wait) + 1)
            return
        self._drawn, self._drawn_at = metrics.version, perf_counter()
        self._write_figures()
        if self._plots is not None:
            rate, pace = self._plots
            rate.draw(metrics.rates.smoothed(), metrics.rates.per_round())
            pace.draw(metrics.speeds.points())

    def _write_figures(self) -> None:
        metrics = self._metrics
        length = metrics.mean_length
        texts = {
            "rounds": f"{metrics.rounds:,}",
            "proposed": f"{metrics.proposed:,}",
            "accepted": f"{metrics.accepted:,}",
            "rate": percent(metrics.acceptance_rate),
            "length": UNKNOWN if length is None else f"{length:.2f}",
            "speed": speed(metrics.tokens_per_second),
        }
        for key, text in texts.items():
            if self.counters[key].text() != text:
                self.counters[key].setText(text)
        self.lookahead.setText(lookahead_words(metrics.lookahead))
        self.lookahead_source.setText(lookahead_source(metrics.lookahead))
        self.rate_figure.setText(accepted(metrics.acceptance_rate))
        self.speed_figure.setText(speed(metrics.tokens_per_second))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """What changed while it was hidden is drawn now."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self.refresh)
