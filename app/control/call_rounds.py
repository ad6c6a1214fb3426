"""Run the tool calls of replies: ask the user, store the result, and let the model continue with it.

A pending question is a stored reply that ends with a call without a result. So no state is held in memory, another
chat can be opened, and the question reappears after a restart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.bridge.job import Job
from app.control.messages import KeptMessages
from app.control.problems import describe
from app.control.tools import ToolDesk
from app.state.chat.tool_use import ToolQuestion, fields_of, open_calls, results_in
from app.state.chat.transcript import Exchange
from app.state.conversations.conversation import Conversation
from app.system.translation import say
from engine import Cancelled, ImagePart, InvalidRequest, Message, Permission, Toolbox, ToolCall, ToolOutput
from engine.host import CALL_REFUSED, PlannedCall, planned_calls, result_message

_OURS = "Outrider"


@dataclass(eq=False)
class _Running:
    """Hold the call that runs for a reply."""

    exchange: Exchange
    conversation: Conversation | None
    job: Job[ToolOutput]
    then: Callable[[], object] = lambda: None
    """Called when the cancelled call has ended."""


class CallRounds(QObject):
    """Run calls.

    Signals: changed(Exchange) (the display below its calls changes), running_changed(),
    answered(Exchange, Conversation or None) (all calls have a result: the model continues), failed(text).
    """

    changed = Signal(object)
    running_changed = Signal()
    answered = Signal(object, object)
    failed = Signal(str)

    def __init__(
        self,
        desk: ToolDesk,
        messages: KeptMessages,
        made: Callable[[Exchange, Conversation | None], int],
        before: Callable[[Exchange, Conversation | None], Sequence[Message]],
    ) -> None:
        """Set it up.

        `made` returns the number of earlier calls for the question of an exchange, `before` the reply that it
        continues, with its calls and results.
        """
        super().__init__()
        self._desk = desk
        self._messages = messages
        self._made, self._before = made, before
        self._running: dict[int, _Running] = {}
        self._more: dict[int | None, int] = {}
        self._closing = False

    def is_running(self, exchange: Exchange) -> bool:
        """Return True if a call of this reply runs now."""
        return id(exchange) in self._running

    @property
    def live(self) -> tuple[Exchange, ...]:
        """Return the exchanges for which a call runs."""
        return tuple(each.exchange for each in self._running.values())

    def running_in(self) -> frozenset[int]:
        """Return the conversations in which a call runs."""
        found = (each.conversation for each in self._running.values())
        return frozenset(each.id for each in found if each is not None)

    # Intents ----------------------------------------------------------------------------------------------------------

    def go_on(self, exchange: Exchange, conversation: Conversation | None, *, fresh: bool = True) -> None:
        """Run the next call of a reply that has ended, or ask the user about it.

        `fresh`: it has just been written; a call found in a stored chat never runs without a question.
        """
        calls = open_calls(exchange.reply_messages)
        if not calls:
            self._show(exchange, None)
            if exchange.calls and fresh:
                self.answered.emit(exchange, conversation)
            return
        toolbox = self._desk.toolbox(conversation)
        planned = planned_calls(Message("assistant", [calls[0]]), toolbox, self._before(exchange, conversation))[0]
        made = self._made(exchange, conversation) + results_in(exchange.reply_messages)
        limit = self._desk.choice.limit * (1 + self._more.get(exchange.reply_id, 0))
        if planned.tool is None:
            if fresh:
                self._take(exchange, conversation, planned.call, ToolOutput(planned.problem, is_error=True))
            elif toolbox.tools:
                self._show(exchange, ToolQuestion("unknown", planned.call.name))
        elif made >= limit:
            self._show(exchange, ToolQuestion("limit", say(planned.tool.title), planned.tool.server, made=made))
        else:
            given = self._desk.given(planned.tool, conversation) if fresh else None
            if given is None:
                self._ask(exchange, planned)
            else:
                self._decide(exchange, conversation, planned, toolbox, given)

    def answer(
        self,
        exchange: Exchange,
        conversation: Conversation | None,
        permission: Permission,
        changed: Mapping[str, Any] | None = None,
    ) -> None:
        """Allow the call that waits, or refuse it. `changed`: arguments in place of those that the model gave."""
        question = exchange.tools
        calls = open_calls(exchange.reply_messages)
        if not calls or self.is_running(exchange) or question is None or question.stage != "asking":
            return
        toolbox = self._desk.toolbox(conversation)
        call = ToolCall(calls[0].id, calls[0].name, {**calls[0].arguments, **(changed or {})})
        before = () if changed else self._before(exchange, conversation)
        planned = planned_calls(Message("assistant", [call]), toolbox, before)[0]
        if planned.tool is None:
            self.go_on(exchange, conversation)
            return
        try:
            self._desk.keep(planned.tool, permission, conversation)
        except InvalidRequest as error:
            self.failed.emit(describe(error).text)
            return
        self._decide(exchange, conversation, planned, toolbox, permission)

    def cancel(
        self, exchange: Exchange, conversation: Conversation | None, then: Callable[[], object] = lambda: None
    ) -> None:
        """End the running call; waiting ones are not run. The model does not go on by itself; `then` is called."""
        running = self._running.get(id(exchange))
        if running is not None:
            running.then = then
            running.job.cancel()
        else:
            self.settle(exchange, conversation)

    def more(self, exchange: Exchange, conversation: Conversation | None) -> None:
        """Continue beyond the limit of calls."""
        question = exchange.tools
        if question is not None and question.stage == "limit":
            made, limit = question.made, self._desk.choice.limit
            self._more[exchange.reply_id] = made // limit
            self.go_on(exchange, conversation)

    def settle(self, exchange: Exchange, conversation: Conversation | None) -> None:
        """Mark the waiting calls as not run, so that the conversation can go on without them."""
        waiting = open_calls(exchange.reply_messages)
        for call in waiting:
            self._keep(exchange, conversation, result_message(call, ToolOutput(_NOT_RUN, is_error=True)))
        if waiting:
            self._show(exchange, None)

    def stop(self) -> None:
        """Cancel the running calls, for closing: a call without a result by then waits again at the next start."""
        self._closing = True
        for running in list(self._running.values()):
            running.job.cancel()

    # Inside -----------------------------------------------------------------------------------------------------------

    def _ask(self, exchange: Exchange, planned: PlannedCall) -> None:
        tool = planned.tool
        if tool is None:
            return
        fields, more = fields_of(planned.call.arguments)
        answers = self._desk.permissions.choices(tool)
        self._show(exchange, ToolQuestion("asking", say(tool.title), tool.server, fields, more, answers))

    def _decide(
        self,
        exchange: Exchange,
        conversation: Conversation | None,
        planned: PlannedCall,
        toolbox: Toolbox,
        permission: Permission,
    ) -> None:
        if permission is Permission.never or planned.tool is None:
            self._take(exchange, conversation, planned.call, ToolOutput(CALL_REFUSED, is_error=True))
            return
        fields, more = fields_of(planned.call.arguments)
        job = self._desk.run(planned, toolbox)
        self._running[id(exchange)] = _Running(exchange, conversation, job)
        self._show(exchange, ToolQuestion("running", say(planned.tool.title), planned.tool.server, fields, more))
        self.running_changed.emit()
        job.result.add_done_callback(lambda done: self._ended(exchange, planned, done))

    def _ended(self, exchange: Exchange, planned: PlannedCall, done: asyncio.Future[ToolOutput]) -> None:
        running = self._running.pop(id(exchange), None)
        error = None if done.cancelled() else done.exception()
        if running is None or self._closing:
            return
        conversation = running.conversation
        if done.cancelled() or isinstance(error, Cancelled):
            self._keep(exchange, conversation, result_message(planned.call, ToolOutput(_CANCELLED, is_error=True)))
            self.settle(exchange, conversation)
            self._show(exchange, None)
            self.running_changed.emit()
            running.then()
            return
        output = done.result() if error is None else ToolOutput(describe(error).text, is_error=True)
        ours = planned.tool is not None and planned.tool.server == _OURS
        self._take(exchange, conversation, planned.call, output, pictures=output.pictures if ours else ())
        self.running_changed.emit()

    def _take(
        self,
        exchange: Exchange,
        conversation: Conversation | None,
        call: ToolCall,
        output: ToolOutput,
        pictures: tuple[str, ...] = (),
    ) -> None:
        text, (made, *_) = output.text, open_calls(exchange.reply_messages)
        if made.arguments != call.arguments:
            text = f"{_CHANGED} {call.arguments_json}\n{text}"
        message = result_message(call, ToolOutput(text, output.is_error, pictures))
        shown = [ImagePart(each) for each in pictures]
        self._keep(exchange, conversation, Message("tool", [*message.parts, *shown]))
        self.go_on(exchange, conversation)

    def _keep(self, exchange: Exchange, conversation: Conversation | None, result: Message) -> None:
        exchange.reply_messages = (*exchange.reply_messages, result)
        self._messages.keep_results(conversation, exchange)
        self.changed.emit(exchange)

    def _show(self, exchange: Exchange, question: ToolQuestion | None) -> None:
        if exchange.tools != question:
            exchange.tools = question
            self.changed.emit(exchange)


_NOT_RUN = "Not run: the user went on without it."
_CANCELLED = "The user cancelled this call."
_CHANGED = "The user changed the arguments of this call to"
