"""Share the base of the notices above the prompt: words, buttons to answer them, and a close button."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from app.views.widgets.icons import icon_button
from app.views.widgets.theme import Theme


class NoticeRow(QFrame):
    """A line, hidden until there is something to say. Attribute: text (what it says)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.text = QLabel(self)
        self.text.setObjectName("noticeText")
        self.text.setWordWrap(True)

    def _lay_out(self, theme: Theme, answer: str, close: str) -> tuple[QPushButton, QToolButton]:
        """The button with the words `answer`, and the cross, whose help is `close`; nothing is connected yet."""
        button = QPushButton(answer, self)
        button.setObjectName("undoButton")
        cross = icon_button(theme, "x", close, self)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 4, 4)
        row.setSpacing(8)
        row.addWidget(self.text, 1)
        row.addWidget(button)
        row.addWidget(cross)
        self.hide()
        return button, cross

    def _say(self, words: str) -> None:
        """Put these words into it, for the eye and for a screen reader."""
        self.text.setText(words)
        self.setAccessibleName(words)
