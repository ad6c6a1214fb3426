"""Hold the conversation on the screen: questions, replies, and problems."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Literal

from app.state.chat.citations import CitedPart, sources_in
from app.state.chat.displayed_reply import Added, DisplayedReply, messages_of
from app.state.chat.messages import Messages, question_messages, reply_messages, text_of_messages
from app.state.chat.tool_use import ToolQuestion
from engine import FinishReason, GenerationResult, GenerationStats, ImagePart, Message, ToolCall, ToolResult

if TYPE_CHECKING:
    from app.state.chat.trace import TokenTrace

ReplyStatus = Literal["waiting", "writing", "done", "cancelled", "failed", "interrupted"]
"""`interrupted`: the program ended while the reply was being written; found so at the next start."""
Action = Literal["choose-folder", "longer-context"]
ExchangePart = Literal["question", "reply"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Describe a problem to a person. `details` is for a report to the developers, None if `text` says everything.

    `context`: tokens of context with which the question would fit, None if that is not the problem or does not help.
    """

    text: str
    details: str | None = None
    action: Action | None = None
    context: int | None = None


@dataclass(slots=True)
class Exchange:
    """Hold a question and its reply. `stats` and `finish_reason` are known when the reply has ended.

    `dropped_turns`: the number of oldest messages dropped from the prompt, as they no longer fit. `notes`: the engine's
    notes on the prompt, while the chat is open. `question_id`, `reply_id`: the messages in the store, once stored.
    `question_branch`, `reply_branch`: number of the shown version, from 1, and the count of versions.
    `created`: the time of the question, in seconds since 1970. `trace`: the reply's tokens, one by one.
    `models`: the reply's models, for people. `damaged`: the parts that differ from those written.
    `question_messages`, `reply_messages`: content of question and reply besides their texts (app.state.chat.messages).
    `sources`: the passages of documents that the model had read, once requested (`Transcript.sources_for`).
    `question_draft`, `reply_draft`: edits of them that are being typed, "" for none.
    `tools`: the card below the reply's tool calls while they wait, run, or are too many.
    """

    question: str
    status: ReplyStatus = "waiting"
    finish_reason: FinishReason | None = None
    problem: Problem | None = None
    dropped_turns: int = 0
    notes: tuple[str, ...] = ()
    question_id: int | None = None
    reply_id: int | None = None
    question_branch: tuple[int, int] = (1, 1)
    reply_branch: tuple[int, int] = (1, 1)
    created: float | None = None
    trace: TokenTrace | None = None
    models: str = ""
    damaged: frozenset[ExchangePart] = frozenset()
    question_messages: Messages = ()
    reply_messages: Messages = ()
    question_draft: str = ""
    reply_draft: str = ""
    sources: tuple[CitedPart, ...] = ()
    tools: ToolQuestion | None = None
    shown_tokens: int = 0
    """Of its record: how many there were when the last one added to what is shown."""
    _before: str = ""
    _parts: list[str] = field(default_factory=list)
    _shown: DisplayedReply | None = field(default=None, repr=False, compare=False)
    _stats: GenerationStats | None = None
    stats_before: GenerationStats | None = None
    """The figures of the earlier part, while the reply goes on."""
    _read_stats: Callable[[], GenerationStats | None] | None = field(default=None, repr=False, compare=False)

    @property
    def stats(self) -> GenerationStats | None:
        if self._read_stats is not None:
            self._stats, self._read_stats = self._read_stats(), None
        return self._stats

    @stats.setter
    def stats(self, stats: GenerationStats | None) -> None:
        self._stats, self._read_stats = stats, None

    def read_stats_later(self, read: Callable[[], GenerationStats | None]) -> None:
        """Set the function that reads the figures on demand: nobody looks at all replies of a long chat."""
        self._read_stats = read

    @property
    def reply(self) -> str:
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    @property
    def shown(self) -> str:
        """Return the reply's display text so far: without tool calls, thoughts between their markers."""
        if self._shown is not None:
            return self._shown.text
        return (
            text_of_messages(each for each in self.reply_messages if each.role == "assistant")
            if self.reply_messages
            else self.reply
        )

    @property
    def calls(self) -> tuple[ToolCall | ToolResult, ...]:
        """Return the tool calls of the reply, and their results, in their order."""
        return tuple(
            part for each in self.reply_messages for part in each.parts if isinstance(part, ToolCall | ToolResult)
        )

    @property
    def goes_on(self) -> bool:
        """Return True if nobody asked anything: the reply goes on from results of tools."""
        return not self.question and not self.question_messages

    @property
    def pictures(self) -> tuple[str, ...]:
        """Return the addresses of the pictures that tools gave for the reader."""
        tools = (each for each in self.reply_messages if each.role == "tool")
        return tuple(part.url for each in tools for part in each.parts if isinstance(part, ImagePart))

    @property
    def ended(self) -> bool:
        """Return True if the reply is complete or given up."""
        return self.status in ("done", "cancelled", "failed", "interrupted")

    @property
    def unfinished(self) -> bool:
        """Return True if the reply broke off and can be continued."""
        cut = self.finish_reason == "length" or self.status in ("cancelled", "interrupted")
        return self.answered and cut

    @property
    def answered(self) -> bool:
        """Return True if the model reads it: it has a reply, perhaps a partial one."""
        return self.ended and bool(self.reply_messages or self.reply.strip())

    def add(self, text: str, added: Added | None = None) -> None:
        """Append more text to the reply. `added`: its additions to reasoning and content, if known."""
        self.status = "writing"
        self._parts.append(text)
        if added is not None and self._shown is None:
            self._shown = DisplayedReply()
        if self._shown is not None:
            self._shown.add([("content", text)] if added is None else added)

    def begin(self, reply: str, shown: str, trace: TokenTrace | None) -> None:
        """Begin the reply with the kept part of another one, and of its record."""
        self._parts, self._shown, self.trace = [reply], DisplayedReply(shown), trace
        self.stats = None if trace is None else trace.figures()
        self.continue_()

    def continue_(self) -> None:
        """Continue the reply: new text follows the present one."""
        # It goes on as the model wrote it.
        self._shown = DisplayedReply(self.shown)
        self._before, self.reply_messages, self.stats_before = self.reply, (), self.stats
        self.shown_tokens = 0 if self.trace is None else len(self.trace)
        self.status, self.problem, self.stats, self.finish_reason = "waiting", None, None, None

    def end(self, result: GenerationResult) -> None:
        """End the reply, complete or not. `result`: of this run, without the earlier text."""
        self._parts = [self._before + result.text]
        self.reply_messages = messages_of(result, self._before)
        self.stats = result.stats if self.stats_before is None else self.stats_before + result.stats
        self.finish_reason = result.finish_reason
        self.dropped_turns, self.notes = result.dropped_turns, result.notes
        self.status = {"cancelled": "cancelled", "error": "failed"}.get(result.finish_reason, "done")  # type: ignore[assignment]

    def cancel(self) -> None:
        """Cancel the reply before the engine has given a result."""
        if not self.ended:
            self.status = "cancelled"
        if self.stats is None:
            self.stats = self.stats_before
        self.stats_before = None

    def interrupt(self) -> None:
        """Mark a reply that the end of the program broke off: nobody cancelled it."""
        if self.status == "cancelled":
            self.status = "interrupted"

    def fail(self, problem: Problem) -> None:
        """Mark the reply as failed; its text stays."""
        self.status = "failed"
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Notice:
    """Hold a problem that belongs to no question."""

    problem: Problem


Entry = Exchange | Notice


class Transcript:
    """Hold all entries of one chat, in order."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def ask(self, question: str) -> Exchange:
        exchange = Exchange(question)
        self.entries.append(exchange)
        return exchange

    def note(self, problem: Problem) -> Notice:
        """Add a problem that belongs to no question."""
        notice = Notice(problem)
        self.entries.append(notice)
        return notice

    def note_once(self, exchange: Exchange) -> None:
        """Leave out of an exchange the notes that another one has: each is shown once in a chat."""
        others = [entry for entry in self.entries if isinstance(entry, Exchange) and entry is not exchange]
        shown = {note for other in others for note in other.notes}
        exchange.notes = tuple(note for note in exchange.notes if note not in shown)

    def clear(self) -> None:
        self.entries = []

    def messages_for(self, exchange: Exchange, *, begun: bool = True) -> tuple[Message, ...]:
        """Return the whole conversation up to a question that is to be answered now.

        Questions without a reply (cancelled, failed) are left out: the model never answered them. Of a reply that is to
        be continued the last message is what there is of it, as the assistant's, but where not `begun`.
        """
        messages = answered(takewhile(lambda entry: entry is not exchange, self.entries))
        messages += _question_of(exchange)
        if exchange.reply and begun:
            messages.append(Message("assistant", exchange.reply))
        return tuple(messages)

    def sources_for(self, exchange: Exchange | None) -> tuple[CitedPart, ...]:
        """Return the parts of documents that a model has read up to a question; None: in all of the chat."""
        found: list[CitedPart] = []
        for entry in self.entries:
            if isinstance(entry, Exchange):
                found += sources_in(entry.question)
            if entry is exchange:
                break
        return tuple(found)

    def messages_until(self, exchange: Exchange, *, reply: bool) -> tuple[Message, ...]:
        """Return the conversation up to a question, or up to the reply to it."""
        messages = answered(takewhile(lambda entry: entry is not exchange, self.entries))
        messages += _question_of(exchange)
        return (*messages, *reply_messages(exchange.reply, exchange.reply_messages)) if reply else tuple(messages)


def answered(entries: Iterable[Entry]) -> list[Message]:
    """Return the questions that have a reply, each with it."""
    messages: list[Message] = []
    for entry in entries:
        if isinstance(entry, Exchange) and entry.answered:
            messages += [*_question_of(entry), *reply_messages(entry.reply, entry.reply_messages)]
    return messages


def _question_of(exchange: Exchange) -> Messages:
    return () if exchange.goes_on else question_messages(exchange.question, exchange.question_messages)
