"""Label: one whose height does not depend on its text, one that is elided in the middle if there is no room."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget


class FixedHeightLabel(QLabel):
    """Wrap the text, and keep room for the longest of `samples`: nothing moves when the text changes."""

    def __init__(self, samples: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._samples = tuple(samples)
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        """Return False: with True a scroll area leaves all around it the room that it would like, and scrolls."""
        return False

    def room_for(self, width: int) -> int:
        """Return the height (pixels) of the highest of the samples at this width."""
        place = QRect(0, 0, max(width, 1), 10_000)
        metrics = self.fontMetrics()
        return max(metrics.boundingRect(place, Qt.TextFlag.TextWordWrap, text).height() for text in self._samples)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return a size as wide as the longest word."""
        words = " ".join(self._samples).split()
        width = max(self.fontMetrics().horizontalAdvance(word) for word in words)
        return QSize(width, self.minimumHeight())

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the longest sample in one line."""
        width = max(self.fontMetrics().horizontalAdvance(text) for text in self._samples)
        return QSize(width + 1, self.minimumHeight())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Keep room for the lines of a narrower label."""
        super().resizeEvent(event)
        self._keep_room()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Keep room for a larger font."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._keep_room()

    def _keep_room(self) -> None:
        height = self.room_for(self.width())
        if (self.minimumHeight(), self.maximumHeight()) != (height, height):
            self.setFixedHeight(height)


class ElidedLabel(QLabel):
    """Show a path, elided in the middle. All of it is the tooltip and the accessible text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._whole = ""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_text(self, text: str) -> None:
        """Show this; nothing takes no room."""
        self._whole = text
        self.setToolTip(text)
        self.setAccessibleName(text)
        self.setVisible(bool(text))
        self._cut()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        return QSize(0, self.fontMetrics().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._cut()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._cut()

    def _cut(self) -> None:
        self.setText(ltr(self.fontMetrics().elidedText(self._whole, Qt.TextElideMode.ElideMiddle, self.width())))


def ltr(text: str) -> str:
    """Return a path or a figure with its unit, which are written from the left in every language."""
    mirrored = QGuiApplication.layoutDirection() == Qt.LayoutDirection.RightToLeft
    return f"\u2066{text}\u2069" if mirrored and text else text
