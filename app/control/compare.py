"""Look after the proof of the gain: start Compare and the lookahead sweep, follow them, cancel them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from app.bridge.bridge import EngineBridge, Job
from app.bridge.tasks import Tasks
from app.control.models import ModelController
from app.control.problems import describe
from app.state.compare.compare import (
    ComparedModels,
    CompareKind,
    CompareProgress,
    CompareRequest,
    CompareRun,
    CompareSettings,
    Way,
    ways_to_compare,
    ways_to_sweep,
)
from app.state.models.models import Loaded, Lookahead
from engine import Cancelled

POLL_MS = 20
"""From one look to the next the window has drawn what was new."""
_PATIENCE_S = 0.2
KINDS: tuple[CompareKind, ...] = ("compare", "sweep")


class _Mail:
    """Carry progress from the worker thread to the window's. No object of Qt: those belong to the window's thread."""

    def __init__(self) -> None:
        self._last: tuple[CompareProgress, threading.Event] | None = None

    def post(self, progress: CompareProgress) -> None:
        """Have this shown, and wait until it is, so that drawing does not slow the next reply."""
        drawn = threading.Event()
        self._last = progress, drawn
        drawn.wait(_PATIENCE_S)

    def take(self) -> tuple[CompareProgress, threading.Event] | None:
        """Return the last post that was not taken yet, and the event to set once it is drawn."""
        last, self._last = self._last, None
        return last


@dataclass(slots=True)
class _Work:
    """Hold a measurement in progress. `job`: the load or the measurement that runs for it."""

    mail: _Mail = field(default_factory=_Mail)
    job: Job[Any] | None = None
    cancelled: bool = False


class CompareController(QObject):
    """Run measurements one after the other, each with its own dialog.

    Attributes: runs (by kind). Signals: changed(kind), pair_changed().
    """

    changed = Signal(str)
    pair_changed = Signal()

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        bridge: EngineBridge,
        models: ModelController,
        last_question: Callable[[], str] = str,
    ) -> None:
        super().__init__()
        self.runs: dict[CompareKind, CompareRun] = {kind: CompareRun() for kind in KINDS}
        self.last_question = last_question
        self._bridge = bridge
        self._models = models
        self._work: dict[CompareKind, _Work] = {}
        self._tasks = Tasks(loop)
        self._drawn: list[threading.Event] = []
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._poll)
        models.list_changed.connect(self.pair_changed)
        models.selection_changed.connect(self.pair_changed)

    @property
    def pair(self) -> ComparedModels:
        """Return the current choice."""
        models = self._models.list
        chosen = models.selection
        return ComparedModels(self._models.name_of(chosen.target), self._models.name_of(chosen.draft), chosen.lookahead)

    # Intents ----------------------------------------------------------------------------------------------------------

    def start(self, kind: CompareKind, prompt: str, settings: CompareSettings) -> None:
        """Measure with the models and the lookahead that are chosen now; nothing happens while it is under way."""
        run = self.runs[kind]
        if run.running or not prompt.strip():
            return
        chosen = self._models.list.selection
        ways: tuple[Way, ...] = ways_to_sweep()
        if kind == "compare":
            ways = ways_to_compare(chosen.lookahead, has_draft=chosen.draft is not None)
        request = CompareRequest(prompt.strip("\n"), ways, Loaded(chosen.target, chosen.draft), settings)
        run.begin(request)
        self._work[kind] = _Work()
        self._tasks.start(self._measure(kind, request))
        self._timer.start()
        self.changed.emit(kind)

    def cancel(self, kind: CompareKind) -> None:
        """Stop it; what was measured stays."""
        work = self._work.get(kind)
        if work is not None:
            work.cancelled = True
            if work.job is not None:
                work.job.cancel()

    def choose_lookahead(self, lookahead: Lookahead) -> None:
        """Set the picker."""
        self._models.choose_lookahead(lookahead)

    def stop(self) -> None:
        """End everything that runs, for closing."""
        self._timer.stop()
        for kind in KINDS:
            self.cancel(kind)
        self._tasks.cancel()

    # A measurement ----------------------------------------------------------------------------------------------------

    async def _measure(self, kind: CompareKind, request: CompareRequest) -> None:
        run, work = self.runs[kind], self._work[kind]
        try:
            await self._load(request.models, kind, work)
            self._note_wait(kind, "waiting")
            report = await self._wait(work, self._bridge.measure_ways(request, work.mail.post))
        except Cancelled:
            run.cancel()
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the dialog
            run.fail(describe(error).text)
        else:
            run.finish(report)
        finally:
            del self._work[kind]
        if not self._work:
            self._timer.stop()
        self.changed.emit(kind)

    def _note_wait(self, kind: CompareKind, status: Literal["waiting", "asking", "loading"]) -> None:
        if self.runs[kind].wait(status):
            self.changed.emit(kind)

    async def _load(self, wanted: Loaded, kind: CompareKind, work: _Work) -> None:
        if wanted.target is None:
            raise self._models.nothing_chosen()
        job = self._models.load(wanted)
        if job is None:
            return
        self._note_wait(kind, "loading")
        try:
            await self._wait(work, job)
        finally:
            self._models.load_ended(job)

    async def _wait(self, work: _Work, job: Job[Any]) -> Any:
        if work.cancelled:
            job.cancel()
        work.job = job
        result = await job.result
        work.job = None
        if work.cancelled and isinstance(result, Loaded):
            raise Cancelled
        return result

    def _poll(self) -> None:
        # No single-shot timer for each: what PySide does to end one goes wrong now and then beside a busy thread.
        for drawn in self._drawn:
            drawn.set()
        self._drawn.clear()
        for kind, work in self._work.items():
            told = work.mail.take()
            if told is not None:
                self.runs[kind].take(told[0])
                self.changed.emit(kind)
                self._drawn.append(told[1])
            elif self.runs[kind].status in ("asking", "loading"):
                # It does not load before the user has answered, elsewhere.
                asked = self._models.loader.state.stage == "asking"
                self._note_wait(kind, "asking" if asked else "loading")
