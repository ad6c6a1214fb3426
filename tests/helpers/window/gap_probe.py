"""A 10 ms timer that notes how late it comes: the window's reaction time as a user would feel it."""

from time import perf_counter, process_time, thread_time

from PySide6.QtCore import QObject, Qt, QTimer

INTERVAL_MS = 10


class GapProbe(QObject):
    """Measures the time between the ticks of a 10 ms timer on the Qt thread.

    `gaps`: milliseconds between ticks. `work`: how many of them this thread really worked, and `held`: how many this
    program did, where it may have been another thread that kept Python to itself; other programs on the machine make
    the gaps longer, but neither of these.
    """

    def __init__(self) -> None:
        super().__init__()
        self.gaps: list[float] = []
        self.work: list[float] = []
        self.held: list[float] = []
        self._last = 0.0
        self._worked = self._computed = 0.0
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        """Begin, or go on after a pause."""
        self._last, self._worked, self._computed = perf_counter(), thread_time(), process_time()
        self._timer.start()

    def stop(self) -> None:
        """Pause."""
        self._timer.stop()

    def _tick(self) -> None:
        now, worked, computed = perf_counter(), thread_time(), process_time()
        self.gaps.append(1000.0 * (now - self._last))
        self.work.append(1000.0 * (worked - self._worked))
        self.held.append(min(self.gaps[-1], 1000.0 * (computed - self._computed)))
        self._last, self._worked, self._computed = now, worked, computed

    def report(self) -> dict[str, float]:
        """Number of ticks and their gaps in milliseconds."""
        ordered = sorted(self.gaps)
        if not ordered:
            return {"ticks": 0, "longest": 0.0, "p99": 0.0, "median": 0.0, "most_work": 0.0, "most_held": 0.0}
        return {
            "ticks": len(ordered),
            "longest": round(ordered[-1], 1),
            "p99": round(ordered[min(int(len(ordered) * 0.99), len(ordered) - 1)], 1),
            "median": round(ordered[len(ordered) // 2], 1),
            "most_work": round(max(self.work), 1),
            "most_held": round(max(self.held), 1),
        }
