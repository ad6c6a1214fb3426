"""Show a bar above a piece of code: its language, and a button that copies it."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QTextEdit, QToolButton, QWidget

from app.state.markdown.code_colors import language_name
from app.views.markdown.code_writer import CODE_MARGIN, CodeBox, code_header_height
from app.views.widgets.icons import keep_icon
from app.views.widgets.theme import Theme

MOST = 200
"""Bars of one text. A text with more pieces of code than this was not written to be copied from."""
_COPIED_MS = 1_500


class CodeBar(QWidget):
    """Show the bar of one piece of code."""

    def __init__(self, box: CodeBox, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("codeBar")
        # As the code is, whatever the direction of the window.
        self.setLayoutDirection(Qt.LayoutDirection.LeftToRight)
        self.box = box
        self._theme = theme
        language = language_name(box.language)
        label = QLabel(self)
        label.setObjectName("codeLanguage")
        label.setText(language)
        self.copy_button = QToolButton(self)
        self.copy_button.setObjectName("codeCopy")
        self.copy_button.setAutoRaise(True)
        words = self.tr("Copy the code")
        self.copy_button.setToolTip(words)
        self.copy_button.setAccessibleName(f"{words} ({language})" if language else words)
        keep_icon(self.copy_button, theme, "copy", "muted")
        self.copy_button.clicked.connect(self._copy)
        row = QHBoxLayout(self)
        row.setContentsMargins(int(CODE_MARGIN), 0, 2, 0)
        row.setSpacing(8)
        row.addWidget(label)
        row.addStretch(1)
        row.addWidget(self.copy_button)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.box.code)
        keep_icon(self.copy_button, self._theme, "check", "accent")
        QTimer.singleShot(_COPIED_MS, self.copy_button, self._show_copy_icon)

    def _show_copy_icon(self) -> None:
        keep_icon(self.copy_button, self._theme, "copy", "muted")


class CodeBars:
    """Keep the bars of a text over their code."""

    def __init__(self, text: QTextEdit, theme: Theme) -> None:
        self._text = text
        self._theme = theme
        self.bars: list[CodeBar] = []
        self._placed = (0, 0)

    def lack(self, boxes: list[CodeBox]) -> bool:
        """Return whether there is code without a bar."""
        return len(self.bars) < min(len(boxes), MOST)

    def add(self, boxes: list[CodeBox]) -> None:
        """Make the next bar."""
        self.bars.append(CodeBar(boxes[len(self.bars)], self._theme, self._text.viewport()))

    def place(self) -> None:
        """Put each bar over its code: the new ones, or all of them when the width has changed."""
        # Qt lays nothing out before the text is on the screen.
        now = (len(self.bars), round(self._text.document().textWidth()))
        if now == self._placed or now[1] <= 0:
            return
        first = self._placed[0] if now[1] == self._placed[1] else 0
        layout = self._text.document().documentLayout()
        height = code_header_height(self._text.document().defaultFont())
        for bar in self.bars[first:]:
            place = layout.blockBoundingRect(bar.box.frame.firstCursorPosition().block())
            left = round(place.left() - CODE_MARGIN)
            bar.setGeometry(left, round(place.top()) - height, self._text.width() - left, height)
            bar.show()
        self._placed = now

    def clear(self) -> None:
        """Clear the bars: the text begins anew."""
        for bar in self.bars:
            bar.hide()
            bar.deleteLater()
        self.bars = []
        self._placed = (0, 0)
