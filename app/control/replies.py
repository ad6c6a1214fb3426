"""Replies being written: one after another, whichever conversation is on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.bridge.bridge import EngineBridge, Job
from app.control.models import ModelController
from app.control.problems import describe
from app.control.tasks import Tasks
from app.state.chat.activity import Activity
from app.state.chat.trace import TokenTrace
from app.state.chat.transcript import Exchange, Problem
from app.state.conversations.conversation import Conversation
from app.state.models.models import Loaded, Lookahead, Selection
from app.state.settings.generation import GenerationChoice
from app.state.speculation.metrics import Metrics
from app.system.translation import number
from engine import Cancelled, Finished, GenerationResult, Message, PromptProgress, TokenEvent


def current_activity(
    bridge: EngineBridge, models: ModelController, exchange: Exchange | None, reading: PromptProgress | None
) -> Activity:
    """Return what is going on. `exchange`: what is being answered; `reading`: how much of its prompt is read."""
    if exchange is not None:
        if exchange.status == "writing":
            return Activity("writing")
        if reading is not None:
            share = reading.evaluated / reading.total if reading.total else None
            return Activity("reading", number(reading.total), share)
        if bridge.proving:
            return Activity("proving")
    return _loading(bridge, models) or _in_background(bridge, models)


def _loading(bridge: EngineBridge, models: ModelController) -> Activity | None:
    state, progress = models.loader.state, bridge.progress
    if state.stage == "asking":
        return Activity("asking", models.name_of(state.wanted.target), 0.0)
    if state.stage != "loading":
        return None
    if progress is None:
        return Activity("loading", models.name_of(state.wanted.target))
    path = state.wanted.target if progress.part == "target" else state.wanted.draft
    return Activity(progress.stage, models.name_of(path), progress.fraction)


def _in_background(bridge: EngineBridge, models: ModelController) -> Activity:
    if bridge.measuring:
        return Activity("measuring")
    folder = models.scanning
    return Activity() if folder is None else Activity("scanning", folder.name or str(folder))


DRAIN_MS = 40
SHOW_FIRST_S = 0.05
"""The window draws a question in this time; then the engine has the interpreter almost to itself."""
SAMPLE_EVERY = 5
"""Drains between two samples of the live figures, so these come at 5 Hz."""


@dataclass(slots=True, eq=False)
class PendingReply:
    """A question on its way to a reply. `conversation`: None where it could not be kept, not even for this run.

    `messages` is what the model reads, behind the system prompt of the `choice`; `job`: the load or the reply that is
    running for it.
    """

    exchange: Exchange
    conversation: Conversation | None
    messages: tuple[Message, ...]
    lookahead: Lookahead
    wanted: Loaded
    choice: GenerationChoice = field(default_factory=GenerationChoice)
    cancelled: bool = False
    job: Job[Any] | None = None
    reading: PromptProgress | None = None
    result: GenerationResult | None = None
    first: asyncio.Event = field(default_factory=asyncio.Event)


class ReplyQueue(QObject):
    """Takes turns, runs them through the bridge in their order, and tells what comes.

    Attributes: turns (the first one is running), metrics, activity (of the engine).
    Signals: grew(PendingReply, text), began_writing(PendingReply), ended(PendingReply), activity_changed(),
    metrics_changed().
    """

    grew = Signal(object, str)
    began_writing = Signal(object)
    ended = Signal(object)
    activity_changed = Signal()
    metrics_changed = Signal()

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        bridge: EngineBridge,
        desk: ModelController,
        selection: Callable[[], Selection],
    ) -> None:
        """`selection` gives what the next reply is written with."""
        super().__init__()
        self.metrics = Metrics()
        self._selection = selection
        self.metrics.choose(selection())
        self.turns: list[PendingReply] = []
        self.activity = Activity()
        self._desk = desk
        self._bridge = bridge
        self._tasks = Tasks(loop)
        self._ticks = 0
        self._timer = QTimer(self)
        self._timer.setInterval(DRAIN_MS)
        self._timer.timeout.connect(self._tick)
        desk.working.connect(self._wake)
        desk.selection_changed.connect(self.note_choice)
        desk.loaded_changed.connect(self._note_load)

    @property
    def running(self) -> PendingReply | None:
        """The turn that has the engine."""
        return self.turns[0] if self.turns else None

    def activity_for(self, turn: PendingReply | None) -> Activity:
        """Return what is going on, for the chat of this turn (None: of a chat in which nothing is to be answered)."""
        return self.activity if turn in (None, self.running) else Activity("queued")

    def start(self, turn: PendingReply) -> None:
        """Let a turn have its reply, after those that are waiting."""
        self.turns.append(turn)
        if self.running is turn:
            turn.first.set()
        self._tasks.start(self._answer(turn))
        self._wake()

    def cancel(self, turn: PendingReply) -> None:
        """Stop a turn; what is written of its reply stays."""
        turn.cancelled = True
        turn.first.set()
        if turn.job is not None:
            turn.job.cancel()

    async def stop(self) -> None:
        """End everything that runs, for closing; what came of the replies is told as usual."""
        self._timer.stop()
        for turn in self.turns:
            self.cancel(turn)
        self._tasks.cancel()
        await self._tasks.ended()
        self._drain()
        for turn in list(self.turns):
            self._end(turn, None)
        self._timer.stop()

    # A turn -----------------------------------------------------------------------------------------------------------

    async def _answer(self, turn: PendingReply) -> None:
        problem: Problem | None = None
        try:
            await asyncio.sleep(SHOW_FIRST_S)
            await self._wait_for_engine(turn)
            self._ticks = 0
            # The figures of the last reply stand until there are new ones: nothing blinks, and a short reply is not
            # slowed.
            self.metrics.choose(self._selection())
            self.metrics.begin()
            await self._load_for(turn)
            job = self._bridge.reply(turn.messages, turn.lookahead, turn.choice)
            turn.result = await self._wait(turn, job)
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            problem = describe(error)
        if turn is self.running:
            self._drain()
        self._end(turn, problem)

    async def _wait_for_engine(self, turn: PendingReply) -> None:
        await turn.first.wait()
        if turn.cancelled:
            raise Cancelled

    async def _load_for(self, turn: PendingReply) -> None:
        if turn.wanted.target is None:
            raise self._desk.nothing_chosen()
        job = self._desk.load(turn.wanted)
        if job is not None:
            try:
                await self._wait(turn, job)
            finally:
                self._desk.load_ended(job)

    async def _wait(self, turn: PendingReply, job: Job[Any]) -> Any:
        turn.job = job
        if turn.cancelled:
            job.cancel()
        result = await job.result
        turn.job = None
        if turn.cancelled and not isinstance(result, GenerationResult):
            raise Cancelled
        return result

    def _end(self, turn: PendingReply, problem: Problem | None) -> None:
        exchange = turn.exchange
        was_running = turn is self.running
        if turn.result is not None:
            exchange.end(turn.result)
        if problem is not None:
            exchange.fail(problem)
        exchange.cancel()
        self.turns.remove(turn)
        if was_running:
            self.metrics.end(turn.result.stats if turn.result is not None else None)
        self.ended.emit(turn)
        self.metrics_changed.emit()
        self.note_choice()
        self._show_activity()
        if self.running is not None:
            self.running.first.set()
            self._wake()

    # The display clock ------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        self._show_activity()
        if not self._timer.isActive():
            self._timer.start()

    def _tick(self) -> None:
        self._ticks += 1
        self._drain()
        if self.running is not None and self._ticks % SAMPLE_EVERY == 0:
            self.metrics.sample(perf_counter())
            self.metrics_changed.emit()
        self._show_activity()
        # While the user is asked nothing comes, however long that takes.
        if self.activity.work == "asking" or (self.running is None and not self._desk.busy):
            self._timer.stop()

    def _drain(self) -> None:
        turn = self.running
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
            self.began_writing.emit(turn)
        self.grew.emit(turn, "".join(texts))

    def _trace(self, exchange: Exchange, event: TokenEvent) -> None:
        if exchange.trace is None:
            exchange.trace = TokenTrace()
        exchange.trace.add(event, self._bridge.token_names)

    def _show_activity(self) -> None:
        turn = self.running
        exchange, reading = (None, None) if turn is None else (turn.exchange, turn.reading)
        activity = current_activity(self._bridge, self._desk, exchange, reading)
        if activity != self.activity:
            self.activity = activity
            self.activity_changed.emit()

    def _note_load(self) -> None:
        """A load that waited for an answer is over, and while it waits no clock ticks."""
        if not self._timer.isActive():
            self._show_activity()

    def clear_metrics(self) -> None:
        """Forget the figures of the last reply, unless one is being written."""
        if self.running is None:
            self.metrics.clear()
            self.metrics_changed.emit()

    def note_plain_speed(self, tokens_per_second: float) -> None:
        """Compare with this speed of plain decoding from now on."""
        self.metrics.note_plain_speed(tokens_per_second)
        self.metrics_changed.emit()

    def note_choice(self) -> None:
        """Something else is chosen: between replies the figures' note on the lookahead follows."""
        if self.running is None and self.metrics.choose(self._selection()):
            self.metrics_changed.emit()
