"""Show text at its full height, and load nothing."""

from __future__ import annotations

import math

from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtGui import QCursor, QFocusEvent, QPainter, QPaintEvent, QPalette, QResizeEvent, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextBrowser, QWidget

from app.state.markdown.parser import is_safe_link
from app.views.markdown.link_question import LinkQuestion

TALLEST = 16_000_000
"""Pixels. Qt has no taller widgets; lower text is invisible."""


def take_height(widget: QWidget, height: int) -> None:
    """Fix the height of a widget, unless it has it already."""
    height = min(height, TALLEST)
    if height != widget.height() or widget.minimumHeight() != height:
        widget.setFixedHeight(height)


class AutoHeightText(QTextBrowser):
    """Show read-only text without scroll bars, as tall as its contents. Loads nothing; asks before it opens a link."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tabbed = False
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setUndoRedoEnabled(False)
        self.setOpenLinks(False)
        self.anchorClicked.connect(self._ask_about)
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        self.setTabChangesFocus(True)

    def loadResource(self, kind: int, name: QUrl | str) -> object:  # noqa: N802 - Qt's name
        """Load nothing: no picture, no style sheet, no page, from nowhere."""
        return None

    def fit(self) -> None:
        take_height(self, max(math.ceil(self.document().size().height()), self.fontMetrics().height()))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.fit()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Ignore the wheel: it scrolls the transcript."""
        event.ignore()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self.fit()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Paint a focus frame around the text after Tab, but not after a click."""
        super().paintEvent(event)
        if self._tabbed and self.hasFocus():
            painter = QPainter(self.viewport())
            painter.setPen(self.palette().color(QPalette.ColorRole.Accent))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))
            painter.end()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Draw all of it, since the line is around all of it."""
        super().focusInEvent(event)
        self._tabbed = event.reason() in (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Remove the line."""
        super().focusOutEvent(event)
        self.viewport().update()

    def _ask_about(self, url: QUrl) -> None:
        address = bytes(url.toEncoded().data()).decode("ascii", "replace")
        if is_safe_link(address):
            LinkQuestion(address, self).ask_at(QCursor.pos())
