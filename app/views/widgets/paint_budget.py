"""Schedule timed drawings, so that several of them never add up to a pause."""

from __future__ import annotations

from math import inf
from time import perf_counter

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt

_AFTER_PAINTING = Qt.EventPriority.LowEventPriority.value - 1


class PaintBudget(QObject):
    """Keep a moment free after each drawing, for the user's actions. One for all drawing on the Qt thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._free_at = 0.0
        self._pause_s = 0.0

    def wait_ms(self) -> int:
        """Return milliseconds until one may draw; 0: now."""
        left = self._free_at - perf_counter()
        if left == inf:
            return 1  # What was drawn last is still to be painted; that takes as long as it takes.
        return 0 if left <= 0.0 else int(1000.0 * left) + 1

    def take(self, pause_s: float) -> None:
        """Take a turn: somebody has drawn. The next one waits until that is on the screen, and so long (seconds)."""
        if self._free_at != inf:
            QCoreApplication.postEvent(self, QEvent(QEvent.Type.User), _AFTER_PAINTING)
        self._free_at, self._pause_s = inf, pause_s

    def customEvent(self, _event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Begin the pause: what was drawn is painted now."""
        if self._free_at == inf:
            self._free_at = perf_counter() + self._pause_s

    def clear(self) -> None:
        """Clear the wait: every widget may draw at once."""
        self._free_at = 0.0
