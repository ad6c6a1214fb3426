"""A line above the prompt for what concerns the whole program: conversations that cannot be saved, and can again."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QWidget

from app.views.widgets.notice_row import NoticeRow
from app.views.widgets.theme import Theme

GOOD_NEWS_MS = 8_000
OFFER_MS = 12_000


class NoticeBar(NoticeRow):
    """Stands until it is closed; good news and offers go by themselves. Signal: accepted() (an offer)."""

    accepted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.offer, self.button = self._lay_out(theme, self.tr("Undo"), self.tr("Close"))
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.hide)
        self.button.clicked.connect(self._close)
        self.offer.clicked.connect(self._accept)

    def show_trouble(self, text: str) -> None:
        """Say what is wrong, until somebody closes it or it is over."""
        self._show(text, good=False)

    def show_good_news(self, text: str) -> None:
        """Say for a while what is right again."""
        self._show(text, good=True)
        self._timer.start(GOOD_NEWS_MS)

    def show_offer(self, text: str, words: str) -> None:
        """Offer something for a while. What is wrong is more important, and stays."""
        if self.isHidden() or self._timer.isActive():
            self._show(text, good=True, words=words)
            self._timer.start(OFFER_MS)

    def _show(self, text: str, *, good: bool, words: str = "") -> None:
        self._timer.stop()
        if words:
            self.offer.setText(words)
        self.offer.setVisible(bool(words))
        self._say(text)
        self.setProperty("good", good)
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()

    def _close(self) -> None:
        self._timer.stop()
        self.hide()

    def _accept(self) -> None:
        self._close()
        self.accepted.emit()
