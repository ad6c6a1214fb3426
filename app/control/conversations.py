"""Control the conversations: their list, the open one, search, deletion, import and export."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.control.chat_files import ChatFiles
from app.state.chat.trace import DamagedTrace, TokenTrace
from app.state.chat.transcript import Exchange, Problem
from app.state.conversations.conversation import Conversation, ConversationSummary, StoredMessage
from app.state.conversations.files import file_name
from app.state.conversations.formats import FORMATS
from app.state.conversations.list import ConversationItem, ConversationList, Heading, around_hit
from app.state.conversations.listed import ListedConversations
from app.state.conversations.markdown import Words
from app.state.settings.project import ProjectChoice
from app.store.conversations import ConversationStore
from app.store.errors import ChangeRefused, StoreError, StoreRestored
from app.store.memory import MemoryStore
from app.store.other_programs import ImportReport
from app.store.search import SearchHit
from app.store.store import Store
from app.system.log_file import LOGGER
from app.system.translation import say_error
from app.words.damage import damage_note

_FLUSH_S = 0.2
_REST_S = 0.001
"""The pauses of packing a reply's tokens, which leave the interpreter to the window."""
_MOST_TRACES, _MOST_LOADED = 500, 32  # Records that an undo brings back; those that stay once they were read.


@dataclass(frozen=True, slots=True)
class Deleted:
    """Hold conversations that were deleted together and can be brought back.

    `conversation`: the one that was open; `project`: the one that they were all chats of.
    """

    summaries: Sequence[ConversationSummary]
    conversation: Conversation | None
    project: Conversation | None = None

    @property
    def title(self) -> str:
        """Return the title of the project, or of the chat."""
        return self.summaries[0].title if self.project is None else self.project.title

    @property
    def numbers(self) -> list[int]:
        return [*(each.id for each in self.summaries), *([] if self.project is None else [self.project.id])]


@dataclass(frozen=True, slots=True)
class DeletedMessages:
    """Hold messages that can be brought back, parents first. `traces`: the records of their tokens."""

    conversation: Conversation
    messages: list[StoredMessage]
    traces: dict[int, bytes]


class ConversationController(QObject):
    """Hold the conversations of this run.

    Attributes: list (the panel's entries), open (that on the screen, None for a chat without messages), projects
    (by their ids; each is a conversation without messages), files (imports and exports), lasting (False: they end with
    this run).
    Signals: list_changed(), project_changed(id) (a part shared with its chats), open_changed() (another conversation,
    or another project of it), writing_changed() (of the conversations with a running reply), removed(id),
    deleted_changed(), messages_deleted() (`restore_messages` undoes it), messages_restored(), trouble(Problem) (saving
    is impossible, for now or for good), saving_again(), failed(Problem).
    """

    list_changed = Signal()
    project_changed = Signal(int)
    open_changed = Signal()
    writing_changed = Signal()
    removed = Signal(int)
    deleted_changed = Signal()
    messages_deleted = Signal()
    messages_restored = Signal()
    trouble = Signal(object)
    saving_again = Signal()
    failed = Signal(object)

    def __init__(self, loop: asyncio.AbstractEventLoop, path: Path | None) -> None:
        """Set up the desk. `path`: the file of the store; None: keep nothing beyond this run."""
        super().__init__()
        self.list = ConversationList()
        self.open: Conversation | None = None
        self.projects: dict[int, Conversation] = {}
        self._next_project = 0
        self.files = ChatFiles(loop, lambda: self.store)
        self.files.chats_came.connect(self._note_imported)
        self.lasting = False
        self._deleted: list[Deleted] = []
        self._path = path
        self._loop = loop
        self._store: ConversationStore | None = None
        self._summaries = ListedConversations()
        self._gone: list[DeletedMessages] = []
        self._unsaved: dict[int, TokenTrace] = {}
        self._loaded: deque[tuple[Exchange, TokenTrace]] = deque()
        self._reported_traces: set[int] = set()
        self._query = ""

    @property
    def can_undelete(self) -> bool:
        """Return True if the deletion of a chat can be undone."""
        return bool(self._deleted)

    @property
    def can_restore_messages(self) -> bool:
        """Return True if the deletion of messages can be undone."""
        return bool(self._gone)

    @property
    def deleted_title(self) -> str:
        """Return the title of the chat that was deleted last of those that can be brought back."""
        return self._deleted[-1].title if self._deleted else ""

    # The store --------------------------------------------------------------------------------------------------------

    @property
    def store(self) -> ConversationStore:
        """Return the store, opened at its first use: one in memory if the file can't be opened."""
        return self._store or self._open()

    def _open(self) -> ConversationStore:
        if self._store is None:
            self._store = self._open_store()
            found = self._store.conversations()
            self._summaries = ListedConversations(each for each in found if not each.is_project)
            projects = (self._load(each.id) for each in found if each.is_project)
            self.projects = {each.id: each for each in projects if each is not None}
            self._show_list()
        return self._store

    def begin(self, conversation: int = 0) -> Conversation | None:
        """Open the store, and the conversation that was open last (0: none); gives it."""
        self._open()
        return self.choose(conversation) if conversation in self._summaries else None

    def _open_store(self) -> ConversationStore:
        if self._path is None:
            return ConversationStore(MemoryStore.begin(), self._note_trouble)
        try:
            store = Store.open(self._path)
            try:
                kept = ConversationStore(store, self._note_trouble)
            except StoreError:
                store.close()
                raise
            self.lasting = True
            return kept
        except StoreError as error:
            LOGGER.warning("the conversations could not be opened: %s", type(error).__name__)
            self.trouble.emit(Problem(f"{say_error(error)} {self.tr('Messages that you send now are not saved.')}"))
            return ConversationStore(MemoryStore.begin(), self._note_trouble)

    def close(self, timeout: float) -> bool:
        """Write pending changes and close the store. False if a change could not be written in time (seconds)."""
        if self._store is None:
            return True
        self.files.close(timeout)
        self.forget_deleted()
        return self._store.close(timeout)

    def _note_trouble(self, error: StoreError | None) -> None:
        """Pass trouble from the writing thread on to the thread of the loop."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._tell_trouble, error)

    def _tell_trouble(self, error: StoreError | None) -> None:
        if error is None:
            self.saving_again.emit()
        elif isinstance(error, ChangeRefused | StoreRestored):
            self.failed.emit(Problem(say_error(error)))
        else:
            self.trouble.emit(Problem(say_error(error)))

    # Choosing ---------------------------------------------------------------------------------------------------------

    def choose(self, conversation: int) -> Conversation | None:
        """Open a conversation; None if it can't be read (that is reported)."""
        found = self._load(conversation)
        if found is not None:
            self._mark(found)
        return found

    def leave(self, project: int = 0) -> None:
        """Leave no conversation open: the next question begins one, in this project."""
        self._next_project = project
        self._mark(None)

    def current(self) -> Conversation:
        """Return the open conversation, a new one if there is none. It is stored from its first question on."""
        if self.open is not None:
            return self.open
        conversation = self.store.new()
        conversation.project = 0 if self.project is None else self.project.id
        self._mark(conversation)
        return conversation

    def set_settings(self, conversation: Conversation, settings: Mapping[str, Any]) -> None:
        """Ask the next replies of a conversation with these."""
        self.store.set_settings(conversation, settings)

    def _mark(self, conversation: Conversation | None) -> None:
        self.open = conversation
        self.list.open_id = None if conversation is None else conversation.id
        self.open_changed.emit()

    # Projects ---------------------------------------------------------------------------------------------------------

    @property
    def project(self) -> Conversation | None:
        """Return the project of the chat on the screen, or None."""
        return self.projects.get(self._next_project if self.open is None else self.open.project)

    def add_project(self, title: str, conversations: Iterable[int] = ()) -> Conversation:
        """Make a project of these conversations; return it."""
        project = self.store.new_project(" ".join(title.split()))
        self.projects[project.id] = project
        self.move(conversations, project.id)
        return project

    def move(self, conversations: Iterable[int], project: int) -> None:
        """Put conversations into a project; 0: into none."""
        if project and project not in self.projects:
            return
        before = self.project
        for number in conversations:
            if number in self._summaries:
                self._summaries.put(replace(self._summaries[number], project=project))
                self.store.set_project(number, project)
        self._show_list()
        if self.project is not before:
            self.open_changed.emit()

    def change_project(self, project: int, title: str, choice: ProjectChoice) -> None:
        """Set a project's title, and its settings for its chats."""
        if (found := self.projects.get(project)) is None:
            return
        if title.strip() and title != found.title:
            self.store.rename(project, title)
        if choice != ProjectChoice.from_mapping(found.settings):
            self.store.set_settings(found, {**found.settings, **choice.to_mapping()})
        self._show_list()
        self.project_changed.emit(project)

    def fold(self, project: int, folded: bool) -> None:
        """Show the chats of a project in the list no longer, or again."""
        if (found := self.projects.get(project)) is not None:
            self.store.set_settings(found, {**found.settings, "folded": folded})
            self._show_list()

    def delete_project(self, project: int) -> None:
        """Take a project with all its chats off the list; `undelete` undoes it."""
        if project in self.projects:
            chats = [each.id for each in self.summaries() if each.project == project]
            self._delete(chats, self.projects.pop(project))
            if self.open is None and self._next_project == project:
                self.leave()

    def export_project(self, project: int, path: Path) -> None:
        """Write a project with all its chats into an archive, on the thread of the files."""
        chats = [each.id for each in self.summaries() if each.project == project]
        copies = [each if known is None else known.copy() for each in chats for known in [self.store.in_use(each)]]
        copied = self.projects[project].copy()
        self.files.export(path, lambda store: store.export_project(copied, copies, path))

    # Messages ---------------------------------------------------------------------------------------------------------

    def delete_message(self, conversation: Conversation, message_id: int) -> None:
        """Delete a message with all below it. `restore_messages` undoes it, for as long as the program runs."""
        messages = [conversation[each] for each in conversation.below(message_id)]
        self.store.writer.flush(_FLUSH_S)
        replies = [each.id for each in messages if each.role == "assistant"]
        traces = {each: self._trace(each) for each in replies[:_MOST_TRACES]}
        kept = {number: trace for number, trace in traces.items() if trace is not None}
        self.store.delete_message(conversation, message_id)
        self._gone.append(DeletedMessages(conversation, messages, kept))
        room = _MOST_TRACES
        for gone in reversed(self._gone):
            room -= len(gone.traces)
            if room < 0:
                gone.traces.clear()
        self.note(conversation)
        self.messages_deleted.emit()

    def restore_messages(self) -> Conversation | None:
        """Undo the last deletion of messages that is not undone yet; gives the conversation."""
        if not self._gone:
            return None
        gone = self._gone.pop()
        self.store.restore_messages(gone.conversation, gone.messages, gone.traces)
        self.note(gone.conversation)
        self.messages_restored.emit()
        return gone.conversation

    def _trace(self, reply_id: int) -> bytes | None:
        if (unsaved := self._unsaved.get(reply_id)) is not None:
            return unsaved.to_bytes()
        with contextlib.suppress(StoreError):
            return self.store.load_trace(reply_id)
        return None

    def summaries(self) -> list[ConversationSummary]:
        """Return all conversations, the latest first."""
        return self._summaries.ordered()

    def is_listed(self, conversation: Conversation) -> bool:
        """Return True if it is listed: a deleted one is not."""
        return conversation.id in self._summaries

    # The list ---------------------------------------------------------------------------------------------------------

    def note(self, conversation: Conversation) -> None:
        """Move a conversation to the top after a message."""
        if all(conversation.id not in each.numbers for each in self._deleted):
            self._summaries.put_on_top(conversation.summary())
            self._show_list()

    def note_writing(self, conversations: frozenset[int]) -> None:
        """Mark the conversations in which a reply is being written or waits for its turn."""
        if self.list.writing != conversations:
            self.list.writing = conversations
            self.writing_changed.emit()

    def search(self, text: str) -> None:
        """List the conversations that contain these words; all of them for an empty text."""
        if text != self._query:
            self._query = text
            self._show_list()

    def rename(self, conversation: int, title: str) -> None:
        if title.strip() and conversation in self._summaries:
            self._summaries[conversation].title = self.store.rename(conversation, title)
            self._show_list()

    def pin(self, conversation: int, pinned: bool) -> None:
        if conversation in self._summaries:
            self._summaries.put(replace(self._summaries[conversation], pinned=pinned))
            self.store.pin(conversation, pinned)
            self._show_list()

    def delete(self, conversation: int) -> None:
        """Take a conversation off the list. `undelete` undoes it, for as long as the program runs."""
        if conversation in self._summaries:
            self._delete([conversation])

    def _delete(self, conversations: Sequence[int], project: Conversation | None = None) -> None:
        shown = self.open if self.open is not None and self.open.id in conversations else None
        deleted = Deleted([self._summaries.take(each) for each in conversations], shown, project)
        self._deleted.append(deleted)
        for number in deleted.numbers:
            self.store.delete(number)
        self._show_list()
        for number in conversations:
            self.removed.emit(number)
        self.deleted_changed.emit()

    def undelete(self) -> Conversation | None:
        """Undo the last deletion of a chat that is not undone yet.

        Gives the conversation if it was open then, to be opened again.
        """
        if not self._deleted:
            return None
        deleted = self._deleted.pop()
        for number in deleted.numbers:
            self.store.undelete(number)
        for each in deleted.summaries:
            self._summaries.put(each)
        if deleted.project is not None:
            self.projects[deleted.project.id] = deleted.project
        self._show_list()
        self.deleted_changed.emit()
        if deleted.conversation is not None:
            self._mark(deleted.conversation)
        return deleted.conversation

    def forget_deleted(self) -> None:
        """Purge the deleted chats for good: it is too late to undo."""
        for number in (number for deleted in self._deleted for number in deleted.numbers):
            self.store.purge(number)
        self._deleted.clear()

    def _show_list(self) -> None:
        if not self._query:
            self.list.more = self._summaries.are_more(self.list.most)
            self.list.show(map(self._item, self._summaries.latest(self.list.most)), projects=self._headings())
        else:
            try:
                found = self.store.search(self._query)
            except StoreError as error:
                found = []
                self.failed.emit(Problem(say_error(error)))
            known = (each for each in found if each.conversation in self._summaries)
            self.list.show_found(self._query, [self._item(self._summaries[each.conversation], each) for each in known])
        self.list_changed.emit()

    def show_more(self) -> None:
        if self.list.more and not self._query:
            self.list.most *= 2
            self._show_list()

    def _headings(self) -> list[Heading]:
        ordered = sorted(self.projects.values(), key=lambda each: (each.title.casefold(), each.id))
        return [Heading("project", each.id, each.title, each.settings.get("folded") is True) for each in ordered]

    def _item(self, summary: ConversationSummary, found: SearchHit | None = None) -> ConversationItem:
        snippet, hits = "", tuple[tuple[int, int], ...]()
        if found is not None:
            snippet, hits = around_hit(found.snippet, tuple((start, start + length) for start, length in found.marks))
        project = summary.project if summary.project in self.projects else 0
        return ConversationItem(summary.id, summary.title, summary.pinned, summary.updated, snippet, hits, project)

    # Traces -----------------------------------------------------------------------------------------------------------

    def load_trace(self, exchange: Exchange) -> None:
        """Load a reply's token record, if there is one, and drop the record loaded longest ago."""
        if exchange.trace is not None or exchange.reply_id is None:
            return
        if (unsaved := self._unsaved.get(exchange.reply_id)) is not None:
            exchange.trace = unsaved
            return
        kept = None
        try:
            kept = self.store.load_trace(exchange.reply_id)
        except StoreError as error:
            if exchange.reply_id not in self._reported_traces:
                self._reported_traces.add(exchange.reply_id)
                self.failed.emit(Problem(say_error(error)))
        with contextlib.suppress(DamagedTrace):
            if kept is not None:
                exchange.trace = trace = TokenTrace.from_bytes(kept)
                self._loaded.append((exchange, trace))
        while len(self._loaded) > _MOST_LOADED:  # They can be read again; what a reply goes on with stays.
            old, trace = self._loaded.popleft()
            if old.trace is trace and old.ended and old.reply_id not in self._unsaved:
                old.trace = None

    def keep_trace(self, reply_id: int, trace: TokenTrace) -> None:
        """Keep the record of a reply's tokens. It is packed while the window goes on."""

        def rest() -> None:
            time.sleep(_REST_S)

        def save(store: Store) -> None:
            store.save_trace(reply_id, trace.to_bytes(rest))
            self._unsaved.pop(reply_id, None)

        self._unsaved[reply_id] = trace
        self.store.writer.submit(save)

    # Files ------------------------------------------------------------------------------------------------------------

    def export_name(self, conversation: int, kind: str) -> str:
        """Return a name for the file of an export (`kind`: in FORMATS); empty if the conversation is gone."""
        found = self._summaries.get(conversation) or self.store.in_use(conversation)
        return "" if found is None else file_name(found, FORMATS[kind].suffix)

    def export(self, conversation: int, kind: str, path: Path) -> None:
        """Write a conversation in its present state into a file, in a format of FORMATS, in the background."""
        known, words = self.store.in_use(conversation), self._words()
        source = conversation if known is None else known.copy()
        self.files.export(path, lambda store: store.export(source, FORMATS[kind], path, words))

    def export_everything(self, path: Path, done: Callable[[], None] | None = None) -> None:
        """Write all conversations into a ZIP archive beside everything else (`ChatFiles.export_all`)."""
        self.files.export_all(path, self._words(), done)

    def take_imported(self, found: Conversation) -> None:
        """List a conversation that was imported, and open it."""
        self.store.adopt(found)
        self._summaries.put(found.summary())
        self._show_list()
        self._mark(found)

    def take_chats(self, report: ImportReport) -> None:
        """List the chats of another program that were imported, and bring those up to date that are in use."""
        self.projects |= {each.id: each for each in report.projects}
        for conversation, messages, imported in report.in_use:
            self.store.grow(conversation, messages, imported.traces)
            if conversation.id in self._summaries:
                self._summaries.put(conversation.summary())
        self._show_list()

    def _note_imported(self, summaries: Iterable[ConversationSummary]) -> None:
        # Some at a time, as they come: all of them at the end would stop the window.
        deleted = {number for each in self._deleted for number in each.numbers}
        for each in summaries:
            if each.id not in deleted:
                self._summaries.put(each)

    def _load(self, conversation: int) -> Conversation | None:
        try:
            return self.store.load(conversation)
        except StoreError as error:
            self.failed.emit(Problem(say_error(error)))
            return None

    def _words(self) -> Words:
        cancelled, failed, interrupted = self.tr("cancelled"), self.tr("failed"), self.tr("interrupted")
        writing = self.tr("being written")
        return Words(
            self.tr("You"),
            self.tr("Reply"),
            self.tr("Chat"),
            self.tr("with {draft}"),
            self.tr("{speed:.1f} tokens/s"),
            self.tr("acceptance rate {rate:.0%}"),
            {
                "waiting": writing,
                "writing": writing,
                "cancelled": cancelled,
                "failed": failed,
                "interrupted": interrupted,
            },
            damaged=damage_note(),
            instruction=self.tr("Instruction"),
            thought=self.tr("Thought"),
            tool_call=self.tr("Tool call"),
            tool_result=self.tr("Result of a tool"),
            image=self.tr("Image"),
            other=self.tr("Other content"),
        )
