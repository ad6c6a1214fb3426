"""Finds out what the loaded pair costs, for lookahead auto, before a reply asks for it."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.bridge.bridge import EngineBridge, Job
from app.control.problems import describe
from app.control.tasks import Tasks
from app.state.models.models import ModelList
from engine import Cancelled


class CostDesk(QObject):
    """Measures ahead. Signals: failed(Problem), working() (it began)."""

    failed = Signal(object)
    working = Signal()

    def __init__(self, bridge: EngineBridge, models: ModelList, tasks: Tasks) -> None:
        super().__init__()
        self._bridge = bridge
        self._models = models
        self._tasks = tasks
        self._job: Job[None] | None = None

    @property
    def measuring(self) -> bool:
        """Return whether a measurement is under way, or waits for its turn."""
        return self._job is not None

    def begin(self) -> None:
        """Measure, if a reply would want to know and nothing is being measured."""
        wanted = self._models.selection.lookahead == "auto" and self._bridge.loaded.target is not None
        if wanted and self._job is None:
            self._tasks.start(self._measure())

    def cancel(self) -> None:
        """Do without."""
        if self._job is not None:
            self._job.cancel()

    async def _measure(self) -> None:
        job = self._job = self._bridge.measure()
        self.working.emit()
        try:
            await job.result
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            self.failed.emit(describe(error))
        finally:
            self._job = None
