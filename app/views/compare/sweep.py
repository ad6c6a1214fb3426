"""Show the lookahead sweep: tokens/s against K, drawn during the measurement."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from app.state.compare.compare import (
    AUTO,
    PLAIN,
    SWEEP_MOST,
    ComparedModels,
    CompareSettings,
    best_lookahead,
    figures,
    rivals,
    sweep_points,
)
from app.state.compare.text import sweep_text
from app.views.compare.dialog import RunDialog
from app.views.compare.sweep_plot import SweepPlot
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
        """Return the state of its run."""
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
        """Return the result as text for a forum."""
        report, request = self.run.report, self.run.request
        return "" if report is None or request is None else sweep_text(report, request.prompt)


def _speed(way: WayFigures | None) -> float | None:
    return None if way is None or way.tokens_per_second is None else way.tokens_per_second.median
