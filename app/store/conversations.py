"""Keep the conversations that the window uses: changed in memory at once, stored on the disk a moment later."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from app.state.chat.attachments import plain_name
from app.state.chat.messages import Messages
from app.state.chat.stored_documents import StoredDocument
from app.state.conversations.conversation import (
    Conversation,
    ConversationSummary,
    MessageStatus,
    StoredMessage,
    clean,
    title_from,
)
from app.state.conversations.files import ConversationRefused, ExportFailed, Note, file_name, note_nothing, write_file
from app.state.conversations.formats import FORMATS, ExportFormat, import_file
from app.state.conversations.markdown import Words
from app.store.errors import SearchDamaged, TraceDamaged
from app.store.imports import keep_import
from app.store.other_programs import Came, ChatImport, ImportReport
from app.store.search import SearchHit
from app.store.store import Store
from app.store.writer import RETRY_S, Change, OnTrouble, StoreWriter, mend_index, rebuild_search
from engine import CancelToken, Translatable
from engine.host import private_file, private_folder


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy as JSON would give it back. Raises TypeError for values outside JSON."""
    plain: dict[str, Any] = json.loads(json.dumps(values), parse_constant=lambda _: None)
    return plain


def _number(conversation: Conversation | None) -> int:
    return 0 if conversation is None else conversation.id


def _write_draft(conversation_id: int, part: int, text: str, store: Store) -> None:
    store.set_draft(conversation_id, part, text)


_FLUSH_S = 2.0
_MOST_WAITS = 30
"""Times `_FLUSH_S` that an export waits for what is still being written."""
_PACKED = 200_000
"""Characters of a text that is packed in an archive."""


def _traces(store: Store, conversation: Conversation) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for message in conversation:
        with contextlib.suppress(TraceDamaged):
            trace = store.load_trace(message.id) if message.role == "assistant" else None
            if trace is not None:
                found[message.id] = trace
    return found


def _put_all(store: Store, archive: zipfile.ZipFile, words: Words, note: Note) -> None:
    summaries, taken = store.conversations(), set[str]()
    for number, summary in enumerate(summaries):
        note(number / len(summaries))
        conversation = store.load(summary.id)
        if conversation is None or conversation.is_project:
            continue
        conversation.documents = tuple(store.documents(summary.id))
        name = file_name(summary, "")
        if name.casefold() in taken:
            name = f"{name} ({summary.id})"
        taken.add(name.casefold())
        traces = _traces(store, conversation)
        for each in FORMATS.values():
            text = each.write(conversation, words, traces)
            # What packs well beyond measure would be taken for a bomb where it is imported.
            packed = zipfile.ZIP_DEFLATED if len(text) < _PACKED else zipfile.ZIP_STORED
            archive.writestr(f"{name}{each.suffix}", text, packed)


def now() -> float:
    """Return seconds since 1970, UTC."""
    return datetime.now(UTC).timestamp()


class ConversationStore:
    """Keep all conversations, for one thread, the window's; nothing here waits for the disk but reading.

    Every message that it gives belongs to its conversation and is changed in place. `on_trouble` is called in the
    writing thread, see StoreWriter. Reading raises errors of app.store.errors.
    """

    def __init__(self, store: Store, on_trouble: OnTrouble, *, retry_s: float = RETRY_S) -> None:
        self.store = store
        self.writer = StoreWriter(store, on_trouble, retry_s=retry_s)
        # What was deleted by a program that was then killed.
        self.writer.purge()
        self.writer.submit(lambda store: mend_index(store.connection))
        self._ids = itertools.count(store.first_free_id())
        self._first_drafts = store.drafts()
        self._unwritten: dict[tuple[int, int], tuple[Conversation | None, str]] = {}
        # A conversation with changes that are not on the disk is held by them, so it is found here, not read again.
        self._open: WeakValueDictionary[int, Conversation] = WeakValueDictionary()

    def close(self, timeout: float) -> bool:
        """Write pending changes and close the file. False if a change could not be written."""
        self.write_drafts()
        saved = self.writer.close(timeout)
        self.store.close()
        return saved

    # Reading ------------------------------------------------------------------------------------------------------

    def conversations(self) -> list[ConversationSummary]:
        """List the stored conversations when the program starts: `Store.conversations`."""
        return self.store.conversations()

    def search(self, typed: str, limit: int = 100) -> list[SearchHit]:
        """Call `Store.search`. Raises SearchDamaged: then the index is built again, and the next search may find it."""
        try:
            return self.store.search(typed, limit)
        except SearchDamaged:
            self.writer.submit(lambda store: rebuild_search(store.connection))
            raise

    def load(self, conversation_id: int) -> Conversation | None:
        """Return a conversation: the same object if it is in use. None if there is none (any more)."""
        conversation = self._open.get(conversation_id)
        if conversation is None:
            conversation = self.store.load(conversation_id)
            if conversation is not None:
                self._open[conversation_id] = conversation
        return conversation

    def load_trace(self, message_id: int) -> bytes | None:
        return self.store.load_trace(message_id)

    # Conversations ------------------------------------------------------------------------------------------------

    def new(self) -> Conversation:
        """Return a conversation without messages. It is kept from its first question on."""
        conversation = Conversation(next(self._ids), now())
        self._open[conversation.id] = conversation
        return conversation

    def new_project(self, title: str) -> Conversation:
        """Return a project, which is kept from now on."""
        project = self.new()
        project.project, project.title = project.id, title
        head = project.summary()
        self.writer.submit(lambda store: store.add_conversation(head), project)
        return project

    def set_project(self, conversation_id: int, project: int) -> None:
        """Put a conversation into a project; 0: into none."""
        conversation = self._open.get(conversation_id)
        if conversation is not None:
            conversation.project = project
        self.writer.submit(lambda store: store.set_project(conversation_id, project), conversation)

    def rename(self, conversation_id: int, title: str) -> str:
        """Rename a conversation; return the stored title, on one line."""
        title = " ".join(clean(title).split())
        conversation = self._open.get(conversation_id)
        if conversation is not None:
            conversation.title = title
            conversation.damaged.discard("title")
        self.writer.submit(lambda store: store.rename(conversation_id, title), conversation)
        return title

    def pin(self, conversation_id: int, pinned: bool) -> None:
        """Keep a conversation at the top of the list, or no longer."""
        conversation = self._open.get(conversation_id)
        if conversation is not None:
            conversation.pinned = pinned
        self.writer.submit(lambda store: store.pin(conversation_id, pinned), conversation)

    def set_settings(self, conversation: Conversation, settings: Mapping[str, Any]) -> None:
        """Set the settings for the next replies of a conversation; for one without messages from the first reply on.

        Those of a project at once.
        """
        kept = conversation.settings = _plain(settings)
        conversation.damaged.discard("settings")
        if len(conversation) or conversation.is_project:
            self.writer.submit(lambda store: store.set_settings(conversation.id, kept), conversation)

    def delete(self, conversation_id: int) -> None:
        """Take a conversation off the list. `undelete` brings it back, until `purge` or the end of the program."""
        when = now()
        self.writer.submit(lambda store: store.delete(conversation_id, when), self._open.get(conversation_id))

    def undelete(self, conversation_id: int) -> None:
        self.writer.submit(lambda store: store.undelete(conversation_id), self._open.get(conversation_id))

    def purge(self, conversation_id: int) -> None:
        """Remove a deleted conversation for good."""
        self._open.pop(conversation_id, None)
        self.writer.purge(conversation_id)

    # Documents ----------------------------------------------------------------------------------------------------

    def document_names(self, conversation: Conversation | None) -> list[str]:
        """Return the names of the documents of a conversation (None: of that without a question)."""
        return self.store.document_names(_number(conversation))

    def load_documents(self, conversation: Conversation | None) -> list[StoredDocument]:
        """Return the documents of a conversation, on a thread that may wait. Raises StoreError."""
        self.writer.flush(_FLUSH_S)
        with contextlib.closing(self.store.another()) as store:
            return store.documents(_number(conversation))

    def load_source(self, number: str) -> bytes | None:
        """Return a file that is kept of a document, by its SHA-256; on a thread that may wait. Raises StoreError."""
        self.writer.flush(_FLUSH_S)
        with contextlib.closing(self.store.another()) as store:
            return store.source(number)

    def save_document(self, conversation: Conversation | None, document: StoredDocument) -> None:
        self.writer.submit(lambda store: store.save_document(_number(conversation), document), conversation)

    def save_vectors(self, conversation: Conversation | None, name: str, vectors: bytes, model: str) -> None:
        """Store the vectors of a document's parts from an embedding model."""
        self.writer.submit(lambda store: store.save_vectors(_number(conversation), name, vectors, model), conversation)

    def delete_document(self, conversation: Conversation | None, name: str) -> None:
        self.writer.submit(lambda store: store.delete_document(_number(conversation), name), conversation)

    def move_documents(self, conversation: Conversation) -> None:
        """Move the documents attached before the first question to the conversation that gets it."""
        self.writer.submit(lambda store: store.move_documents(conversation.id), conversation)

    def drafts(self, conversation: Conversation | None) -> Mapping[int, str]:
        """Return the unsent text of a conversation (None: the one without a question)."""
        return self._first_drafts if conversation is None else conversation.drafts

    def set_draft(self, conversation: Conversation | None, part: int, text: str) -> bool:
        """Keep unsent text, on the disk from `write_drafts` on. False: it is unchanged."""
        kept = self._first_drafts if conversation is None else conversation.drafts
        changed = kept.get(part, "") != text
        if changed:
            kept[part] = text
            self._unwritten[0 if conversation is None else conversation.id, part] = (conversation, text)
        return changed

    def write_drafts(self) -> None:
        """Store the drafts that were changed."""
        for (number, part), (conversation, text) in self._unwritten.items():
            self.writer.submit(partial(_write_draft, number, part, text), conversation)
        self._unwritten.clear()

    # Messages -----------------------------------------------------------------------------------------------------

    def ask(
        self,
        conversation: Conversation,
        text: str,
        parent: int | None = None,
        *,
        first: bool = False,
        messages: Messages = (),
    ) -> StoredMessage:
        """Add a question and show it: below `parent`, by default the last message shown. `first`: at the beginning.

        To edit a question, give the parent that it has, and `first` where that is None. The first question of a
        conversation without a title gives it one. `messages`: what it says beside its text.
        """
        text = clean(text)
        leaf = conversation.leaf
        if parent is None and not first and leaf is not None:
            parent = leaf.id
        message = StoredMessage(next(self._ids), parent, "user", text, now(), messages=messages)
        before: list[Change] = []
        if not len(conversation):
            head, settings = conversation.summary(), conversation.settings
            before.append(lambda store: store.add_conversation(head))
            before.append(lambda store: store.set_settings(conversation.id, settings))
        if not conversation.title:
            title = conversation.title = title_from(text)
            before.append(lambda store: store.rename(conversation.id, title))
        return self._add(conversation, message, before)

    def begin_reply(
        self, conversation: Conversation, question_id: int, *, target: str, draft: str, settings: Mapping[str, Any]
    ) -> StoredMessage:
        """Add an empty reply to a question, beside those that it has, and show it. Its status is waiting."""
        return self._add(
            conversation,
            StoredMessage(
                next(self._ids), question_id, "assistant", "", now(), "waiting", target, draft, _plain(settings)
            ),
        )

    def append(self, conversation: Conversation, reply_id: int, text: str) -> None:
        """Append text to a reply, cheaply, however long the reply is. A deleted reply gets nothing."""
        if not text or reply_id not in conversation:
            return
        text = clean(text)
        reply = conversation[reply_id]
        reply.status = "writing"
        reply.text += text
        self.writer.append(reply_id, text, conversation)

    def resume(
        self, conversation: Conversation, reply_id: int, settings: Mapping[str, Any] | None = None
    ) -> StoredMessage:
        """Continue a reply that had ended, with these settings; they are kept when it has ended."""
        reply = conversation[reply_id]
        reply.status = "waiting"
        reply.settings = reply.settings if settings is None else _plain(settings)
        self.writer.submit(lambda store: store.set_status(reply_id, "waiting"), conversation)
        return reply

    def finish(
        self,
        conversation: Conversation,
        reply_id: int,
        text: str,
        status: MessageStatus,
        *,
        stats: Mapping[str, Any] | None = None,
        finish_reason: str | None = None,
        problem: str | None = None,
        messages: Messages = (),
    ) -> StoredMessage | None:
        """End a reply with its whole text, in place of the appended pieces, and return it. Of a deleted one: None.

        `messages`: what it says beside its text.
        """
        if reply_id not in conversation:
            return None
        reply = conversation[reply_id]
        reply.text, reply.status, reply.messages = clean(text), status, messages
        reply.stats = None if stats is None else _plain(stats)
        reply.finish_reason, reply.problem = finish_reason, problem
        conversation.updated = when = now()
        kept = copy.copy(reply)
        self._submit(
            conversation, [lambda store: store.save_message(kept), lambda store: store.touch(conversation.id, when)]
        )
        return reply

    def save_trace(self, reply_id: int, trace: bytes) -> None:
        """Store a reply's record, token by token."""
        self.writer.save_trace(reply_id, trace)

    def choose(self, conversation: Conversation, message_id: int) -> None:
        """Show the branch of this message."""
        conversation.choose(message_id)
        self._submit(conversation, [])

    def step(self, conversation: Conversation, message_id: int, step: int) -> int:
        """Show the sibling `step` places further. Returns its id."""
        shown = conversation.step(message_id, step)
        self._submit(conversation, [])
        return shown

    def delete_message(self, conversation: Conversation, message_id: int) -> list[int]:
        """Delete a message with all below it on all branches. Returns the ids."""
        gone = conversation.delete(message_id)
        self._submit(conversation, [lambda store: store.delete_messages(gone)])
        return gone

    def restore_messages(
        self, conversation: Conversation, messages: Sequence[StoredMessage], traces: Mapping[int, bytes]
    ) -> None:
        """Undo `delete_message`: restore the messages, parents first, and the records of replies among them."""
        conversation.restore(messages)
        kept = [copy.copy(message) for message in messages]
        drafts = {each.id: text for each in messages if (text := conversation.drafts.get(each.id))}

        def change(store: Store) -> None:
            store.add_messages(conversation.id, kept)
            for message_id, text in drafts.items():
                store.set_draft(conversation.id, message_id, text)
            for message_id, trace in traces.items():
                store.save_trace(message_id, trace)

        self._submit(conversation, [change])

    # Files --------------------------------------------------------------------------------------------------------

    def in_use(self, conversation_id: int) -> Conversation | None:
        """Return a conversation that is in use; None for one that is on the disk alone, and for none."""
        return self._open.get(conversation_id)

    def export(
        self, conversation: Conversation | int, export_format: ExportFormat, path: Path, words: Words | None = None
    ) -> None:
        """Write a conversation into a file, on any thread; one that is in use as a copy that nobody changes.

        Token records that are damaged are left out. Of one that is not there any more nothing is written. Raises
        ExportFailed, StoreError.
        """
        text = self._exported(conversation, export_format, Words() if words is None else words)
        if text is not None:
            write_file(path, text)

    def export_project(self, project: Conversation, chats: Sequence[Conversation | int], path: Path) -> None:
        """Write a project with these chats into an archive, on any thread. Raises ExportFailed, StoreError."""
        part = path.with_name(f".{path.name}.part")
        try:
            # Not packed: what packs well beyond measure would be taken for a bomb where it is imported.
            with zipfile.ZipFile(part, "w") as archive:
                for number, chat in enumerate([project, *chats]):
                    text = self._exported(chat, FORMATS["json"], Words())
                    if text is not None:
                        archive.writestr(f"chats/{number:05}.json" if number else "project.json", text)
            part.replace(path)
        except (OSError, ValueError, zipfile.LargeZipFile) as error:
            raise ExportFailed(
                path, getattr(error, "strerror", None) or Translatable("it cannot be written")
            ) from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)

    def _exported(self, conversation: Conversation | int, export_format: ExportFormat, words: Words) -> str | None:
        """Return the text of an export; None of a conversation that is not there any more. Raises StoreError."""
        traces: dict[int, bytes] = {}
        found = None if isinstance(conversation, int) else conversation
        if found is None or export_format.with_traces:
            self._await_writer()
            with contextlib.closing(self.store.another()) as store:
                found = store.load(conversation) if isinstance(conversation, int) else conversation
                if found is not None and export_format.with_traces:
                    traces = _traces(store, found)
        if found is not None:
            found.documents = tuple(self.load_documents(found))
        return None if found is None else export_format.write(found, words, traces)

    def _await_writer(self) -> None:
        """Wait as long as changes are being written: an export that lacks the newest ones looks whole."""
        for _ in range(_MOST_WAITS):
            if self.writer.flush(_FLUSH_S) or self.writer.failing:
                return

    def export_all(self, path: Path, words: Words, note: Note) -> None:
        """Write all conversations into a ZIP archive, each as Markdown and as JSON; the file is whole or not there.

        For a thread that may wait; `note` may raise an error to end it. Raises ExportFailed, StoreError.
        """
        self._await_writer()
        part = path.with_name(f".{path.name}.part")
        try:
            with contextlib.closing(self.store.another()) as store:
                private_folder(path.parent)
                private_file(part)
                with zipfile.ZipFile(part, "w") as archive:
                    _put_all(store, archive, words, note)
            part.replace(path)
        except OSError as error:
            raise ExportFailed(path, error.strerror or Translatable("it cannot be written")) from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)

    def import_file(self, path: Path, note: Note = note_nothing) -> Conversation:
        """Import the conversation of a file as a new one, all of it or nothing, and return it when it is on the disk.

        For a thread that may wait; until `adopt` nobody else may have it. `note` receives the progress, and may
        raise an error to end it. Raises ConversationRefused.
        """
        imported = import_file(path, lambda: next(self._ids), lambda share: note(share / 2))
        if imported.conversation.is_project:
            raise ConversationRefused(plain_name(path.name), Translatable("it is a project: import its whole archive"))
        keep_import(self.writer, imported, plain_name(path.name), lambda share: note((1 + share) / 2))
        imported.conversation.documents = ()
        return imported.conversation

    def import_chats(self, path: Path, note: Note, cancel: CancelToken, came: Came) -> ImportReport:
        """Add the chats of another program that a file, an archive or a folder has (app.store.other_programs).

        For a thread that may wait. Raises ConversationRefused, NotOfOthers, StoreError.
        """
        self.writer.flush(_FLUSH_S)
        with contextlib.closing(self.store.another()) as store:
            return ChatImport(store, self.writer, self._ids, self._open.get, came).import_chats(path, note, cancel)

    def grow(self, conversation: Conversation, messages: Sequence[StoredMessage], traces: Mapping[int, bytes]) -> None:
        """Add messages from another copy of a conversation, parents first; the shown branch stays."""
        there: set[int | None] = {None, *conversation.messages}
        # What they follow may have been deleted meanwhile.
        added = [each for each in messages if each.parent in there and not there.add(each.id)]  # type: ignore[func-returns-value]
        conversation.grow(added)
        kept, when = [copy.copy(message) for message in added], conversation.updated

        def change(store: Store) -> None:
            store.add_messages(conversation.id, kept)
            for message in kept:
                if message.id in traces:
                    store.save_trace(message.id, traces[message.id])
            store.touch(conversation.id, when)

        self._submit(conversation, [change])

    def adopt(self, conversation: Conversation) -> None:
        """Register an imported conversation: from now on it is changed here."""
        self._open[conversation.id] = conversation

    # Inside -------------------------------------------------------------------------------------------------------

    def _add(self, conversation: Conversation, message: StoredMessage, before: Sequence[Change] = ()) -> StoredMessage:
        conversation.add(message)
        kept = copy.copy(message)
        when = conversation.updated
        changes: list[Change] = [
            *before,
            lambda store: store.add_messages(conversation.id, [kept]),
            lambda store: store.touch(conversation.id, when),
        ]
        self._submit(conversation, changes)
        return message

    def _submit(self, conversation: Conversation, changes: Sequence[Change]) -> None:
        """Queue changes that must be stored together, and with them the branches shown since."""
        moved = conversation.take_moved()
        if not changes and not moved:
            return

        def change(store: Store) -> None:
            for each in changes:
                each(store)
            store.choose(conversation.id, moved)

        self.writer.submit(change, conversation)
