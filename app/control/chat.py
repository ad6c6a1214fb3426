"""Control a chat: handle the views' intents, track the screen, have replies generated and stored."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.bridge.bridge import EngineBridge
from app.control.call_rounds import CallRounds
from app.control.choices import Choices, as_kept
from app.control.conversations import ConversationController
from app.control.messages import KeptMessages
from app.control.models import ModelController
from app.control.replies import PendingReply, ReplyQueue
from app.control.tools import ToolDesk
from app.control.waiting import MOST, WaitingMessages
from app.state.chat.activity import Activity
from app.state.chat.intents import (
    AnswerCall,
    AnswerNow,
    CancelCall,
    Continue,
    Delete,
    DeleteReply,
    Edit,
    EditReply,
    EntryIntent,
    GoOn,
    LoadSources,
    LoadTrace,
    MoreCalls,
    Regenerate,
    ShowVersion,
)
from app.state.chat.messages import reply_messages
from app.state.chat.pictures import told_pictures
from app.state.chat.road import Pieces, Road, steer, take_road
from app.state.chat.tool_use import results_in
from app.state.chat.transcript import Entry, Exchange, Problem, Transcript, answered
from app.state.conversations.conversation import Conversation
from app.state.conversations.stored import exchanges
from app.state.models.selection import Selection
from app.state.models.targets import Server
from app.state.speculation.metrics import Metrics
from app.store.errors import StoreError
from app.store.other_programs import ImportReport
from app.system.translation import say_error
from app.words.damage import damage_words
from engine import Message

_MOST_PREDICTED = 65_536
"""Letters of a rewritten text that are passed on as the prediction."""


class ChatController(QObject):
    """Manage one chat on the screen: questions in, replies out. A reply continues while another chat is shown.

    Attributes: transcript, metrics, models (their controller), conversations, choices (the replies' settings),
    replies (those being written), tools (those that models may call), waiting (messages queued behind the current
    reply), activity.
    Signals: entry_added(Exchange | Notice), reply_grew(Exchange, text), reply_ended(Exchange), tools_changed(Exchange)
    (its calls or their results), cleared(), opened() (another conversation is shown), activity_changed(),
    busy_changed(bool), started_writing(Exchange). Other conversations emit only any_reply_ended(Exchange).
    """

    entry_added = Signal(object)
    reply_grew = Signal(object, str)
    reply_ended = Signal(object)
    tools_changed = Signal(object)
    any_reply_ended = Signal(object)
    cleared = Signal()
    opened = Signal()
    activity_changed = Signal()
    busy_changed = Signal(bool)
    started_writing = Signal(object)

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        bridge: EngineBridge,
        models: ModelController,
        conversations: ConversationController,
        choices: Choices,
        tools: ToolDesk,
    ) -> None:
        super().__init__()
        self.transcript = Transcript()
        self.models = models
        self.conversations = conversations
        self.choices = choices
        self.waiting = WaitingMessages(conversations)
        self.replies = ReplyQueue(loop, bridge, models, self._selection)
        choices.changed.connect(self.replies.note_choice)
        models.variables_changed.connect(choices.read_again)
        models.selection_changed.connect(self._note_target)
        models.list_changed.connect(self._note_target)
        self._messages = KeptMessages(conversations)
        self._was_busy = False
        self.tools = tools
        self._calls = CallRounds(tools, self._messages, self._calls_before, self._said_before)
        self._calls.changed.connect(self._show_calls)
        self._calls.answered.connect(self._go_on_from_results)
        self._calls.running_changed.connect(self._note_queue)
        self._calls.failed.connect(lambda text: self.report(Problem(text)))
        self.replies.grew.connect(self._grew)
        self.replies.began_writing.connect(self._began)
        self.replies.ended.connect(self._ended)
        self.replies.activity_changed.connect(self.activity_changed)
        models.failed.connect(self.report)
        conversations.failed.connect(self.report)
        conversations.removed.connect(self._removed)
        conversations.files.imported.connect(self._show_imported)
        conversations.files.chats_imported.connect(self._take_chats)
        conversations.files.activity_changed.connect(self.activity_changed)

    @property
    def metrics(self) -> Metrics:
        """Return the figures of the reply that is being written, or was last."""
        return self.replies.metrics

    @property
    def activity(self) -> Activity:
        shown = self._shown_reply()
        own, background = self.replies.activity_for(shown), self.conversations.files.activity
        free = own.work == "idle" or (own.work == "writing" and shown is None)
        return background if free and background.work != "idle" else own

    @property
    def busy(self) -> bool:
        """Return True if a message of the shown chat is being answered, or waits to be, or a tool runs for it."""
        return self._shown_reply() is not None or self._shown_call() is not None

    @property
    def answering(self) -> PendingReply | None:
        """Return the question of the chat on the screen that is being answered, or waits for that."""
        return self._shown_reply()

    # The chat on the screen -------------------------------------------------------------------------------------------

    def new_chat(self, project: int = 0) -> None:
        """Begin another conversation, in a project where one is named."""
        self.conversations.leave(project)
        self._clear()

    def open(self, conversation: int) -> None:
        shown = self.conversations.open
        if shown is not None and shown.id == conversation:
            return
        found = self.conversations.choose(conversation)
        if found is not None:
            self._show(found)

    def restore(self, conversation: int) -> None:
        """Show the conversation that was open last (0: none), when the program starts."""
        try:
            found = self.conversations.begin(conversation)
        except StoreError as error:
            self.report(Problem(say_error(error)))
            return
        if found is not None:
            self._show(found)
        elif not self.transcript.entries:
            self.cleared.emit()

    def undelete(self) -> None:
        """Restore the conversation that was deleted last."""
        found = self.conversations.undelete()
        if found is not None:
            self._show(found)

    def import_(self, path: Path) -> None:
        """Add the conversation of a file beside everything else, and show it when it is complete."""
        self.conversations.files.import_(path)

    def _show_imported(self, conversation: Conversation, entries: list[Exchange]) -> None:
        self.conversations.take_imported(conversation)
        self.transcript.entries = [*entries]
        self.opened.emit()
        self._show_open_calls()
        self._note_queue()

    def _take_chats(self, report: ImportReport) -> None:
        """List chats of another program, and show the only one."""
        self.conversations.take_chats(report)
        shown = self.conversations.open
        if shown is not None and any(each is shown for each, *_ in report.in_use):
            self._show(shown)
        if report.only is not None:
            self.open(report.only.id)

    def report(self, problem: Problem) -> None:
        """Show a problem that belongs to no question."""
        self.entry_added.emit(self.transcript.note(problem))

    def _show(self, conversation: Conversation) -> None:
        live: list[Entry] = [*(pending.exchange for pending in self.replies.queue), *self._calls.live]
        self.transcript.entries = [*exchanges(conversation, live)]
        self.opened.emit()
        if damage := damage_words(conversation):
            self.report(Problem(damage))
        self._show_open_calls()
        self._note_queue()

    def _clear(self) -> None:
        self.transcript.clear()
        self.replies.clear_metrics()
        self.cleared.emit()
        self._note_queue()

    def _removed(self, conversation: int) -> None:
        """Cancel the replies of a deleted conversation, since nobody waits for them."""
        for pending in list(self.replies.queue):
            if pending.conversation is not None and pending.conversation.id == conversation:
                self.replies.cancel(pending)
        shown = self.conversations.open
        self.waiting.forget(conversation)
        if shown is not None and shown.id == conversation:
            self.new_chat()

    # Questions and replies --------------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Ask the question `text`. While another one of this chat is answered, or a tool runs for it, it waits."""
        text = text.strip("\n")
        if not text.strip():
            return
        if not self.busy:
            self._ask(text)
        elif (chat := self.conversations.open) is not None and not self.waiting.add(chat, text):
            self.report(Problem(self.tr("No more than {count} messages can wait.").format(count=MOST)))

    def _ask(self, text: str) -> None:
        if (last := self._last()) is not None:
            self._calls.settle(last, self.conversations.open)
        exchange = self.transcript.ask(text)
        conversation = self._keep_question(exchange)
        pending = self._make_pending(exchange, conversation)
        self.entry_added.emit(exchange)
        self._begin(pending)

    def rewrite(self, text: str, what: str) -> Exchange | None:
        """Ask for a text of this chat again, changed; None if nothing can be asked now."""
        if self.busy or not what.strip():
            return None
        entries = [each for each in self.transcript.entries if isinstance(each, Exchange)]
        last = bool(entries) and entries[-1].shown == text
        wish = self.tr("Rewrite your last answer, all of it. Change only this:") if last else ""
        wish = wish or self.tr("Write this text again, all of it. Change only this:")
        fence = "~" * max(3, 1 + max(map(len, re.findall("~+", text)), default=0))
        quoted = "" if last else f"\n\n{fence}\n{text.rstrip()}\n{fence}"
        exchange = self.transcript.ask(f"{wish} {what.strip()}{quoted}")
        pending = self._make_pending(exchange, self._keep_question(exchange))
        pending.prediction = text[:_MOST_PREDICTED]
        self.entry_added.emit(exchange)
        self._begin(pending)
        return exchange

    def send_next(self, number: int) -> None:
        """Send a waiting message of the chat on the screen now. Its reply in progress is stopped, and stays."""
        chat, pending = self.conversations.open, self._shown_reply()
        if chat is None or number not in [each.number for each in self.waiting.of(chat)]:
            return
        self.waiting.move(chat, number, -MOST)
        if pending is not None:
            pending.sends_next = True
            self.replies.cancel(pending)
        elif (call := self._shown_call()) is not None:
            self._calls.cancel(call, chat, lambda: self._send_waiting(chat))
        else:
            self._send_waiting(chat)

    def _send_waiting(self, chat: Conversation) -> None:
        """Send the message that waits first, if its chat is still on the screen."""
        if chat is self.conversations.open and (text := self.waiting.take(chat)) is not None:
            self._ask(text)

    def steer(self, text: str) -> None:
        """Stop the reply of the chat on the screen, keep its text, add words, and continue it.

        Without a reply to continue the words are a message of their own.
        """
        pending, words = self._shown_reply(), text.strip()
        if pending is None or pending.conversation is None or (pending.cancelled and not pending.steered):
            self.send(text)
        elif words:
            pending.steered = f"{pending.steered} {words}".strip()
            self.replies.cancel(pending)

    def carry_out(self, intent: EntryIntent) -> None:
        """Carry out a reader's intent; nothing happens while a question of this chat is being answered."""
        match intent:
            case AnswerNow(exchange):
                self.replies.answer_now(exchange)
            case LoadTrace() | LoadSources():
                self._load(intent)
            case Edit(exchange, text):
                self._edit(exchange, text)
            case EditReply(exchange, text):
                self._edit_reply(exchange, text)
            case Regenerate(exchange, context):
                self._regenerate(exchange, context)
            case GoOn(exchange, index, given):
                self._go_on(exchange, index, given)
            case Continue(exchange):
                self._continue(exchange)
            case ShowVersion(exchange, part, step):
                self._show_version(exchange.question_id if part == "question" else exchange.reply_id, step)
            case Delete(exchange):
                self._delete(exchange.question_id)
            case DeleteReply(exchange):
                self._delete(exchange.reply_id)

    def _load(self, intent: LoadTrace | LoadSources) -> None:
        exchange = intent.exchange
        if isinstance(intent, LoadTrace):
            self.conversations.load_trace(exchange)
        else:
            exchange.sources = self.transcript.sources_for(exchange)

    def _edit(self, exchange: Exchange, text: str) -> None:
        conversation = self._free()
        place = self._place(exchange)
        if conversation is None or place is None or exchange.question_id is None or not text.strip():
            return
        question = self._messages.ask_in_other_words(conversation, exchange.question_id, text)
        self._answer_anew(conversation, question)

    def _regenerate(self, exchange: Exchange, context: int | None) -> None:
        conversation = self._free()
        if conversation is not None and exchange.question_id is not None:
            if context is not None:
                self.models.lengthen_context(context)
            self._answer_anew(conversation, exchange.question_id)

    def _go_on(self, exchange: Exchange, index: int, given: str | int) -> None:
        """Ask for another version of a reply that is the same up to a token."""
        conversation = self._free()
        if conversation is None or exchange.question_id is None or exchange.reply_id is None:
            return
        self.conversations.load_trace(exchange)
        target = self.choices.applied(self.models.selection_to_load).target
        same = self.models.goes_by(target, conversation[exchange.reply_id].target)
        road = take_road(
            exchange, index, given, "server" if isinstance(target, Server) else "same" if same else "other"
        )
        if road is not None:
            self._answer_anew(conversation, exchange.question_id, road)

    def _continue(self, exchange: Exchange) -> None:
        conversation = self._free()
        if conversation is None or exchange.reply_id is None or not exchange.unfinished:
            return
        self.conversations.load_trace(exchange)
        reply = exchange.reply_id
        exchange.continue_()
        pending = self._make_pending(exchange, conversation)
        self._messages.resume(conversation, reply, as_kept(pending.choice, pending.lookahead))
        self.opened.emit()
        self._begin(pending)

    def _show_version(self, message: int | None, step: int) -> None:
        conversation = self._free()
        if conversation is not None and message is not None:
            self._messages.step(conversation, message, step)
            self._show_again(conversation)

    def _edit_reply(self, exchange: Exchange, text: str) -> None:
        conversation = self._free()
        if conversation is not None and exchange.reply_id is not None and text.strip() and text != exchange.shown:
            self._messages.answer_in_other_words(conversation, exchange.reply_id, text)
            self._show_again(conversation)

    def _delete(self, message: int | None) -> None:
        conversation = self._free()
        if conversation is not None and message is not None:
            self.conversations.delete_message(conversation, message)
            self._show_again(conversation)

    def restore_messages(self) -> None:
        """Restore the messages that were deleted last, and show them."""
        if self.busy:
            return
        conversation = self.conversations.restore_messages()
        if conversation is None:
            return
        if conversation is self.conversations.open:
            self._show_again(conversation)
        elif self.conversations.is_listed(conversation):
            self.open(conversation.id)

    def cancel(self) -> None:
        """Stop the current work: the reply on the screen, else the work that the progress bar shows.

        A reply that is being written in another chat is left alone.
        """
        at_work = self.activity.work not in ("writing", "idle")
        background = self.activity.work in ("importing", "exporting")
        pending = self._shown_reply() or (self.replies.running if at_work and not background else None)
        call = self._shown_call() if self._shown_reply() is None else None
        if call is not None:
            self._calls.cancel(call, self.conversations.open)
        elif pending is not None:
            self.replies.cancel(pending)
        elif background:
            self.conversations.files.cancel()
        elif self.replies.running is None:
            self.models.cancel()

    async def stop(self) -> None:
        """End everything that runs, for closing."""
        self._calls.stop()
        self.models.stop()
        await self.replies.stop()

    def last_question(self) -> str:
        """Return the last question of this chat, without its pictures; empty if there is none."""
        questions = [entry.question for entry in self.transcript if isinstance(entry, Exchange) and entry.question]
        return told_pictures(questions[-1]) if questions else ""

    # A reply ----------------------------------------------------------------------------------------------------------

    def _answer_anew(self, conversation: Conversation, question: int, road: Road | None = None) -> None:
        """Generate a new reply to a stored question; the question then ends the transcript.

        `road`: what it begins with.
        """
        exchange = self._messages.show(conversation, question)
        if road is not None:
            exchange.begin(road.text, road.shown, road.trace)
        before = self._shown_before(conversation, question)
        self.transcript.entries = [*before, exchange]
        pending = self._make_pending(exchange, conversation, road)
        self.conversations.note(conversation)
        self.opened.emit()
        self._begin(pending)

    def _shown_before(self, conversation: Conversation, question: int) -> list[Exchange]:
        path = exchanges(conversation, self.transcript.entries)
        place = next(place for place, each in enumerate(path) if each.question_id == question)
        return path[:place]

    def _keep_question(self, exchange: Exchange) -> Conversation | None:
        try:
            return self._messages.ask(exchange)
        except StoreError as error:
            self.report(Problem(say_error(error)))
            return None

    def _make_pending(
        self,
        exchange: Exchange,
        conversation: Conversation | None,
        road: Road | None = None,
        messages: tuple[Message, ...] | None = None,
    ) -> PendingReply:
        chosen = self.choices.applied(self.models.selection_to_load)
        pending = PendingReply(
            exchange,
            conversation,
            self.transcript.messages_for(exchange, begun=road is None) if messages is None else messages,
            chosen.lookahead,
            chosen.files,
            self.choices.for_selection(chosen),
            prefix=() if road is None else road.prefix,
            forced=() if road is None else road.forced,
            ready=self._find_tools,
        )
        if conversation is not None:
            self._keep_reply(pending, conversation)
        return pending

    def _keep_reply(self, pending: PendingReply, conversation: Conversation) -> None:
        self._messages.begin_reply(
            conversation,
            pending.exchange,
            target=self.models.name_of(pending.wanted.target),
            draft=self.models.name_of_drafts(pending.wanted),
            settings=as_kept(pending.choice, pending.lookahead),
        )

    def _note_target(self) -> None:
        self.choices.note_target(self.models.list.by_path(self.models.list.selection.target))

    def _selection(self) -> Selection:
        """Return the chosen models and settings, as the next reply uses them."""
        return self.choices.applied(self.models.list.selection)

    def _begin(self, pending: PendingReply) -> None:
        self.replies.start(pending)
        self._note_queue()

    def _began(self, pending: PendingReply) -> None:
        if self._is_shown(pending):
            self.started_writing.emit(pending.exchange)

    def _grew(self, pending: PendingReply, text: str) -> None:
        self._messages.grow(pending.conversation, pending.exchange, text)
        if self._is_shown(pending):
            self.reply_grew.emit(pending.exchange, text)

    # Tools ------------------------------------------------------------------------------------------------------------

    def act_on_call(self, intent: EntryIntent) -> None:
        """Carry out a reader's intent for a tool call, if the chat on the screen ends with it."""
        match intent:
            case AnswerCall(exchange, permission, changed) if not self.busy and exchange is self._last():
                self._calls.answer(exchange, self.conversations.open, permission, changed)
            case MoreCalls(exchange) if not self.busy and exchange is self._last():
                self._calls.more(exchange, self.conversations.open)
            case CancelCall(exchange) if exchange is self._last():
                self._calls.cancel(exchange, self.conversations.open)

    async def _find_tools(self, pending: PendingReply) -> None:
        """Set the tools that a reply may call, once servers that are starting are ready."""
        await self.tools.settled()
        pending.tools = self.tools.toolbox(pending.conversation).functions()

    def _go_on_from_results(self, exchange: Exchange, conversation: Conversation | None) -> None:
        """Continue from the results of a reply's calls, whichever chat is on the screen."""
        shown = self._place(exchange) is not None
        following = Exchange("") if conversation is None else self._messages.go_on(conversation, exchange)
        if shown:
            before: list[Entry] = [*self.transcript.entries]
            self.transcript.entries = [*before, following]
        else:
            before = [] if conversation is None else list[Entry](exchanges(conversation)[:-1])
        pending = self._make_pending(following, conversation, messages=tuple(answered(before)))
        if shown:
            self.entry_added.emit(following)
        self._begin(pending)

    def _calls_before(self, exchange: Exchange, conversation: Conversation | None) -> int:
        """Count the calls for the question of an exchange, in those before it."""
        return sum(results_in(each.reply_messages) for each in self._goes_on_from(exchange, conversation))

    def _said_before(self, exchange: Exchange, conversation: Conversation | None) -> Sequence[Message]:
        """Return the reply that an exchange goes on from, with its calls and results."""
        above = next(self._goes_on_from(exchange, conversation), None)
        return () if above is None else reply_messages(above.reply, above.reply_messages)

    def _goes_on_from(self, exchange: Exchange, conversation: Conversation | None) -> Iterator[Exchange]:
        """Yield the exchanges with calls for the same question before this one, the last one first."""
        path: list[Entry] = [*self.transcript.entries]
        if conversation is not None and self._place(exchange) is None:
            path = [*exchanges(conversation)]
        at = next((n for n, each in enumerate(path) if _is_same(each, exchange)), 0)
        while at > 0 and isinstance(here := path[at], Exchange) and here.goes_on:
            at -= 1
            if isinstance(above := path[at], Exchange):
                yield above

    def _show_calls(self, exchange: Exchange) -> None:
        if self._place(exchange) is not None:
            self.tools_changed.emit(exchange)

    def _show_open_calls(self) -> None:
        """Ask again about the calls with which the chat on the screen ends."""
        last = self._last()
        if last is not None and last.status == "done" and not self.busy and last.tools is None:
            self._calls.go_on(last, self.conversations.open, fresh=False)

    def _last(self) -> Exchange | None:
        return next((each for each in reversed(self.transcript.entries) if isinstance(each, Exchange)), None)

    def _shown_call(self) -> Exchange | None:
        """Return the exchange of the chat on the screen for which a tool runs."""
        last = self._last()
        return last if last is not None and self._calls.is_running(last) else None

    # The end of a reply -----------------------------------------------------------------------------------------------

    def _ended(self, pending: PendingReply) -> None:
        self._messages.finish(pending.conversation, pending.exchange)
        if self._is_shown(pending):
            self.transcript.note_once(pending.exchange)
            self.reply_ended.emit(pending.exchange)
        hurried = bool(pending.steered or pending.sends_next)
        calls = bool(pending.tools and pending.exchange.calls) and not hurried
        if pending.exchange.status == "done" and pending.tools and not hurried:
            self._calls.go_on(pending.exchange, pending.conversation)
        # What waits is sent behind the reply that follows the calls.
        if calls or not self._go_on_behind(pending):
            self.any_reply_ended.emit(pending.exchange)
        self._note_queue()

    def _go_on_behind(self, ended: PendingReply) -> bool:
        """Continue a steered reply, or send the next message that waits for it; return True if there was one."""
        conversation, exchange = ended.conversation, ended.exchange
        if conversation is None or ended.interrupted or exchange.reply_id not in conversation:
            return False
        if ended.steered:
            self._continue_reply(ended, conversation)
            return True
        # Where the reply was stopped or failed, what waits is kept back until somebody sends it.
        if (exchange.status == "done" or ended.sends_next) and (text := self.waiting.take(conversation)) is not None:
            self._ask_behind(ended, conversation, text)
            return True
        return False

    def _continue_reply(self, ended: PendingReply, conversation: Conversation) -> None:
        exchange = ended.exchange
        road, stats = steer(exchange, ended.steered), exchange.stats
        exchange.begin(road.text, road.shown, road.trace)
        exchange.stats_before = stats
        self._messages.keep_results(conversation, exchange)
        self._messages.resume(conversation, exchange.reply_id or 0, as_kept(ended.choice, ended.lookahead))
        begun = ended.messages[-1].role == "assistant"
        messages = ended.messages[:-1] if begun else ended.messages
        self._begin(_like(ended, exchange, messages, road.prefix, road.forced))
        if self._is_shown(ended):
            self.opened.emit()

    def _ask_behind(self, ended: PendingReply, conversation: Conversation, text: str) -> None:
        """Ask in the conversation of a reply that has ended, be it on the screen or not."""
        self._calls.settle(ended.exchange, conversation)
        if self._is_shown(ended):
            self._ask(text)
            return
        chat = Transcript()
        chat.entries = [*exchanges(conversation, [ended.exchange])]
        exchange = chat.ask(text)
        self._messages.ask(exchange, conversation)
        pending = _like(ended, exchange, chat.messages_for(exchange))
        self._keep_reply(pending, conversation)
        self._begin(pending)

    # Which ------------------------------------------------------------------------------------------------------------

    def _shown_reply(self) -> PendingReply | None:
        """Return the reply that the chat on the screen waits for."""
        return next((pending for pending in self.replies.queue if self._is_shown(pending)), None)

    def _is_shown(self, pending: PendingReply) -> bool:
        return self._place(pending.exchange) is not None

    def _place(self, exchange: Exchange) -> int | None:
        """Return the index of a shown exchange, searched from the end, where most are."""
        entries = self.transcript.entries
        return next((place for place in reversed(range(len(entries))) if entries[place] is exchange), None)

    def _free(self) -> Conversation | None:
        """Return the open conversation, if it may be changed now."""
        return None if self.busy else self.conversations.open

    def _show_again(self, conversation: Conversation) -> None:
        self.transcript.entries = [*exchanges(conversation, self.transcript.entries)]
        if self.transcript.entries:
            self.opened.emit()
        else:
            self.cleared.emit()
        self._show_open_calls()

    def _note_queue(self) -> None:
        if self.busy != self._was_busy:
            self._was_busy = self.busy
            self.busy_changed.emit(self.busy)
        self.activity_changed.emit()
        kept = (pending.conversation for pending in self.replies.queue)
        answering = frozenset(each.id for each in kept if each is not None)
        self.conversations.note_writing(answering | self._calls.running_in())


def _is_same(entry: Entry, exchange: Exchange) -> bool:
    """Return True if an entry stands for an exchange, be it as another object."""
    if entry is exchange:
        return True
    kept = exchange.reply_id is not None and isinstance(entry, Exchange)
    return kept and isinstance(entry, Exchange) and entry.reply_id == exchange.reply_id


def _like(
    ended: PendingReply, exchange: Exchange, messages: tuple[Message, ...], prefix: Pieces = (), forced: Pieces = ()
) -> PendingReply:
    """Return a reply that is asked for as another one was."""
    wanted, choice = ended.wanted, ended.choice
    pending = PendingReply(exchange, ended.conversation, messages, ended.lookahead, wanted, choice, prefix, forced)
    pending.ready = ended.ready
    return pending
