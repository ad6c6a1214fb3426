"""Carries out what the views ask for: keeps the state, gives the bridge its jobs, tells the views what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.bridge import EngineBridge, Job
from app.error_report import describe
from app.model_desk import ModelDesk
from app.state.activity import Activity
from app.state.metrics import Metrics
from app.state.models import Loaded, Lookahead
from app.state.trace import TokenTrace
from app.state.transcript import Exchange, Problem, Transcript
from engine import Cancelled, Finished, GenerationResult, PromptProgress, TokenEvent

DRAIN_MS = 40
SHOW_FIRST_S = 0.05
"""The window draws a question in this time; then the engine has the interpreter almost to itself."""
SAMPLE_EVERY = 5
"""Drains between two samples of the live figures, so these come at 5 Hz."""


@dataclass(slots=True)
class Turn:
    """A question on its way to a reply. `job`: the load or the reply that is running for it."""

    exchange: Exchange
    lookahead: Lookahead
    wanted: Loaded
    cancelled: bool = False
    job: Job[Any] | None = None
    reading: PromptProgress | None = None
    result: GenerationResult | None = None


class ChatController(QObject):
    """One chat: questions in, replies out.

    Attributes: transcript, metrics, desk (the models), activity.
    Signals: entry_added(Exchange | Notice), reply_grew(Exchange, text), reply_ended(Exchange), cleared(),
    activity_changed(), busy_changed(bool), metrics_changed(), started_writing(Exchange).
    """

    entry_added = Signal(object)
    reply_grew = Signal(object, str)
    reply_ended = Signal(object)
    cleared = Signal()
    activity_changed = Signal()
    busy_changed = Signal(bool)
    metrics_changed = Signal()
    started_writing = Signal(object)

    def __init__(self, loop: asyncio.AbstractEventLoop, bridge: EngineBridge, desk: ModelDesk) -> None:
        super().__init__()
        self.transcript = Transcript()
        self.metrics = Metrics()
        self.metrics.choose(desk.models.selection)
        self.desk = desk
        self.activity = Activity()
        self._loop = loop
        self._bridge = bridge
        self._turn: Turn | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticks = 0
        self._timer = QTimer(self)
        self._timer.setInterval(DRAIN_MS)
        self._timer.timeout.connect(self._tick)
        desk.working.connect(self._wake)
        desk.failed.connect(self.report)
        desk.changed.connect(self._note_choice)

    # Intents ----------------------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether a question is being answered."""
        return self._turn is not None

    def send(self, text: str) -> None:
        """Ask the question `text`; nothing happens while another one is being answered."""
        if self._turn is not None or not text.strip():
            return
        exchange = self.transcript.ask(text.strip("\n"))
        chosen = self.desk.models.selection
        self._turn = Turn(exchange, chosen.lookahead, Loaded(chosen.target, chosen.draft))
        self._ticks = 0
        self.metrics.choose(chosen)
        self.metrics.begin()
        self.entry_added.emit(exchange)
        self.busy_changed.emit(True)
        # The figures of the last reply stand until there are new ones: nothing blinks, and a short reply is not slowed.
        self._start(self._answer(self._turn))
        self._wake()

    def cancel(self) -> None:
        """Stop what is going on: the reply, else a load, else a scan."""
        if self._turn is None:
            self.desk.cancel()
            return
        self._turn.cancelled = True
        if self._turn.job is not None:
            self._turn.job.cancel()

    def new_chat(self) -> None:
        """Forget this conversation and begin another."""
        if self._turn is not None:
            self.cancel()
        self.transcript.clear()
        self.metrics.clear()
        self.cleared.emit()
        self.metrics_changed.emit()

    def report(self, problem: Problem) -> None:
        """Show a problem that belongs to no question."""
        self.entry_added.emit(self.transcript.note(problem))

    async def stop(self) -> None:
        """End everything that runs, for closing."""
        self._timer.stop()
        self.cancel()
        self.desk.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # A turn -----------------------------------------------------------------------------------------------------------

    async def _answer(self, turn: Turn) -> None:
        problem: Problem | None = None
        try:
            await asyncio.sleep(SHOW_FIRST_S)
            await self._load_for(turn)
            job = self._bridge.reply(self.transcript.messages_for(turn.exchange), turn.lookahead)
            turn.result = await self._wait(turn, job)
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            problem = describe(error)
        self._drain()
        self._end(turn, problem)

    async def _load_for(self, turn: Turn) -> None:
        if turn.wanted.target is None:
            raise self.desk.nothing_chosen()
        job = self.desk.load(turn.wanted)
        if job is not None:
            try:
                await self._wait(turn, job)
            finally:
                self.desk.load_ended(job)

    async def _wait(self, turn: Turn, job: Job[Any]) -> Any:
        turn.job = job
        if turn.cancelled:
            job.cancel()
        result = await job.result
        turn.job = None
        if turn.cancelled and not isinstance(result, GenerationResult):
            raise Cancelled
        return result

    def _end(self, turn: Turn, problem: Problem | None) -> None:
        exchange = turn.exchange
        if turn.result is not None:
            exchange.end(turn.result)
        if problem is not None:
            exchange.fail(problem)
        exchange.cancel()
        self._turn = None
        self.metrics.end(turn.result.stats if turn.result is not None else None)
        self.reply_ended.emit(exchange)
        self.busy_changed.emit(False)
        self.metrics_changed.emit()
        self._note_choice()
        self._show_activity()

    # The display clock ------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        self._show_activity()
        if not self._timer.isActive():
            self._timer.start()

    def _tick(self) -> None:
        self._ticks += 1
        self._drain()
        if self._turn is not None and self._ticks % SAMPLE_EVERY == 0:
            self.metrics.sample(perf_counter())
            self.metrics_changed.emit()
        self._show_activity()
        if self._turn is None and not self.desk.busy:
            self._timer.stop()

    def _drain(self) -> None:
        turn = self._turn
        texts: list[str] = []
        for when, event in self._bridge.drain():
            if turn is None:
                continue
            self.metrics.take(when, event)
            if isinstance(event, TokenEvent):
                texts.append(event.text)
                self._trace(turn.exchange, event)
            elif isinstance(event, PromptProgress):
                turn.reading = event
            elif isinstance(event, Finished):
                turn.result = event.result
        if turn is None or not texts:
            return
        exchange = turn.exchange
        first = exchange.status == "waiting"
        exchange.add("".join(texts))
        if first:
            self.started_writing.emit(exchange)
        self.reply_grew.emit(exchange, "".join(texts))

    def _trace(self, exchange: Exchange, event: TokenEvent) -> None:
        if exchange.trace is None:
            exchange.trace = TokenTrace()
        exchange.trace.add(event, self._bridge.token_names)

    def _show_activity(self) -> None:
        activity = self._current_activity()
        if activity != self.activity:
            self.activity = activity
            self.activity_changed.emit()

    def _current_activity(self) -> Activity:
        turn = self._turn
        if turn is not None and turn.exchange.status == "writing":
            return Activity("writing")
        if turn is not None and turn.reading is not None:
            read = turn.reading
            return Activity("reading", f"{read.total:,}", read.evaluated / read.total if read.total else None)
        return self.desk.activity()

    def _note_choice(self) -> None:
        """Between replies the figures' note on the lookahead follows the pickers."""
        if self._turn is None and self.metrics.choose(self.desk.models.selection):
            self.metrics_changed.emit()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
