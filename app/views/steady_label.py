"""A label whose height does not depend on the text that it shows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QLabel, QWidget


class SteadyLabel(QLabel):
    """Wraps its text, and always has room for the longest of `samples`: nothing moves when the text changes."""

    def __init__(self, samples: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._samples = tuple(samples)
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)

    def heightForWidth(self, width: int) -> int:  # noqa: N802 - Qt's name
        """As high as the highest of the samples at this width (pixels)."""
        room = QRect(0, 0, max(width, 1), 10_000)
        metrics = self.fontMetrics()
        wrap = Qt.TextFlag.TextWordWrap
        return max(metrics.boundingRect(room, wrap, text).height() for text in (*self._samples, self.text()))

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as the longest word, one line high."""
        words = " ".join(self._samples).split()
        metrics = self.fontMetrics()
        return QSize(max(metrics.horizontalAdvance(word) for word in words), metrics.height())

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """The longest sample in one line."""
        metrics = self.fontMetrics()
        return QSize(max(metrics.horizontalAdvance(text) for text in self._samples) + 1, metrics.height())
