"""Show a tool call of a reply, or what a tool gave back: a line that unfolds. Nothing is ever called."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.views.widgets.icons import icon_button, keep_icon
from app.views.widgets.theme import Theme, fixed_font
from engine import ToolCall, ToolResult

SHOWN = 20_000
"""Characters of arguments or of a result that are shown; all of them are kept and copied."""


class ToolCallView(QWidget):
    """Show a call, its arguments as JSON, or a result; folded at first."""

    def __init__(self, part: ToolCall | ToolResult, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._theme = theme
        self.text = part.text if isinstance(part, ToolResult) else _pretty(part)
        called = isinstance(part, ToolCall)
        words = self.tr("Tool call: {name}") if called else self.tr("Tool result: {name}")
        self.header = QToolButton(self)
        self.header.setObjectName("thoughtHeader")
        self.header.setCheckable(True)
        self.header.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.header.setText(words.format(name=part.name).replace("&", "&&"))
        self.header.setAccessibleName(words.format(name=part.name))
        if called:
            self.header.setToolTip(self.tr("The model asks for this call. Outrider runs nothing."))
        self.header.clicked.connect(self._show_state)
        self.copy = icon_button(theme, "copy", self.tr("Copy"), self)
        self.copy.setAccessibleDescription(self.header.accessibleName())
        self.copy.clicked.connect(self._copy)
        self.body = QLabel(self)
        self.body.setTextFormat(Qt.TextFormat.PlainText)
        self.body.setWordWrap(True)
        self.body.setFont(fixed_font())
        self.body.setAccessibleName(self.header.accessibleName())
        flags = Qt.TextInteractionFlag
        self.body.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.body.setText(self.text if len(self.text) <= SHOWN else f"{self.text[:SHOWN]}…")
        self._lay_out()
        self._show_state()

    def _lay_out(self) -> None:
        line = QHBoxLayout()
        line.setSpacing(4)
        line.addWidget(self.header)
        line.addWidget(self.copy)
        line.addStretch(1)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(4)
        rows.addLayout(line)
        indented = QHBoxLayout()
        indented.setContentsMargins(20, 0, 0, 4)
        indented.addWidget(self.body)
        rows.addLayout(indented)

    @property
    def folded(self) -> bool:
        """Return whether only its header is visible."""
        return not self.header.isChecked()

    def _show_state(self) -> None:
        right = self.layoutDirection() == Qt.LayoutDirection.RightToLeft
        aside = "caret-left" if right else "caret-right"
        keep_icon(self.header, self._theme, aside if self.folded else "caret-down", "muted")
        self.header.setAccessibleDescription(self.tr("collapsed") if self.folded else self.tr("expanded"))
        self.body.setVisible(not self.folded)
        self.copy.setVisible(not self.folded)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text)


def _pretty(call: ToolCall) -> str:
    return json.dumps(call.arguments, ensure_ascii=False, indent=2)
