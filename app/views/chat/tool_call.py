"""Show a tool call of a reply, or its result: a line that unfolds. All of it is plain text."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from app.views.markdown.auto_height_text import AutoHeightText, take_height
from app.views.widgets.icons import icon_button, keep_icon
from app.views.widgets.theme import Theme, fixed_font
from engine import ToolCall, ToolResult

SHOWN = 20_000
"""Characters of arguments or of a result that are shown; all of them are kept and copied."""
_INDENT, _GAP = 20, 4
_LONGEST_NAME = 200


class ToolCallView(QWidget):
    """Show a call, its arguments as JSON, or a result; folded at first. Attributes: part; text, the copied text."""

    def __init__(self, part: ToolCall | ToolResult, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self.part = part
        called = isinstance(part, ToolCall)
        words = self.tr("Tool call: {name}") if called else self.tr("Tool result: {name}")
        self._words = words.format(name=" ".join(part.name[:_LONGEST_NAME].split()))
        self.text = _pretty(part) if isinstance(part, ToolCall) else part.text
        self.header = QToolButton(self)
        self.header.setObjectName("thoughtHeader")
        self.header.setCheckable(True)
        self.header.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.header.setAccessibleName(self._words)
        self.header.clicked.connect(self._show_state)
        self.copy = icon_button(theme, "copy", self.tr("Copy"), self)
        self.copy.setAccessibleDescription(self._words)
        self.copy.clicked.connect(self._copy)
        self.body: AutoHeightText | None = None
        self._show_state()

    @property
    def folded(self) -> bool:
        """Return True if only its header is visible."""
        return not self.header.isChecked()

    def fit(self) -> None:
        side = self.copy.sizeHint()
        self.header.setText(self._words.replace("&", "&&"))
        wanted, room = self.header.sizeHint(), self.width() - side.width() - _GAP
        if wanted.width() > room:
            metrics = QFontMetrics(self.header.font())
            left = max(metrics.horizontalAdvance(self._words) - (wanted.width() - room) - 8, 40)
            elided = metrics.elidedText(self._words, Qt.TextElideMode.ElideRight, left)
            self.header.setText(elided.replace("&", "&&"))
            wanted = self.header.sizeHint()
        height = max(wanted.height(), side.height())
        self.header.setGeometry(0, (height - wanted.height()) // 2, wanted.width(), wanted.height())
        self.copy.setGeometry(wanted.width() + _GAP, (height - side.height()) // 2, side.width(), side.height())
        if self.body is not None and not self.folded:
            self.body.setFont(fixed_font())
            self.body.move(_INDENT, height + _GAP)
            self.body.resize(max(self.width() - _INDENT, 40), self.body.height())
            self.body.fit()
            height += self.body.height() + 2 * _GAP
        take_height(self, height)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.fit()

    def _show_state(self) -> None:
        if self.body is None and not self.folded:
            self.body = self._make_body()
        right = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        aside = "caret-left" if right else "caret-right"
        keep_icon(self.header, self._theme, aside if self.folded else "caret-down", "muted")
        self.header.setAccessibleDescription(self.tr("collapsed") if self.folded else self.tr("expanded"))
        if self.body is not None:
            self.body.setVisible(not self.folded)
        self.copy.setVisible(not self.folded)
        self.fit()

    def _make_body(self) -> AutoHeightText:
        body = AutoHeightText(self)
        body.setObjectName("questionText")
        body.setAccessibleName(self._words)
        body.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        body.setFont(fixed_font())
        body.setPlainText(self.text if len(self.text) <= SHOWN else f"{self.text[:SHOWN]}…")
        return body

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text)


def _pretty(call: ToolCall) -> str:
    return json.dumps(call.arguments, ensure_ascii=False, indent=2)
