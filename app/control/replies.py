"""Write replies one after another, whichever conversation is on the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.bridge.bridge import EngineBridge, Job
from app.bridge.tasks import Tasks
from app.control.models import ModelController
from app.control.problems import describe
from app.state.chat.activity import Activity
from app.state.chat.context_use import ContextUse, longer_context
from app.state.chat.road import Pieces
from app.state.chat.rounds import RoundRecord
from app.state.chat.trace import TokenTrace
from app.state.chat.transcript import Exchange, Problem
from app.state.conversations.conversation import Conversation
from app.state.models.selection import Loaded, Lookahead, Selection
from app.state.models.targets import Server, Target
from app.state.settings.generation import GenerationChoice
from app.state.speculation.metrics import Metrics
from app.system.translation import number
from engine import (
    Cancelled,
    ContextFull,
    Finished,
    GenerationResult,
    GenerationStats,
    Message,
    PromptProgress,
    RoundEvent,
    TextEvent,
    TokenEvent,
)


def current_activity(
    bridge: EngineBridge, models: ModelController, exchange: Exchange | None, reading: PromptProgress | None
) -> Activity:
    """Return the activity. `exchange`: the one being answered; `reading`: the read share of its prompt."""
    if exchange is not None:
        if exchange.status == "writing":
            return Activity("writing")
        if reading is None and isinstance(models.list.loaded.target, Server) and models.loader.state.stage == "loaded":
            return Activity("asking-server", models.name_of(models.list.loaded.target))
        if reading is not None:
            share = reading.evaluated / reading.total if reading.total else None
            return Activity("reading", number(reading.total), share)
        if bridge.comparing:
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
    files = [state.wanted.target, *state.wanted.sources]
    there = bridge.kept(state.wanted, models.loader.ways(state.wanted))
    here = len(files) - 1 if progress.part == "draft" else 0
    found = [None if known else models.list.by_path(path) for path, known in zip(files, there, strict=True)]
    sizes = [0 if model is None else model.size_bytes for model in found]
    share = progress.fraction
    if bridge.checked == progress.part:
        share = (share + (progress.stage == "loading")) / 2
    if total := sum(sizes):
        share = (sum(sizes[:here]) + share * sizes[here]) / total
    # The whole is there when the next thing is text, and then there is no bar.
    return Activity(progress.stage, models.name_of(files[here]), min(share, 0.99), target_there=here > 0)


def _in_background(bridge: EngineBridge, models: ModelController) -> Activity:
    if bridge.measuring and not bridge.comparing:  # Compare and the sweep say it in their own window.
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
    """Hold a question until its reply is complete. `conversation`: None if it could not be stored, even for this run.

    `messages`: the model's input after the system prompt of the `choice`; `prefix`, `forced`: the beginning of the
    reply, kept from another one and written first (app.state.chat.road); `prediction`: a likely text; `job`: its
    running load or reply. `steered`: words to continue with once it is stopped; `sends_next`: the next message is sent
    even after a stop. `interrupted`: the program ends. `tools`: those that the model may call; `ready`: awaits them
    before the reply.
    """

    exchange: Exchange
    conversation: Conversation | None
    messages: tuple[Message, ...]
    lookahead: Lookahead
    wanted: Loaded
    choice: GenerationChoice = field(default_factory=GenerationChoice)
    prefix: Pieces = ()
    forced: Pieces = ()
    prediction: str = ""
    steered: str = ""
    sends_next: bool = False
    cancelled: bool = False
    interrupted: bool = False
    job: Job[Any] | None = None
    reading: PromptProgress | None = None
    result: GenerationResult | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    ready: Callable[[PendingReply], Awaitable[None]] | None = None
    first: asyncio.Event = field(default_factory=asyncio.Event)


class ReplyQueue(QObject):
    """Queue replies, run them through the bridge in their order, and report their progress.

    Attributes: queue (the first one is running), metrics, measured (the reply of these), activity (of the engine).
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
        models: ModelController,
        selection: Callable[[], Selection],
    ) -> None:
        """Set up the queue. `selection` returns the models and the lookahead for the next reply."""
        super().__init__()
        self.metrics = Metrics()
        self._selection = selection
        self.metrics.choose(selection())
        self.measured: Exchange | None = None
        self.queue: list[PendingReply] = []
        self.activity = Activity()
        self._models = models
        self._bridge = bridge
        self._tasks = Tasks(loop)
        self._ticks = 0
        self._timer = QTimer(self)
        self._timer.setInterval(DRAIN_MS)
        self._timer.timeout.connect(self._tick)
        bridge.began = self._drain
        models.working.connect(self._wake)
        models.selection_changed.connect(self.note_choice)
        models.loaded_changed.connect(self._show_activity)

    @property
    def running(self) -> PendingReply | None:
        return self.queue[0] if self.queue else None

    def activity_for(self, pending: PendingReply | None) -> Activity:
        """Return the activity, for the chat of this reply (None: of a chat that waits for none)."""
        return self.activity if pending in (None, self.running) else Activity("queued")

    def start(self, pending: PendingReply) -> None:
        self.queue.append(pending)
        if self.running is pending:
            pending.first.set()
        self._tasks.start(self._answer(pending))
        self._wake()

    def cancel(self, pending: PendingReply) -> None:
        """Stop a reply; its text stays."""
        pending.cancelled = True
        pending.first.set()
        if pending.job is not None:
            pending.job.cancel()

    def answer_now(self, exchange: Exchange) -> None:
        """End the thought of this reply, if it is the one being written."""
        pending = self.running
        if pending is not None and pending.exchange is exchange and exchange.status == "writing":
            self._bridge.answer_now()

    async def stop(self) -> None:
        """Cancel everything, for closing; unfinished replies are reported as usual."""
        self._timer.stop()
        ended_by_us = [pending for pending in self.queue if not pending.cancelled]
        for pending in ended_by_us:
            pending.interrupted = True
            self.cancel(pending)
        self._tasks.cancel()
        await self._tasks.ended()
        self._drain()
        for pending in list(self.queue):
            self._end(pending, None)
        self._timer.stop()

    # A reply ----------------------------------------------------------------------------------------------------------

    async def _answer(self, pending: PendingReply) -> None:
        problem: Problem | None = None
        try:
            # Of what goes on from a given beginning hardly anything is drawn anew.
            await asyncio.sleep(0.0 if pending.prefix or pending.forced else SHOW_FIRST_S)
            await self._wait_for_engine(pending)
            self._ticks = 0
            # The figures of the last reply stand until there are new ones: nothing blinks, and a short reply is not
            # slowed.
            self.metrics.choose(self._selection())
            self.metrics.begin(pending.wanted.target, self._earlier(pending.exchange))
            self.measured = pending.exchange
            await self._load_for(pending)
            if pending.ready is not None:
                await pending.ready(pending)
            if pending.cancelled:
                raise Cancelled  # noqa: TRY301 - as where a job is cancelled
            job = self._bridge.reply(
                pending.messages,
                pending.lookahead,
                pending.choice,
                pending.prefix,
                pending.forced,
                pending.prediction,
                tools=pending.tools,
            )
            pending.result = await self._wait(pending, job)
        except Cancelled:
            pass
        except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
            problem = describe(error)
            if isinstance(error, ContextFull):
                problem = replace(problem, context=self._context_for(pending.wanted.target, error))
        if pending is self.running:
            self._drain()
        self._end(pending, problem)

    def _context_for(self, target: Target | None, error: ContextFull) -> int | None:
        """Return the context in which a prompt would fit that did not; None if the target knows none."""
        model = self._models.list.by_path(target)
        use = ContextUse(error.needed, error.available, fits=False)
        return None if model is None else longer_context(use, model.context_length)

    @staticmethod
    def _earlier(exchange: Exchange) -> tuple[GenerationStats, list[RoundRecord]] | None:
        """Return the figures and rounds of the part that a reply goes on from."""
        stats, trace = exchange.stats_before, exchange.trace
        return None if stats is None else (stats, [] if trace is None else trace.first_rounds(stats.rounds))

    async def _wait_for_engine(self, pending: PendingReply) -> None:
        await pending.first.wait()
        if pending.cancelled:
            raise Cancelled

    async def _load_for(self, pending: PendingReply) -> None:
        if pending.wanted.target is None:
            raise self._models.nothing_chosen()
        job = self._models.load(pending.wanted)
        if job is not None:
            await self._wait(pending, job)

    async def _wait(self, pending: PendingReply, job: Job[Any]) -> Any:
        pending.job = job
        if pending.cancelled:
            job.cancel()
        result = await job.result
        pending.job = None
        if pending.cancelled and not isinstance(result, GenerationResult):
            raise Cancelled
        return result

    def _end(self, pending: PendingReply, problem: Problem | None) -> None:
        exchange = pending.exchange
        was_running = pending is self.running
        if pending.result is not None:
            exchange.end(pending.result)
        if problem is not None:
            exchange.fail(problem)
        if pending.result is None and exchange.trace is not None and exchange.trace.has_rounds:
            exchange.stats, exchange.stats_before = exchange.trace.figures(), None
        exchange.cancel()
        if pending.interrupted:
            exchange.interrupt()
        self.queue.remove(pending)
        if was_running:
            self.metrics.end(exchange.stats)
        self.ended.emit(pending)
        self.metrics_changed.emit()
        self.note_choice()
        self._show_activity()
        if self.running is not None:
            self.running.first.set()
            self._wake()
        elif pending.result is not None:
            self._models.measure_costs()

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
        idle = self.activity.work == "idle" and self.running is None and not self._models.busy
        if idle or self.activity.work == "asking":
            self._timer.stop()

    def _drain(self) -> None:
        pending = self.running
        texts: list[str] = []
        added: list[tuple[str, str]] = []
        for when, event in self._bridge.drain():
            if pending is None:
                continue
            self.metrics.take(when, event)
            if isinstance(event, TokenEvent):
                texts.append(event.text)
                added.extend(event.added)
                self._trace_token(pending.exchange, event)
            elif isinstance(event, TextEvent):
                # What a server writes has no record; one of what stood before would not fit any more.
                pending.exchange.trace = None
                texts.append(event.text)
                added.extend(event.added)
            elif isinstance(event, RoundEvent) and not isinstance(pending.wanted.target, Server):
                self._trace(pending.exchange).add_round(event, self._bridge.token_names)
            elif isinstance(event, PromptProgress):
                pending.reading = event
            elif isinstance(event, Finished):
                pending.result = event.result
                if pending.exchange.trace is not None:
                    pending.exchange.trace.made = self._bridge.made
        if pending is None or not texts:
            return
        exchange = pending.exchange
        first = exchange.status == "waiting"
        exchange.add("".join(texts), added)
        if first:
            self.began_writing.emit(pending)
        self.grew.emit(pending, "".join(texts))

    def _trace_token(self, exchange: Exchange, event: TokenEvent) -> None:
        trace = self._trace(exchange)
        trace.add(event, self._bridge.token_names)
        if event.added or event.channel == "reasoning":
            exchange.shown_tokens = len(trace)

    def _trace(self, exchange: Exchange) -> TokenTrace:
        if exchange.trace is None:
            exchange.trace = TokenTrace()
        return exchange.trace

    def _show_activity(self) -> None:
        pending = self.running
        exchange, reading = (None, None) if pending is None else (pending.exchange, pending.reading)
        activity = current_activity(self._bridge, self._models, exchange, reading)
        if activity != self.activity:
            self.activity = activity
            self.activity_changed.emit()

    def clear_metrics(self) -> None:
        """Forget the figures of the last reply, unless one is being written."""
        if self.running is None:
            self.metrics.clear()
            self.measured = None
            self.metrics_changed.emit()

    def note_plain_speed(self, tokens_per_second: float) -> None:
        """Compare with this speed of plain decoding from now on."""
        self.metrics.note_plain_speed(tokens_per_second)
        self.metrics_changed.emit()

    def note_choice(self) -> None:
        """Update the figures' note on the lookahead after another choice, between replies."""
        if self.running is None and self.metrics.choose(self._selection()):
            self.metrics_changed.emit()
