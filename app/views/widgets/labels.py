"""A label whose height does not depend on the text that it shows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget


class SteadyLabel(QLabel):
    """Wraps its text, and always has room for the longest of `samples`: nothing moves when the text changes."""

    def __init__(self, samples: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._samples = tuple(samples)
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def hasHeightForWidth(self) -> bool:  # noqa: N802 - Qt's name
        """No: with it, a scroll area gives what stands around it no less than it would like to have, and scrolls."""
        return False

    def room_for(self, width: int) -> int:
        """The height (pixels) of the highest of the samples at this width."""
        place = QRect(0, 0, max(width, 1), 10_000)
        metrics = self.fontMetrics()
        return max(metrics.boundingRect(place, Qt.TextFlag.TextWordWrap, text).height() for text in self._samples)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as the longest word."""
        words = " ".join(self._samples).split()
        width = max(self.fontMetrics().horizontalAdvance(word) for word in words)
        return QSize(width, self.minimumHeight())

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The longest sample in one line."""
        width = max(self.fontMetrics().horizontalAdvance(text) for text in self._samples)
        return QSize(width + 1, self.minimumHeight())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """A narrower label needs more lines."""
        super().resizeEvent(event)
        self._keep_room()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """A larger font needs more room."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._keep_room()

    def _keep_room(self) -> None:
        height = self.room_for(self.width())
        if (self.minimumHeight(), self.maximumHeight()) != (height, height):
            self.setFixedHeight(height)
