"""Control the measurements: start Compare and the lookahead sweep, follow them, cancel them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from PySide6.QtCore import QObject, QTimer, Signal

from app.bridge.bridge import EngineBridge, Job
from app.bridge.tasks import Tasks
from app.control.models import ModelController
from app.control.problems import describe
from app.state.compare.animation import Frame, encode
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
from app.state.compare.race import RaceMark
from app.state.models.selection import Loaded, Lookahead
from app.state.models.targets import Server
from engine import Cancelled, ContextFull, EngineError

POLL_MS = 20
"""The interval between two checks, within which the window has drawn the news."""
_PATIENCE_S = 0.2
_STAND_S, _LONGEST_RACE_S, _WATCHED_S = 1.5, 20.0, 0.3
"""The seconds of a race side by side before the measurement; its longest; the shortest that is shown."""
KINDS: tuple[CompareKind, ...] = ("compare", "sweep")


class _Mail:
    """Carry progress from the worker thread to the window's. No object of Qt: those belong to the window's thread."""

    def __init__(self) -> None:
        self._last: tuple[CompareProgress, threading.Event] | None = None

    def post(self, progress: CompareProgress) -> None:
        """Post progress, and wait until it is drawn, so that drawing does not slow the next reply."""
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

    Attribute: runs (by kind).
    Signals: changed(kind), pair_changed(), raced() (the race advances), rehearsed(TokenTrace), saved(path,
    problem) (an animation).
    """

    changed = Signal(str)
    pair_changed = Signal()
    raced = Signal()
    rehearsed = Signal(object)
    saved = Signal(object, str)

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
        self._loop = loop
        self._marks: deque[RaceMark] = deque()
        self._bridge = bridge
        self._models = models
        self._work: dict[CompareKind, _Work] = {}
        self._tasks = Tasks(loop)
        self._drawn: list[threading.Event] = []
        self._begun = False
        self._put_off: str | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(POLL_MS)
        self._timer.timeout.connect(self._poll)
        models.list_changed.connect(self.pair_changed)
        models.selection_changed.connect(self.pair_changed)

    @property
    def pair(self) -> ComparedModels:
        chosen, name = self._models.list.selection, self._models.name_of
        pair = self._local_pair
        server = name(chosen.target) if isinstance(chosen.target, Server) else ""
        return ComparedModels(name(pair.target), self._models.name_of_drafts(pair), chosen.lookahead, server)

    @property
    def _local_pair(self) -> Loaded:
        """Return the models that are measured: those chosen, or beside a server those loaded here, or the demo's."""
        chosen = self._models.list.selection
        if not isinstance(chosen.target, Server):
            return chosen.files
        there = self._bridge.local
        return there if there.target is not None else self._models.list.bundled_files

    # Intents ----------------------------------------------------------------------------------------------------------

    def start(self, kind: CompareKind, prompt: str, settings: CompareSettings) -> None:
        """Measure with the chosen models and lookahead; nothing happens during another measurement."""
        run = self.runs[kind]
        if run.running or not prompt.strip():
            return
        chosen = self._models.list.selection
        ways: tuple[Way, ...] = ways_to_sweep()
        pair, server = self._local_pair, chosen.target if isinstance(chosen.target, Server) else None
        if kind == "compare":
            ways = ways_to_compare(chosen.lookahead, has_draft=bool(pair.sources))
        request = CompareRequest(prompt.strip("\n"), ways, pair, settings, server if kind == "compare" else None)
        run.begin(request)
        self._work[kind] = _Work()
        self._tasks.start(self._measure(kind, request))
        self._timer.start()
        self.changed.emit(kind)

    def cancel(self, kind: CompareKind) -> None:
        """Stop it; its figures so far stay."""
        work = self._work.get(kind)
        if work is not None:
            work.cancelled = True
            if work.job is not None:
                work.job.cancel()

    def choose_lookahead(self, lookahead: Lookahead) -> None:
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
            if kind == "compare" and request.server is None:
                await self._race(run, work, request)
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

    async def _race(self, run: CompareRun, work: _Work, request: CompareRequest) -> None:
        """Race both ways once, then show them side by side, before anything is measured."""
        self._marks.clear()
        race = run.begin_race()
        self.changed.emit("compare")
        with contextlib.suppress(ContextFull):  # The measurement says it, with what to do.
            await self._wait(work, self._bridge.race(request, self._marks.append))
        self._take_marks(run)
        if work.cancelled:
            raise Cancelled
        self.changed.emit("compare")
        # What is drawn would slow what is measured.
        await asyncio.sleep(min(race.seconds + _STAND_S, _LONGEST_RACE_S) if race.seconds > _WATCHED_S else 0.0)
        if work.cancelled:
            raise Cancelled

    def _take_marks(self, run: CompareRun) -> None:
        if run.race is None or not self._marks:
            return
        while self._marks:
            run.race.take(self._marks.popleft())
        self.raced.emit()

    # Shown before anything is asked -----------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin after the first paint and the check of the program's files: no model may be loaded before."""
        self._begun = True
        if self._put_off is not None:
            self.rehearse(self._put_off)

    def rehearse(self, prompt: str) -> None:
        """Answer a prompt with the demo pair for a replay; it stands in no chat. Errors are ignored.

        Before `begin` it is put off until then.
        """
        if self._begun:
            self._tasks.start(self._rehearse(prompt))
        else:
            self._put_off = prompt

    async def _rehearse(self, prompt: str) -> None:
        bundled = self._models.list.bundled
        chosen = self._models.list.selection
        if bundled is None or chosen.target != bundled[0]:
            return
        try:
            job = self._models.load(self._models.list.bundled_files)
            if job is not None:
                await job.result
            self.rehearsed.emit(await self._bridge.rehearse(prompt).result)
        except (Cancelled, EngineError):
            return

    # Pictures ---------------------------------------------------------------------------------------------------------

    def save_animation(self, path: Path, frames: Sequence[Frame], size: tuple[int, int]) -> None:
        """Write an animation of a race (WebP, or GIF by the file's ending) on a thread of its own; `saved` follows."""

        def work() -> None:
            try:
                content = encode(frames, size, "gif" if path.suffix.lower() == ".gif" else "webp")
                path.write_bytes(content)
            except OSError as error:
                words = error.strerror or str(error)
            else:
                words = ""
            with contextlib.suppress(RuntimeError):  # the loop may be closed by then
                self._loop.call_soon_threadsafe(self.saved.emit, path, words)

        threading.Thread(target=work, name="outrider-animation").start()

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
        await self._wait(work, job)

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
        self._take_marks(self.runs["compare"])
        for kind, work in self._work.items():
            mail = work.mail.take()
            if mail is not None:
                self.runs[kind].take(mail[0])
                self.changed.emit(kind)
                self._drawn.append(mail[1])
            elif self.runs[kind].status in ("asking", "loading"):
                # It does not load before the user has answered, elsewhere.
                asking = self._models.loader.state.stage == "asking"
                self._note_wait(kind, "asking" if asking else "loading")
