"""Compare: the same prompt plain and speculative, in turns, with both speeds, the speedup, and the outputs."""

from __future__ import annotations

from PySide6.QtCore import QSize
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
from app.views.compare.speed_bars import SpeedPair
from app.views.widgets.boxes import in_row, wide
from app.views.widgets.theme import Theme
from app.words.compare import (
    doubts_words,
    outcome_words,
    rounds_words,
    speedup_words,
    verdict_help,
    verdict_words,
    way_words,
)

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
        row = in_row(self.speedup, wide(self.outcome), spacing=12)
        self.place.addWidget(self.race)
        self.place.addSpacing(8)
        self.place.addWidget(self.speeds)
        self.place.addSpacing(8)
        self.place.addLayout(row)
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
        """Return the state of its run."""
        return self.tr(
            "Answers the prompt with plain and with speculative decoding, alternating. Messages that "
            "you send meanwhile wait."
        )

    def show_figures(self) -> None:
        """Show both speeds, the speedup, the outputs."""
        report = self.run.report
        other = speculative(report)
        name = self._chosen if other is None else other.name
        shown = figures(report, name)
        self.show_race()
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
        """Show the race so far."""
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
