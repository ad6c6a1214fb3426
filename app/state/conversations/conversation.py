"""Hold a conversation as a tree of messages: each edit and each new reply is a branch; one path is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from app.state.chat.attachments import split_question
from app.state.chat.messages import Messages
from app.state.chat.stored_documents import StoredDocument

Role = Literal["user", "assistant"]
ConversationPart = Literal["title", "settings"]
MessageStatus = Literal["waiting", "writing", "done", "cancelled", "failed", "interrupted"]
ROLES: tuple[Role, ...] = ("user", "assistant")
STATUSES: tuple[MessageStatus, ...] = ("waiting", "writing", "done", "cancelled", "failed", "interrupted")
UNFINISHED: tuple[MessageStatus, ...] = ("waiting", "writing")

_LONGEST_TITLE = 48
_FIRST_PART = 2_000
_SENTENCE_END = re.compile(r"(?<=[^\s.!?。！？].)[.!?](?=\s)|[。！？]")  # noqa: RUF001 - full-width signs end sentences
_FENCE = re.compile(r"^\s*(```|~~~)")
_LEADING_MARKS = re.compile(r"^(?:\s*(?:#{1,6}\s|>|[-*+]\s|\d{1,3}[.)]\s))+\s*")
_LINK = re.compile(r"!?\[([^\][]*)\]\([^()\s]*\)")
_MARKS = re.compile(r"\*\*|__|~~|`+|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")


@dataclass(slots=True)
class StoredMessage:
    """Hold a question or a reply. A question's parent is the reply before it, a reply's parent is its question.

    `parent` None: it begins the conversation. `created`: seconds since 1970, UTC. `status` "interrupted": the program
    ended while the reply was being written. `target`, `draft`: names of its models. `settings`, `stats`: JSON values.
    `problem`: a message for the user. `chosen`: its child that was last on the screen. `damaged`: the stored data
    differ from those written. `messages`: its content besides the text (app.state.chat.messages).
    """

    id: int
    parent: int | None
    role: Role
    text: str
    created: float
    status: MessageStatus = "done"
    target: str = ""
    draft: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    stats: dict[str, Any] | None = None
    finish_reason: str | None = None
    problem: str | None = None
    chosen: int | None = None
    damaged: bool = False
    messages: Messages = ()


@dataclass(slots=True)
class ConversationSummary:
    """Hold a line of the list. `updated`, `created`: seconds since 1970, UTC. `messages`: of all branches.

    `project`: the one that it is in, 0 for none; its own id where it is a project.
    """

    id: int
    title: str
    created: float
    updated: float
    pinned: bool = False
    messages: int = 0
    project: int = 0

    @property
    def is_project(self) -> bool:
        """Return True if it is a project. One with messages is a chat, whatever its line says."""
        return self.project == self.id and not self.messages


TYPED, FILES, WAITING = 0, -1, -2
"""Drafts of a conversation's prompt: the typed text, its files, and the messages that wait for the reply
before them, as JSON; others are of messages, by id."""


class Conversation:
    """Hold the tree in memory; one path of it, from a first message to a leaf, is on the screen.

    Attributes: id, title ("" until the first question), created, updated, pinned, chosen (the first message of the
    path), settings (of its next replies, as JSON values; {}: those of new conversations), damaged (title or
    settings, if they differ from those written), drafts (typed and not sent: TYPED, FILES, WAITING, or the id of the
    edited message), documents (during an import or export; otherwise they are in the store), project (as in
    ConversationSummary: a project is a conversation without messages, whose settings and documents apply to its chats).
    The path follows the `chosen` of each message, or else the newest child.
    Every method that takes an id raises KeyError for an unknown message.
    """

    def __init__(self, id: int, created: float, *, title: str = "", pinned: bool = False) -> None:  # noqa: A002
        self.id = id
        self.title = title
        self.created = created
        self.updated = created
        self.pinned = pinned
        self.chosen: int | None = None
        self.settings: dict[str, Any] = {}
        self.damaged: set[ConversationPart] = set()
        self.drafts: dict[int, str] = {}
        self.documents: tuple[StoredDocument, ...] = ()
        self.project = 0
        self._moved: dict[int | None, int | None] = {}
        self._messages: dict[int, StoredMessage] = {}
        self._below: dict[int | None, list[int]] = {None: []}

    # Looking ------------------------------------------------------------------------------------------------------

    @property
    def is_project(self) -> bool:
        return self.summary().is_project

    def __len__(self) -> int:
        return len(self._messages)

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._messages

    def __getitem__(self, message_id: int) -> StoredMessage:
        return self._messages[message_id]

    def __iter__(self) -> Iterator[StoredMessage]:
        return iter(self._messages.values())

    @property
    def messages(self) -> Mapping[int, StoredMessage]:
        """Return all messages of all branches by id, parents before children."""
        return self._messages

    @property
    def path(self) -> list[StoredMessage]:
        """Return the messages on the screen, from the first to the leaf."""
        return [self._messages[message_id] for message_id in self._down_from(None)]

    @property
    def leaf(self) -> StoredMessage | None:
        """Return the last message on the screen; None in an empty conversation."""
        line = self.path
        return line[-1] if line else None

    def above(self, message_id: int) -> list[StoredMessage]:
        """Return the messages from the first to this one, both included, also if they are not on the screen."""
        line = []
        step: int | None = message_id
        while step is not None:
            line.append(self._messages[step])
            step = line[-1].parent
        return line[::-1]

    def below(self, message_id: int) -> list[int]:
        """Return the message and all below it on all branches, parents first."""
        found = [self._messages[message_id].id]
        for each in found:
            found += self._below.get(each, ())
        return found

    def children(self, message_id: int | None) -> tuple[int, ...]:
        """Return the messages right below this one, oldest first; of None the first messages of all branches."""
        return tuple(self._below.get(message_id, ()))

    def siblings(self, message_id: int) -> tuple[int, ...]:
        """Return the messages that stand in the same place, oldest first, this one included."""
        return tuple(self._below[self._messages[message_id].parent])

    def branch(self, message_id: int) -> tuple[int, int]:
        """Return the number of this message among its siblings, from 1, and their count."""
        siblings = self._below[self._messages[message_id].parent]
        if len(siblings) == 1:
            return 1, 1
        return siblings.index(message_id) + 1, len(siblings)

    def summary(self) -> ConversationSummary:
        return ConversationSummary(
            self.id, self.title, self.created, self.updated, self.pinned, len(self), self.project
        )

    def copy(self) -> Conversation:
        """Return the same messages for another thread; later changes are not in it."""
        same = Conversation(self.id, self.created, title=self.title, pinned=self.pinned)
        same.updated, same.chosen, same.settings = self.updated, self.chosen, self.settings
        same.damaged, same.documents, same.project = set(self.damaged), self.documents, self.project
        same._messages = dict(self._messages)
        same._below = {parent: [*below] for parent, below in self._below.items()}
        return same

    # Changing -----------------------------------------------------------------------------------------------------

    def add(self, message: StoredMessage) -> None:
        """Add a message below its parent, the newest of its siblings. Where its parent is on the screen, so is it.

        Raises ValueError if the id is there already, a reply follows no question, or it would be its own parent.
        """
        if message.id in self._messages or message.parent == message.id:
            raise ValueError(f"the message {message.id} is there already")
        parent = None if message.parent is None else self._messages[message.parent]
        if message.role == "assistant" and (parent is None or parent.role != "user"):
            raise ValueError("a reply needs a question above it")
        self._insert(message)
        self.point(message.parent, message.id)
        self.updated = max(self.updated, message.created)

    def grow(self, messages: Iterable[StoredMessage]) -> None:
        """Add messages, parents first. What is on the screen stays there; new ones are where nothing stood below."""
        for message in messages:
            below = self._below.get(message.parent) or [message.id]
            if self._pointed(message.parent) is None:
                self.point(message.parent, below[-1])
            self._insert(message)
            self.updated = max(self.updated, message.created)

    def choose(self, message_id: int) -> None:
        """Show the branch of this message, below it the one that was last shown there."""
        for message in self.above(message_id):
            self.point(message.parent, message.id)

    def point(self, parent: int | None, child: int | None) -> None:
        """Choose the message to show below another one; None is the newest."""
        if self._pointed(parent) == child:
            return
        self._moved[parent] = child
        if parent is None:
            self.chosen = child
        else:
            self._messages[parent].chosen = child

    def step(self, message_id: int, step: int) -> int:
        """Show the sibling `step` places further, as far as there are any. Returns its id."""
        siblings = self.siblings(message_id)
        place = siblings.index(message_id) + step
        chosen = siblings[min(max(place, 0), len(siblings) - 1)]
        self.choose(chosen)
        return chosen

    def delete(self, message_id: int) -> list[int]:
        """Delete a message with all below it. Shown is then the sibling before it, or the next. Returns the ids."""
        gone = self.below(message_id)
        parent = self._messages[message_id].parent
        siblings = self._below[parent]
        place = siblings.index(message_id)
        siblings.pop(place)
        for each in gone:
            del self._messages[each]
            self._below.pop(each, None)
            self._moved.pop(each, None)
        if self._pointed(parent) == message_id:
            self.point(parent, siblings[max(place - 1, 0)] if siblings else None)
        return gone

    def restore(self, messages: Sequence[StoredMessage]) -> None:
        """Undo a deletion: `messages` as they were, parents first; the branch of the first one is shown."""
        for message in messages:
            self._insert(message)
            # Who is older has the smaller id.
            self._below[message.parent].sort()
        for first in messages[:1]:
            self.point(first.parent, first.id)

    def take_moved(self) -> dict[int | None, int | None]:
        """Return the `chosen` that changed since the last call, by message; None for the conversation's own."""
        moved, self._moved = self._moved, {}
        return moved

    # Inside -------------------------------------------------------------------------------------------------------

    @classmethod
    def from_messages(
        cls, head: ConversationSummary, chosen: int | None, messages: Iterable[StoredMessage]
    ) -> Conversation:
        """Return a conversation from its stored messages: parents before children, siblings oldest first.

        Raises ValueError or KeyError where the messages are no tree.
        """
        conversation = cls(head.id, head.created, title=head.title, pinned=head.pinned)
        conversation.updated, conversation.project = head.updated, head.project
        for message in messages:
            if message.id in conversation._messages or (
                message.parent is not None and message.parent not in conversation._messages
            ):
                raise ValueError("the messages are no tree")
            conversation._insert(message)
        conversation.chosen = chosen
        return conversation

    def _insert(self, message: StoredMessage) -> None:
        self._messages[message.id] = message
        self._below.setdefault(message.parent, []).append(message.id)

    def _pointed(self, parent: int | None) -> int | None:
        return self.chosen if parent is None else self._messages[parent].chosen

    def _down_from(self, parent: int | None) -> Iterator[int]:
        while below := self._below.get(parent):
            pointed = self._pointed(parent)
            known = self._messages.get(pointed) if pointed is not None else None
            step = known.id if known is not None and known.parent == parent else below[-1]
            yield step
            parent = step


def clean(text: str) -> str:
    """Return the text without characters outside UTF-8: halves of pairs, which some clipboards give."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def title_from(question: str) -> str:
    """Return a title for a conversation that begins with this question: its first sentence, without Markdown marks.

    Of a question that is only files it is the name of the first.
    """
    typed, files = split_question(question)
    if files and not typed.strip():
        return _shorten(files[0].name)
    question, fenced = typed, False
    for line in question[:_FIRST_PART].splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            continue
        plain = _plain(line)
        if plain:
            return _shorten(plain if fenced else _first_sentence(plain))
    return ""


def _plain(line: str) -> str:
    line = _LEADING_MARKS.sub("", line)
    line = _MARKS.sub("", _LINK.sub(r"\1", line))
    return " ".join("".join(sign if sign.isprintable() else " " for sign in line).split())


def _first_sentence(line: str) -> str:
    end = _SENTENCE_END.search(line)
    return line[: end.end()] if end else line


def _shorten(title: str) -> str:
    title = title.rstrip(".:;, ")
    if len(title) <= _LONGEST_TITLE:
        return title
    cut = title[: _LONGEST_TITLE - 1]
    words = cut.rfind(" ")
    return (cut[:words] if words > _LONGEST_TITLE // 2 else cut).rstrip(".:;, ") + "…"
