"""Show the counters of the Speculation panel."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.state.speculation.metrics import Metrics
from app.system.translation import number
from app.words.figures import UNKNOWN, duration, named

_TOLD_WITH = {"rounds": "rounds", "length": "rounds", "proposed": "acceptance", "accepted": "acceptance"}


class CounterGrid(QWidget):
    """Show the counts of a reply, beside those in the plots. Attribute: values, the labels by name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        names = {
            "rounds": (self.tr("Rounds"), self.tr("One round: propose, verify, accept, commit")),
            "proposed": (self.tr("Proposed"), self.tr("Draft tokens that the target verified")),
            "accepted": (self.tr("Accepted"), self.tr("Proposed tokens that were kept")),
            "length": (self.tr("Mean length"), self.tr("Tokens per round, including corrections and bonuses")),
            "own": (self.tr("From your own texts"), self.tr("Accepted tokens that stand in a chat of yours")),
            "first": (
                self.tr("Time to first token"),
                self.tr("Reading the prompt, and the first round. Known when the reply has ended."),
            ),
        }
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(0, 1)
        self.values: dict[str, QLabel] = {}
        self._rows: dict[str, tuple[QLabel, QLabel]] = {}
        for row, (key, (word, help_text)) in enumerate(names.items()):
            name, value = QLabel(word, self), QLabel(self)
            name.setObjectName("counterName")
            value.setObjectName("counterValue")
            value.setAlignment(Qt.AlignmentFlag.AlignRight)
            name.setToolTip(help_text)
            value.setToolTip(help_text)
            grid.addWidget(name, row, 0)
            grid.addWidget(value, row, 1)
            self.values[key] = value
            self._rows[key] = name, value
        self._names = {key: word for key, (word, _) in names.items()}

    def draw(self, metrics: Metrics) -> None:
        """Show these."""
        length, untold = metrics.mean_length, metrics.untold
        texts = {
            "rounds": number(metrics.rounds),
            "proposed": number(metrics.proposed),
            "accepted": number(metrics.accepted),
            "length": UNKNOWN if length is None else number(length, 2),
            "own": number(metrics.from_texts),
            "first": UNKNOWN if metrics.first_token_ms is None else duration(metrics.first_token_ms / 1000.0),
        }
        for key, row in self._rows.items():
            for label in row:
                label.setVisible(_TOLD_WITH.get(key) not in untold and (key != "own" or metrics.from_texts > 0))
        for key, text in texts.items():
            if self.values[key].text() != text:
                self.values[key].setText(text)
                self.values[key].setAccessibleName(named(self._names[key], text))
