"""Store the conversations in one SQLite file; all calls are synchronous.

The window reads through one `Store`; all writing goes through `app.store.writer`, whose thread has another one on the
same file. Write-ahead logging lets both work at the same time (sqlite.org/wal.html).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from app.state.chat.stored_documents import StoredDocument
from app.state.conversations.conversation import UNFINISHED, Conversation, ConversationSummary, StoredMessage, clean
from app.store import salvage
from app.store.connection import FilePlace, connect, log_file, take_lock
from app.store.errors import (
    UNREADABLE,
    SearchDamaged,
    StoreNotOpen,
    TraceDamaged,
    is_damage,
    is_senseless,
    opening_error,
)
from app.store.rows import COLUMNS, WRITTEN, checksum, checksum_of_trace, message_of, row_of
from app.store.schema import check_header, check_log, check_tables, migrate
from app.store.search import INDEXES, SearchHit, search
from app.system.places import data_folder
from engine import Translatable
from engine.host import private_file, private_folder

FILE_NAME = "conversations.sqlite3"
_PURGED = 200
_MERGED = 50
_IN = ", ".join(f"'{status}'" for status in UNFINISHED)


def default_path() -> Path:
    """Return the file of the conversations, in the user's data folder."""
    return data_folder() / FILE_NAME


class Store:
    """Hold one connection to the file, for one thread. Attributes: path, place (the file's identity).

    Reading raises errors of app.store.errors. Changes are made inside `with store.changes():` and raise
    sqlite3.Error: either all of such a block is kept or nothing. Unknown ids change nothing.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        lock: sqlite3.Connection | None = None,
        folder: Path | None = None,
    ) -> None:
        """Use `open`, `temporary` or `another`. `folder` is deleted when it is closed."""
        self.path = path
        self.connection = connection
        self.lock = lock
        self._folder = folder
        self.place = FilePlace(path)

    # Opening and closing ------------------------------------------------------------------------------------------

    @classmethod
    def open(cls, path: Path | None = None) -> Store:
        """Open the file, or make it. `path` None: the usual place.

        An older file is brought up to date, and replies that were being written are marked as interrupted.
        Raises StoreTooNew (nothing was changed), StoreDamaged, StoreNotOpen, StoreInUse.
        """
        path = default_path() if path is None else path
        try:
            with contextlib.ExitStack() as held:
                private_folder(path.parent)
                check_header(path)
                # Conversations are nobody else's business; SQLite's other files take this one's mode.
                private_file(path)
                lock = held.enter_context(contextlib.closing(take_lock(path)))
                check_log(path)
                connection = held.enter_context(contextlib.closing(connect(path)))
                migrate(connection)
                check_tables(path, connection)
                store = cls(path, connection, lock)
                store._recover()
                held.pop_all()
                return store
        except (*UNREADABLE, OSError) as error:
            raise opening_error(path, error) from error

    @classmethod
    def temporary(cls) -> Store:
        """Return a store that is deleted when it is closed: for a session that cannot save."""
        try:
            folder = Path(tempfile.mkdtemp(prefix="outrider-"))
        except OSError as error:
            raise opening_error(Path(tempfile.gettempdir()), error) from error
        store = cls.open(folder / FILE_NAME)
        return cls(store.path, store.connection, store.lock, folder)

    def another(self) -> Store:
        """Return another connection to the same file, to be made in the thread that uses it.

        Close it before this one.
        """
        if self.place.is_gone():
            raise StoreNotOpen(self.path, Translatable("the file was deleted or replaced"))
        return Store.of(self.path)

    @classmethod
    def of(cls, path: Path) -> Store:
        """Return a connection to a file that is a store and locked already. Raises StoreError."""
        try:
            return Store(path, connect(path))
        except UNREADABLE as error:
            raise opening_error(path, error) from error

    def close(self) -> None:
        """Release the file. Closing twice is harmless."""
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()
        if self.lock is not None:
            self.lock.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    # Reading ------------------------------------------------------------------------------------------------------

    def conversations(self) -> list[ConversationSummary]:
        """Return all conversations: pinned ones first, then by the last change, newest first."""
        with self._reading():
            return salvage.summaries(self.connection)

    def search(self, typed: str, limit: int = 100) -> list[SearchHit]:
        """Return conversations whose title or one of whose messages has words that begin with each of the typed ones.

        One entry a conversation, titles first, then the newest messages. What was typed may be anything; without a
        word in it nothing is found. A reply is found as soon as it is complete.
        """
        with self._reading():
            try:
                return search(self.connection, typed, limit)
            except UNREADABLE as error:
                if is_damage(error) or is_senseless(error):
                    raise SearchDamaged(self.path) from error
                raise

    def load(self, conversation_id: int) -> Conversation | None:
        """Return a whole conversation with all of its branches, or None if there is none (any more).

        What is not as it was written is marked as damaged, and so is what stands for messages that cannot be read.
        """
        with self._reading():
            conversation = salvage.load(self.connection, conversation_id)
            if conversation is not None:
                conversation.drafts = salvage.drafts(self.connection, conversation_id)
            return conversation

    def drafts(self, conversation_id: int = 0) -> dict[int, str]:
        """Return the unsent text of a conversation. 0: of the one without a question yet."""
        with self._reading():
            return salvage.drafts(self.connection, conversation_id)

    def load_trace(self, message_id: int) -> bytes | None:
        """Load a reply's token record in its stored form; None if there is none.

        Raises TraceDamaged if it is not as it was written.
        """
        with self._reading():
            try:
                row = self.connection.execute(
                    "SELECT trace, checksum FROM traces WHERE message = ?", (message_id,)
                ).fetchone()
            except UNREADABLE as error:
                if is_damage(error):
                    raise TraceDamaged(self.path) from error
                raise
        if row is None:
            return None
        trace, kept = row
        if not isinstance(trace, bytes) or checksum_of_trace(message_id, trace) != kept:
            raise TraceDamaged(self.path)
        return trace

    def document_names(self, conversation_id: int) -> list[str]:
        """Return the names of the documents of a conversation, the oldest first."""
        with self._reading(), salvage.damage_passed_over():
            found = self.connection.execute(
                "SELECT name FROM documents WHERE conversation = ? ORDER BY rowid", (conversation_id,)
            )
            return [str(row[0]) for row in found]
        return []

    def documents(self, conversation_id: int) -> list[StoredDocument]:
        """Return the documents of a conversation, without those that are damaged."""
        found: list[StoredDocument] = []
        with self._reading():
            for name in self.document_names(conversation_id):
                with salvage.damage_passed_over():
                    row = self.connection.execute(
                        "SELECT text, ifnull(data, source), checksum, vectors, vectors_of "
                        "FROM documents LEFT JOIN sources USING (hash) "
                        "WHERE conversation = ? AND name = ?",
                        (conversation_id, name),
                    ).fetchone()
                    document = StoredDocument(name, row[0], row[1], row[3], row[4])
                    if document.checksum == row[2]:
                        found.append(document)
        return found

    def source(self, number: str) -> bytes | None:
        """Return a stored file of a document, by its SHA-256 in hexadecimal digits; None if there is none."""
        with self._reading(), salvage.damage_passed_over():
            row = self.connection.execute("SELECT data FROM sources WHERE hash = ?", (number,)).fetchone()
            data = b"" if row is None else bytes(row[0])
            return data if hashlib.sha256(data).hexdigest() == number else None
        return None

    def first_free_id(self) -> int:
        """Return a number larger than every id of a conversation or message. Both count in one row."""
        with self._reading():
            return salvage.first_free_id(self.connection)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            self._follow()
            yield
        except UNREADABLE as error:
            raise opening_error(self.path, error) from error

    # Changing: conversations --------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def changes(self) -> Iterator[Store]:
        """Keep all changes of a group, or none if one fails. Raises sqlite3.Error."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield self
            self.connection.execute("COMMIT")
        except BaseException:
            # Where the disk is full SQLite may have rolled back by itself.
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise

    def add_conversation(self, head: ConversationSummary) -> None:
        """Add a conversation without messages. An existing one stays as it is."""
        self.connection.execute(
            "INSERT INTO conversations (id, title, created, updated, pinned, title_checksum, settings_checksum, "
            "project) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
            (
                head.id,
                title := clean(head.title),
                head.created,
                head.updated,
                head.pinned,
                checksum(head.id, title),
                checksum(head.id, "{}"),
                head.project,
            ),
        )

    def rename(self, conversation_id: int, title: str) -> None:
        title = clean(title)
        self.connection.execute(
            "UPDATE conversations SET title = ?, title_checksum = ? WHERE id = ?",
            (title, checksum(conversation_id, title), conversation_id),
        )

    def pin(self, conversation_id: int, pinned: bool) -> None:
        """Keep a conversation at the top of the list, or no longer."""
        self.connection.execute("UPDATE conversations SET pinned = ? WHERE id = ?", (pinned, conversation_id))

    def set_project(self, conversation_id: int, project: int) -> None:
        """Put a conversation into a project; 0: into none."""
        self.connection.execute("UPDATE conversations SET project = ? WHERE id = ?", (project, conversation_id))

    def set_settings(self, conversation_id: int, settings: Mapping[str, Any]) -> None:
        """Set the settings for the next replies of a conversation."""
        encoded = json.dumps(settings)
        self.connection.execute(
            "UPDATE conversations SET settings = ?, settings_checksum = ? WHERE id = ?",
            (encoded, checksum(conversation_id, encoded), conversation_id),
        )

    def delete(self, conversation_id: int, when: float) -> None:
        """Take a conversation off the list, until `undelete` or `purge`."""
        self.connection.execute("UPDATE conversations SET deleted = ? WHERE id = ?", (when, conversation_id))

    def undelete(self, conversation_id: int) -> None:
        """Put a deleted conversation back as it was."""
        self.connection.execute("UPDATE conversations SET deleted = NULL WHERE id = ?", (conversation_id,))

    def purge(self, conversation_id: int | None = None) -> bool:
        """Remove a deleted conversation for good, or all of them: so many messages at a time. True where more is left.

        One that is not deleted stays.
        """
        # What is below a message has a larger id, and goes first.
        some = f"SELECT id FROM messages WHERE conversation = ? ORDER BY id DESC LIMIT {_PURGED}"  # noqa: S608
        for number in salvage.deleted(self.connection):
            if conversation_id in (None, number):
                gone = self.connection.execute(f"DELETE FROM messages WHERE id IN ({some})", (number,))  # noqa: S608
                if gone.rowcount == _PURGED:
                    return True
                self.connection.execute("DELETE FROM conversations WHERE id = ?", (number,))
                self.connection.execute("DELETE FROM drafts WHERE conversation = ?", (number,))
                self.connection.execute("DELETE FROM documents WHERE conversation = ?", (number,))
        return False

    def forget_words(self, *, first: bool) -> bool:
        """Take words that only deleted messages had out of the search, a step at a time. True where more is left.

        Deleting leaves them there, marked (sqlite.org/fts5.html#the_merge_command). `first`: begin with all of them.
        """
        before = self.connection.total_changes
        pages = -_MERGED if first else _MERGED
        for index in INDEXES:
            self.connection.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))  # noqa: S608
        # A step that has nothing to do changes one row for each.
        return self.connection.total_changes - before > len(INDEXES)

    # Changing: messages -------------------------------------------------------------------------------------------

    def add_messages(self, conversation_id: int, messages: Iterable[StoredMessage]) -> None:
        """Add messages, parents before children."""
        self.connection.executemany(
            f"INSERT INTO messages (conversation, {WRITTEN}) VALUES (?{', ?' * (WRITTEN.count(',') + 1)})",  # noqa: S608
            ((conversation_id, *row_of(message)) for message in messages),
        )

    def choose(self, conversation_id: int, chosen: Mapping[int | None, int | None]) -> None:
        """Store the branches on the screen: `Conversation.take_moved`."""
        for parent, child in chosen.items():
            if parent is None:
                self.connection.execute("UPDATE conversations SET chosen = ? WHERE id = ?", (child, conversation_id))
            else:
                self.connection.execute("UPDATE messages SET chosen = ? WHERE id = ?", (child, parent))

    def touch(self, conversation_id: int, updated: float) -> None:
        """Set the last change of a conversation."""
        self.connection.execute("UPDATE conversations SET updated = ? WHERE id = ?", (updated, conversation_id))

    def append(self, message_id: int, text: str) -> None:
        """Append text to a reply that is being written. The cost is that of the new text, however long the reply is."""
        text = clean(text)
        self.connection.execute(
            "INSERT INTO pieces (message, text, checksum) SELECT id, ?2, ?3 FROM messages WHERE id = ?1",
            (message_id, text, checksum(message_id, text)),
        )

    def set_status(self, message_id: int, status: str) -> None:
        """Set only the status of a message: a reply is written on."""
        self.connection.execute("UPDATE messages SET status = ? WHERE id = ?", (status, message_id))

    def save_message(self, message: StoredMessage) -> None:
        """Save all of a message that is there already, but its place; its pieces are part of the text now."""
        self.connection.execute("DELETE FROM pieces WHERE message = ?", (message.id,))
        row = row_of(message)
        self.connection.execute(
            "UPDATE messages SET text = ?, status = ?, target = ?, draft = ?, settings = ?, stats = ?, "
            "finish_reason = ?, problem = ?, checksum = ?, parts = ?, beside = ? WHERE id = ?",
            (row[3], *row[5:12], *row[13:], message.id),
        )

    def delete_messages(self, message_ids: Iterable[int]) -> None:
        """Delete messages: with each, all below it (`Conversation.delete`)."""
        # Children have larger ids than their parents, and a message with children cannot go.
        ordered = sorted(message_ids, reverse=True)
        self.connection.executemany("DELETE FROM messages WHERE id = ?", ((each,) for each in ordered))
        # Their ids may be given to others.
        self.connection.executemany("DELETE FROM drafts WHERE part = ?", ((each,) for each in ordered))

    def set_draft(self, conversation_id: int, part: int, text: str) -> None:
        """Store unsent text (`Conversation.drafts`); an empty text deletes it."""
        self.connection.execute(
            "INSERT OR REPLACE INTO drafts (conversation, part, text) VALUES (?, ?, ?)"
            if text
            else "DELETE FROM drafts WHERE (conversation, part) = (?, ?) AND '' = ?",
            (conversation_id, part, clean(text)),
        )

    def save_document(self, conversation_id: int, document: StoredDocument) -> None:
        """Keep a document of a conversation, in place of one of its name. A file is kept once for all chats."""
        number = hashlib.sha256(document.source).hexdigest() if document.source else ""
        self.delete_document(conversation_id, document.name)
        if number:
            self.connection.execute("INSERT OR IGNORE INTO sources VALUES (?, ?)", (number, document.source))
        self.connection.execute(
            "INSERT INTO documents (conversation, name, text, source, checksum, hash) VALUES (?, ?, ?, x'', ?, ?)",
            (conversation_id, document.name, document.text, document.checksum, number),
        )

    def save_vectors(self, conversation_id: int, name: str, vectors: bytes, model: str) -> None:
        """Store the vectors of a document's parts from an embedding model."""
        self.connection.execute(
            "UPDATE documents SET (vectors, vectors_of) = (?, ?) WHERE (conversation, name) = (?, ?)",
            (vectors, model, conversation_id, name),
        )

    def delete_document(self, conversation_id: int, name: str) -> None:
        self.connection.execute("DELETE FROM documents WHERE (conversation, name) = (?, ?)", (conversation_id, name))

    def move_documents(self, conversation_id: int) -> None:
        """Move the documents of the conversation without a question to this one, which has its first."""
        self.connection.execute("UPDATE documents SET conversation = ? WHERE conversation = 0", (conversation_id,))

    def save_trace(self, message_id: int, trace: bytes) -> None:
        """Store a reply's record, token by token."""
        self.connection.execute(
            "INSERT INTO traces (message, trace, checksum) SELECT id, ?2, ?3 FROM messages WHERE id = ?1 "
            "ON CONFLICT (message) DO UPDATE SET trace = excluded.trace, checksum = excluded.checksum",
            (message_id, trace, checksum_of_trace(message_id, trace)),
        )

    # The log --------------------------------------------------------------------------------------------------------

    def log_size(self) -> int:
        """Return bytes of the write-ahead log."""
        try:
            return log_file(self.path).stat().st_size
        except OSError:
            return 0

    def merge_log(self) -> None:
        """Copy the log into the database file, as far as readers allow. Waits for the disk.

        Where it fails the log keeps everything.
        """
        with contextlib.suppress(*UNREADABLE):
            self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    # Inside -------------------------------------------------------------------------------------------------------

    def _follow(self) -> None:
        """Read the file that was written in place of one that was taken away."""
        if self.place.is_new():
            connection = connect(self.path)
            with contextlib.suppress(*UNREADABLE):
                self.connection.close()
            self.connection, self.place = connection, FilePlace(self.path)

    def _recover(self) -> None:
        """Recover the messages that a killed run was writing, as far as it came. Damaged ones stay as they are."""
        unfinished = f"SELECT id FROM messages WHERE status IN ({_IN}) UNION SELECT message FROM pieces"  # noqa: S608
        with salvage.damage_passed_over():
            found = [row[0] for row in self.connection.execute(unfinished)]
            if not found:
                return
            with self.changes():
                for message_id in found:
                    self._recover_message(message_id)
                self.connection.execute("DELETE FROM pieces")

    def _recover_message(self, message_id: int) -> None:
        select = f"SELECT {COLUMNS} FROM messages WHERE id = ?"  # noqa: S608 - our columns
        for row in self.connection.execute(select, (message_id,)).fetchall():
            message = message_of(row)
            salvage.add_pieces(self.connection, message)
            message.status = "interrupted"
            self.save_message(message)
