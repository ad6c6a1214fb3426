"""A 10 ms timer that notes how late it comes: the window's reaction time as a user would feel it."""

from __future__ import annotations

from time import perf_counter, thread_time

from PySide6.QtCore import QObject, Qt, QTimer

INTERVAL_MS = 10


class GapProbe(QObject):
    """Measures the time between the ticks of a 10 ms timer on the Qt thread.

    `gaps`: milliseconds between ticks. `work`: how many of them this thread really worked; other programs on the
    machine make the gaps longer, but not this.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[float] = []
        self.work: list[float] = []
        self._last = 0.0
        self._worked = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        """Begin, or go on after a pause."""
        self._last, self._worked = perf_counter(), thread_time()
        self._timer.start()

    def stop(self) -> None:
        """Pause."""
        self._timer.stop()

    def _tick(self) -> None:
        now, worked = perf_counter(), thread_time()
        self.gaps.append(1000.0 * (now - self._last))
        self.work.append(1000.0 * (worked - self._worked))
        self._last, self._worked = now, worked

    def report(self) -> dict[str, float]:
        """Number of ticks and their gaps in milliseconds."""
        ordered = sorted(self.gaps)
        if not ordered:
            return {"ticks": 0, "longest": 0.0, "p99": 0.0, "median": 0.0, "most_work": 0.0}
        return {
            "ticks": len(ordered),
            "longest": round(ordered[-1], 1),
            "p99": round(ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)], 1),
            "median": round(ordered[len(ordered) // 2], 1),
            "most_work": round(max(self.work), 1),
        }
