"""Show the empty chat: a greeting and prompts to start from."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSizePolicy, QWidget

from app.system.resources import StarterPrompt
from app.views.chat.transcript import COLUMN
from app.views.widgets.boxes import in_column
from app.views.widgets.scroll_page import ColumnPage

_MARGIN = 24


class StarterCard(QPushButton):
    """Show a prompt to start from: its title, and as much of it as fits in a line."""

    def __init__(self, starter: StarterPrompt, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.starter = starter
        self.setObjectName("card")
        words = QCoreApplication.translate("Starters", starter.title)
        self.prompt = QCoreApplication.translate("Starters", starter.prompt)
        self.setAccessibleName(f"{words}: {self.prompt}")
        self.setToolTip(self.prompt)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        title = QLabel(words, self)
        title.setObjectName("cardTitle")
        self._text = QLabel(self)
        self._text.setObjectName("cardText")
        for label in (title, self._text):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._rows = in_column(title, self._text, spacing=4, margins=(12, 8, 12, 8), parent=self)

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(240, self._rows.sizeHint().height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return a small width: the prompt is cut then."""
        return QSize(120, self._rows.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Cut the prompt to the width."""
        super().resizeEvent(event)
        metrics = QFontMetrics(self._text.font())
        self._text.setText(metrics.elidedText(self.prompt, Qt.TextElideMode.ElideRight, self.width() - 28))


class WelcomeView(ColumnPage):
    """Show the empty chat. Signal: chosen(prompt)."""

    chosen = Signal(str)

    def __init__(self, starters: Sequence[StarterPrompt], parent: QWidget | None = None) -> None:
        super().__init__(COLUMN, (_MARGIN, _MARGIN), parent)
        self._fill(starters)

    def _fill(self, starters: Sequence[StarterPrompt]) -> None:
        text = self.tr(
            "A small draft model rides ahead, and the target confirms. Watch it happen in the Speculation panel."
        )
        layout = in_column(
            ...,
            self._label(self.tr("What would you like to talk about?"), "welcome", centre=True),
            self._label(text, "hint", centre=True),
            margins=(0, 0, 0, 0),
            spacing=8,
            parent=self.column,
        )
        layout.addSpacing(16)
        self._grid = QGridLayout()
        self._grid.setSpacing(8)
        self.cards: list[StarterCard] = []
        layout.addLayout(self._grid)
        layout.addStretch(2)
        self.show_starters(starters)

    def show_starters(self, starters: Sequence[StarterPrompt]) -> None:
        if [card.starter for card in self.cards] == list(starters):
            return
        enabled = all(card.isEnabled() for card in self.cards)
        for card in self.cards:
            self._grid.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = []
        for index, starter in enumerate(starters):
            card = StarterCard(starter, self.column)
            card.clicked.connect(lambda _checked=False, prompt=card.prompt: self.chosen.emit(prompt))
            card.setEnabled(enabled)
            self._grid.addWidget(card, index // 2, index % 2)
            self.cards.append(card)

    def set_enabled(self, enabled: bool) -> None:
        for card in self.cards:
            card.setEnabled(enabled)
