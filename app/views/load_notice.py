"""A line above the prompt: this model would not fit into memory; load it anyway?"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QWidget

from app.views.icons import icon_button
from app.views.theme import Theme


class LoadNotice(QFrame):
    """Announces a load that would not fit. Signals: accepted() (go on all the same), declined()."""

    accepted = Signal()
    declined = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.text = QLabel(self)
        self.text.setObjectName("noticeText")
        self.text.setWordWrap(True)
        self.go_on = QPushButton(self.tr("Load anyway"), self)
        self.go_on.setObjectName("undoButton")
        self.close_button = icon_button(theme, "x", self.tr("Do not load it"), self)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 4, 4)
        row.setSpacing(8)
        row.addWidget(self.text, 1)
        row.addWidget(self.go_on)
        row.addWidget(self.close_button)
        self.go_on.clicked.connect(self._accept)
        self.close_button.clicked.connect(self._decline)
        self.hide()

    def announce(self, words: str) -> None:
        """Say it, until it is decided; without words there is nothing to decide any more."""
        self.text.setText(words)
        self.setAccessibleName(words)
        self.setVisible(bool(words))

    def _accept(self) -> None:
        self.hide()
        self.accepted.emit()

    def _decline(self) -> None:
        self.hide()
        self.declined.emit()
