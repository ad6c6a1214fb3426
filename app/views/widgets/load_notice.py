"""A line above the prompt: this model would not fit into memory; load it anyway?"""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.views.widgets.notice_row import NoticeRow
from app.views.widgets.theme import Theme


class LoadNotice(NoticeRow):
    """Announces a load that would not fit. Signals: accepted() (go on all the same), declined()."""

    accepted = Signal()
    declined = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.go_on, self.close_button = self._lay_out(theme, self.tr("Load anyway"), self.tr("Do not load"))
        self.go_on.clicked.connect(self._accept)
        self.close_button.clicked.connect(self._decline)

    def announce(self, words: str) -> None:
        """Say it, until it is decided; without words there is nothing to decide any more."""
        self._say(words)
        self.setVisible(bool(words))

    def _accept(self) -> None:
        self.hide()
        self.accepted.emit()

    def _decline(self) -> None:
        self.hide()
        self.declined.emit()
