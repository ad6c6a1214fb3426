"""Schedule timed drawings, so that several of them never add up to a pause."""

from __future__ import annotations

from time import perf_counter


class PaintBudget:
    """Keep a moment free after each drawing, for the user's actions. One for all drawing on the Qt thread."""

    def __init__(self) -> None:
        self._free_at = 0.0

    def wait_ms(self) -> int:
        """Return milliseconds until one may draw; 0: now."""
        left = self._free_at - perf_counter()
        return 0 if left <= 0.0 else int(1000.0 * left) + 1

    def take(self, pause_s: float) -> None:
        """Take a turn: somebody has drawn, the screen takes it over now, and the next one waits so long (seconds)."""
        self._free_at = perf_counter() + pause_s

    def clear(self) -> None:
        """Clear the wait: every widget may draw at once."""
        self._free_at = 0.0
