"""Show the counters of the Speculation panel."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.state.speculation.metrics import Metrics
from app.system.translation import number
from app.words.figures import UNKNOWN, named, percent, speed


class CounterGrid(QWidget):
    """Show the rounds, tokens and rates of a reply. Attribute: values, the labels by name."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        names = {
            "rounds": (self.tr("Rounds"), self.tr("One round: propose, verify, accept, commit")),
            "proposed": (self.tr("Proposed"), self.tr("Draft tokens that the target verified")),
            "accepted": (self.tr("Accepted"), self.tr("Proposed tokens that were kept")),
            "rate": (self.tr("Acceptance rate"), self.tr("Accepted / proposed")),
            "length": (self.tr("Mean length"), self.tr("Tokens per round, including corrections and bonuses")),
            "speed": (
                self.tr("Tokens/s"),
                self.tr("Over the last second while a reply is generated, then over the whole reply"),
            ),
        }
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(0, 1)
        self.values: dict[str, QLabel] = {}
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
        self._names = {key: word for key, (word, _) in names.items()}

    def draw(self, metrics: Metrics) -> None:
        """Show these."""
        length = metrics.mean_length
        texts = {
            "rounds": number(metrics.rounds),
            "proposed": number(metrics.proposed),
            "accepted": number(metrics.accepted),
            "rate": percent(metrics.acceptance_rate),
            "length": UNKNOWN if length is None else number(length, 2),
            "speed": speed(metrics.tokens_per_second),
        }
        for key, text in texts.items():
            if self.values[key].text() != text:
                self.values[key].setText(text)
                self.values[key].setAccessibleName(named(self._names[key], text))
