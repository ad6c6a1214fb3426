"""A line of text that is cut in the middle where there is no room for all of it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget


class CutLabel(QLabel):
    """For paths, whose beginning and end tell most. All of it is the tooltip and what is read out."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_text(self, text: str) -> None:
        """Show this; nothing takes no room."""
        self._whole = text
        self.setToolTip(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))
        self._cut()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line."""
        return QSize(0, self.fontMetrics().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Another width has room for more, or for less."""
        super().resizeEvent(event)
        self._cut()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """So do other letters."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._cut()

    def _cut(self) -> None:
        self.setText(ltr(self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideMiddle, self.width())))


def ltr(text: str) -> str:
    """A path or a figure with its unit, which are written from the left in every language."""
    mirrored = QGuiApplication.layoutDirection() == Qt.LayoutDirection.RightToLeft
    return f"\u2066{text}\u2069" if mirrored and text else text
