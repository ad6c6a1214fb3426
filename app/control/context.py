"""Track the use of the context: query the engine in the background, when typing has stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal

from app.bridge.bridge import EngineBridge, Job
from app.bridge.tasks import Tasks
from app.control.attachments import Attachments
from app.control.chat import ChatController
from app.control.problems import describe
from app.control.replies import PendingReply
from app.state.chat.context_use import ContextUse, TokenCount, use_of
from app.state.chat.messages import question_messages
from app.state.chat.transcript import answered
from app.state.models.targets import Target
from engine import Cancelled, EngineError, Message

WAIT_MS = 250
LONG_WAIT_MS = 1_500
_AT_ONCE = 1_000
_LONG = 400_000
"""Characters of a conversation with its files from which on it is counted more rarely: counting takes a moment."""


class ContextController(QObject):
    """Track the size of the prompt as if the message were sent now.

    Attribute: use, None if unknown (no target is loaded, or the count is not finished).
    Signals: changed(), counted() (the typed text is counted, or cannot be).
    `typed` returns the question in the prompt box, with its files.
    """

    changed = Signal()
    counted = Signal()

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        bridge: EngineBridge,
        controller: ChatController,
        attachments: Attachments,
        typed: Callable[[], str],
    ) -> None:
        super().__init__()
        self.use: ContextUse | None = None
        self._counted: ContextUse | None = None
        self._bridge = bridge
        self._controller = controller
        self._attachments = attachments
        self._typed = typed
        self._job: Job[TokenCount] | None = None
        self._history: tuple[Message, ...] | None = None
        self._state = object()
        self._target: Target | None = None
        self._tasks = Tasks(loop)
        self._stopped = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._count)
        self._attachments.changed.connect(self.note_typed)
        controller.opened.connect(self._note_other)
        controller.cleared.connect(self._note_other)
        controller.reply_ended.connect(self._note_conversation)
        controller.busy_changed.connect(self._note_busy)
        controller.choices.changed.connect(self.note_typed)
        controller.tools.changed.connect(self.note_typed)
        controller.models.loaded_changed.connect(self._note_models)
        controller.replies.metrics_changed.connect(self._note_reply)

    @property
    def settled(self) -> bool:
        """Return True if no count is running or about to start."""
        return not self._timer.isActive() and not self._tasks

    def note_typed(self) -> None:
        """Count the changed text in a moment."""
        if not self._stopped:
            self._timer.start(LONG_WAIT_MS if self._size() > _LONG else WAIT_MS)

    def stop(self) -> None:
        """Stop counting at the end of the program."""
        self._stopped = True
        self._timer.stop()
        self._tasks.cancel()

    def _size(self) -> int:
        files = sum(len(each.text) for each in self._attachments.attachments)
        return files + sum(len(message.content) for message in self._history or ())

    def _note_other(self) -> None:
        """Reset after a change of entries; figures that another chat's reply moved are cleared meanwhile."""
        self._counted = None
        if self._controller.activity.work != "idle":
            self._show(None)
        self._note_conversation()

    def _note_conversation(self) -> None:
        self._forget_history()
        self.note_typed()

    def _forget_history(self) -> None:
        self._history = None
        self._state = object()

    def _note_models(self) -> None:
        if self._bridge.loaded.target != self._target:
            self._target = self._bridge.loaded.target
            self._attachments.forget_tokens()
            self._counted = None
            if self._job is not None:
                self._job.cancel()
            self._show(None)
        self.note_typed()

    def _note_busy(self, busy: bool) -> None:
        self._forget_history()
        if busy:
            self._count()
        else:
            self.note_typed()

    def _note_reply(self) -> None:
        """Move the meter with a reply while it is written, from the count before it."""
        pending, use = self._controller.answering, self._counted
        if pending is not None and pending.exchange.status == "writing" and use is not None:
            # A reply that goes on was counted as far as it had come, but where it begins with tokens.
            before = None if pending.prefix else pending.exchange.stats_before
            used = use.used + self._controller.metrics.emitted - (0 if before is None else before.emitted)
            self._show(replace(use, used=min(used, use.available), typed=0))

    def _count(self) -> None:
        self._timer.stop()
        self._state = object()
        pending = self._controller.answering
        if pending is not None and pending.exchange.status != "waiting" and self._counted is not None:
            return  # `_note_reply` goes on from there.
        if self._job is not None:
            self._job.cancel()
        if self._bridge.loaded.target is None:
            self._tell(None)
            return
        self._tasks.start(self._ask(pending))

    async def _ask(self, pending: PendingReply | None) -> None:
        uncounted = [each.block for each in self._attachments.attachments if each.tokens is None]
        choice = self._controller.choices.read if pending is None else pending.choice
        messages = () if pending is None else pending.messages
        asks = pending is not None and pending.exchange.status == "waiting" and messages[-1].role == "user"
        if pending is None:
            state = self._state
            history = await self._read_history()
            if state is not self._state:
                return
            self._history = history
            typed = question_messages(self._typed())
            # Nothing typed is no question: the chat is as it was said so far.
            messages, asks = (*history, *typed), any(each.content for each in typed)
            messages = messages if asks or not history else history
        tools = self._controller.tools.functions() if pending is None else pending.tools
        job = self._job = self._bridge.count_tokens(messages, uncounted, choice, tools)
        try:
            count = await job.result
        except Cancelled:
            return
        except EngineError:
            # A text that this model cannot read is reported on sending.
            self._tell(None)
            return
        except Exception as error:  # noqa: BLE001 - logged; a meter is not worth a message
            describe(error)
            self._tell(None)
            return
        if job is self._job:
            self._attachments.note_tokens(dict(zip(uncounted, count.texts, strict=True)))
            if self._controller.answering is pending:
                self._counted = use_of(count.fit if asks else replace(count.fit, typed=0))
                self._tell(self._counted)
                self._note_reply()

    async def _read_history(self) -> tuple[Message, ...]:
        """Gather the turns so far; of a long chat bit by bit, so that the window goes on."""
        if self._history is not None:
            return self._history
        entries = self._controller.transcript.entries
        found = answered(entries[:_AT_ONCE])
        for start in range(_AT_ONCE, len(entries), _AT_ONCE):
            await asyncio.sleep(0)
            found += answered(entries[start : start + _AT_ONCE])
        return tuple(found)

    def _tell(self, use: ContextUse | None) -> None:
        """Show the count; it is current if nothing was typed meanwhile."""
        self._show(use)
        if not self._timer.isActive():
            self.counted.emit()

    def _show(self, use: ContextUse | None) -> None:
        if use != self.use:
            self.use = use
            self.changed.emit()
