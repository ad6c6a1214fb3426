"""Mark where the part of a chat ends that is not sent to the model."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QWidget


class DroppedLine(QWidget):
    """A thin line with words in it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        words = QLabel(self.tr("The model no longer reads the messages above"), self)
        words.setObjectName("caption")
        words.setToolTip(self.tr("They do not fit in the context. The system prompt and your message are always sent."))
        self.setAccessibleName(words.text())
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 8, 0, 4)
        row.setSpacing(12)
        row.addWidget(self._rule(), 1)
        row.addWidget(words, 0, Qt.AlignmentFlag.AlignCenter)
        row.addWidget(self._rule(), 1)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def _rule(self) -> QFrame:
        rule = QFrame(self)
        rule.setObjectName("rule")
        rule.setFixedHeight(1)
        return rule
