"""Write conversations to the disk on one thread. Whoever changes something never waits for it.

A change is made in memory at once and queued; the thread keeps it a moment later, in the order in which it came.
Texts of replies that are being written are gathered for `INTERVAL_S` first, so that at most that much is lost when the
program is killed. Where writing fails nothing is dropped: the changes wait, and are tried again until it works.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from app.state.conversations.conversation import Conversation
from app.store.errors import (
    UNREADABLE,
    ChangeRefused,
    StoreError,
    StoreRestored,
    is_damage,
    is_senseless,
    writing_error,
)
from app.store.salvage import damage_passed_over
from app.store.schema import make_search_again
from app.store.store import Store
from app.system.log_file import LOGGER

INTERVAL_S = 0.06
RETRY_S = 3.0
_IDLE_S = 1.0
_WATCH_S = 2.0
"""The interval at which an idle writer checks that the file still exists."""
_LONGEST_LOG = 64 * 2**20
_MOST_TRACES = 64 * 2**20
_SENSELESS = (sqlite3.Error, ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)

Change = Callable[[Store], None]
OnTrouble = Callable[[StoreError | None], None]
Written = Callable[[bool], None]
"""Is called in the writing thread when a change is on the disk; False: it made no sense and was left out."""


@dataclass(slots=True, eq=False)
class _Queued:
    """Hold a queued change. `conversation` is held so that it is not read from the disk before the change is there.

    `bytes_of_trace`: how much memory is free when it is given up.
    """

    change: Change
    conversation: Conversation | None
    bytes_of_trace: int = 0
    written: Written | None = None

    def give_up(self) -> None:
        self.change = _no_change
        self.bytes_of_trace = 0


class _Text:
    """Hold text of one reply that waits."""

    __slots__ = ("message_id", "parts")

    def __init__(self, message_id: int, text: str) -> None:
        self.message_id = message_id
        self.parts = [text]

    def __call__(self, store: Store) -> None:
        store.append(self.message_id, "".join(self.parts))


class StoreWriter:
    """Queue changes and keep them in a thread of its own.

    `on_trouble` is called in that thread: with an error when writing begins to fail (once), with None when everything
    that waited has been saved again, and with a ChangeRefused where one change made no sense and was left out.
    """

    def __init__(self, store: Store, on_trouble: OnTrouble, *, retry_s: float = RETRY_S) -> None:
        self._connect = store.another
        self._on_trouble = on_trouble
        self._retry_s = retry_s
        self._queue: list[_Queued] = []
        self._taken = 0
        self._waiting_since = 0.0
        self._hurry = False
        self._flushing = False
        self._closing = False
        self._failing = False
        self._indexes_rebuilt = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()

    # For the window's thread --------------------------------------------------------------------------------------

    @property
    def failing(self) -> bool:
        """Return True if changes are waiting because they cannot be written."""
        return self._failing

    @property
    def pending(self) -> int:
        """Return the number of changes that are not on the disk yet."""
        with self._changed:
            return len(self._queue)

    def submit(self, change: Change, conversation: Conversation | None = None, written: Written | None = None) -> None:
        """Queue a change that is kept at once. What it uses must not change any more."""
        self._put(_Queued(change, conversation, written=written), hurry=True)

    def append(self, message_id: int, text: str, conversation: Conversation | None = None) -> None:
        """Queue more text of a reply that is being written; kept within `INTERVAL_S`."""
        with self._changed:
            last = self._queue[-1].change if len(self._queue) > self._taken else None
            if isinstance(last, _Text) and last.message_id == message_id:
                last.parts.append(text)
                return
        self._put(_Queued(_Text(message_id, text), conversation), hurry=False)

    def save_trace(self, message_id: int, trace: bytes) -> None:
        """Queue a reply's record. If much is queued already, the oldest records are dropped."""
        with self._changed:
            waiting = [each for each in self._queue if each.bytes_of_trace]
            room = _MOST_TRACES - len(trace) - sum(each.bytes_of_trace for each in waiting)
            for each in waiting:
                if room >= 0:
                    break
                room += each.bytes_of_trace
                each.give_up()
        self._put(_Queued(lambda store: store.save_trace(message_id, trace), None, len(trace)), hurry=True)

    def purge(self, conversation_id: int | None = None) -> None:
        """Queue that a deleted conversation goes for good, or all of them: in steps, so that others need not wait.

        What is left at the end of the program goes when it is started again.
        """
        removed = False

        def remove(store: Store) -> None:
            nonlocal removed
            before = store.connection.total_changes
            try:
                more = store.purge(conversation_id)
            except UNREADABLE as error:
                if not is_damage(error):
                    raise
                # It stays, deleted as it is: what others want to keep must not wait for that.
                LOGGER.info("a deleted conversation is damaged, and stays in the file")
                return
            removed |= store.connection.total_changes > before
            if not self._closing and (more or removed):
                self.submit(remove if more else lambda store: forget(store, first=True))

        def forget(store: Store, *, first: bool = False) -> None:
            with damage_passed_over():
                if store.forget_words(first=first) and not self._closing:
                    self.submit(forget)

        self.submit(remove)

    def flush(self, timeout: float) -> bool:
        """Wait until everything so far is on the disk. False if that took too long or fails."""
        limit = time.monotonic() + timeout
        with self._changed:
            self._flushing = True
            self._changed.notify_all()
            while self._queue and self._thread.is_alive():
                left = limit - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            self._flushing = False
            return not self._queue

    def close(self, timeout: float) -> bool:
        """Write pending changes and end the thread. False if a change could not be written in time.

        Where writing fails it is tried once more. Nothing may be queued afterwards.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout)
        return not self._thread.is_alive() and not self._queue and not self._failing

    def _put(self, queued: _Queued, *, hurry: bool) -> None:
        with self._changed:
            if len(self._queue) == self._taken:
                self._waiting_since = time.monotonic()
            self._queue.append(queued)
            self._hurry |= hurry
            self._changed.notify_all()

    # In the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        store: Store | None = None
        unmerged = False
        while True:
            with self._changed:
                batch = self._take(_IDLE_S if unmerged else _WATCH_S)
                if not batch and self._closing:
                    break
            try:
                if store is None:
                    store = self._connect()
                store = self._in_its_place(store)
                if not batch:
                    if unmerged:
                        store.merge_log()
                    unmerged = False
                    continue
                self._write(store, batch)
                unmerged = True
                store = self._in_its_place(store)
                if store.log_size() > _LONGEST_LOG:
                    store.merge_log()
            except StoreError as error:
                self._report(error)
                # A connection that met an error may remember it: the next attempt gets a new one. Where the file was
                # taken away this one alone has everything.
                if store is not None and not store.place.is_disturbed():
                    store.close()
                    store = None
                if not self._wait_to_retry():
                    break
        if store is not None:
            self._end(store)

    def _end(self, store: Store) -> None:
        try:
            store = self._in_its_place(store)
        except StoreError as error:
            self._report(error)
        store.merge_log()
        store.close()

    def _take(self, patience: float | None) -> list[_Queued]:
        """Wait for something to write. Nothing where there was nothing for so long, or at the end."""
        self._taken = 0
        while not self._queue and not self._closing:
            if not self._changed.wait(patience):
                return []
        while not (self._hurry or self._flushing or self._closing):
            left = self._waiting_since + INTERVAL_S - time.monotonic()
            if left <= 0:
                break
            self._changed.wait(left)
        self._hurry = False
        self._taken = len(self._queue)
        return self._queue[:]

    def _write(self, store: Store, batch: list[_Queued]) -> None:
        """Write all changes at once; one by one where one of them makes no sense. Raises StoreError: the rest waits."""
        try:
            with store.changes():
                for queued in batch:
                    queued.change(store)
        except _SENSELESS as error:
            if (is_damage(error) or is_senseless(error)) and not self._indexes_rebuilt:
                self._rebuild_indexes(store, error)
                self._write(store, batch)
                return
            trouble = writing_error(store.path, error)
            if not isinstance(trouble, ChangeRefused):
                raise trouble from error
        else:
            self._done(len(batch))
            return
        for queued in batch:
            try:
                with store.changes():
                    queued.change(store)
            except _SENSELESS as error:
                trouble = writing_error(store.path, error)
                if not isinstance(trouble, ChangeRefused):
                    raise trouble from error
                LOGGER.warning("a change could not be saved: %s", type(error).__name__)
                self._on_trouble(trouble)
                self._done(1, kept=False)
            else:
                self._done(1)

    def _rebuild_indexes(self, store: Store, damage: Exception) -> None:
        """Rebuild the indexes, once: they may be the damaged part. Raises StoreError if it is more."""
        self._indexes_rebuilt = True
        LOGGER.info("the indexes are built again, as the file is damaged")
        try:
            with store.changes():
                rebuild_indexes(store.connection)
        except _SENSELESS:
            trouble = writing_error(store.path, damage)
            raise trouble from damage

    def _in_its_place(self, store: Store) -> Store:
        """Write the file again where it was taken away. Returns the store that is in its place. Raises StoreError."""
        if not store.place.is_disturbed():
            return store
        try:
            aside = store.place.restore(store.connection)
        except (*UNREADABLE, OSError) as error:
            raise writing_error(store.path, error) from error
        fresh = Store.of(store.path)
        store.close()
        self._connect = fresh.another
        LOGGER.info("the file of the conversations was taken away, and written again")
        self._on_trouble(StoreRestored(store.path, aside))
        self._done(0)
        return fresh

    def _done(self, number: int, *, kept: bool = True) -> None:
        with self._changed:
            done = self._queue[:number]
            del self._queue[:number]
            self._taken -= number
            saved_again = self._failing and not self._taken
            if saved_again:
                self._failing = False
            self._changed.notify_all()
        for each in done:
            if each.written is not None:
                each.written(kept)
        if saved_again:
            LOGGER.info("conversations are saved again")
            self._on_trouble(None)

    def _report(self, trouble: StoreError) -> None:
        if not self._failing:
            self._failing = True
            LOGGER.warning("conversations cannot be saved: %s", type(trouble).__name__)
            self._on_trouble(trouble)

    def _wait_to_retry(self) -> bool:
        """Wait before the next try. Return False if the program is closing: then it was tried for the last time."""
        with self._changed:
            self._taken = 0
            if self._closing:
                return False
            self._changed.wait_for(lambda: self._closing or self._flushing, self._retry_s)
            self._flushing = False
            return True


def _no_change(store: Store) -> None:
    """Change nothing, in place of a change that was given up."""


_MOST_PAGES = 65_536
"""256 MB: comparing more would hold up those who want to write."""


def mend_index(connection: sqlite3.Connection) -> None:
    """Build the index of the messages again where it lacks some: their conversations would lack them too."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    if pages > _MOST_PAGES:
        return
    with damage_passed_over():
        table = "SELECT id, conversation FROM messages NOT INDEXED"
        index = "SELECT id, conversation FROM messages INDEXED BY messages_by_conversation WHERE conversation > 0"
        if connection.execute(f"{table} EXCEPT {index} LIMIT 1").fetchone() is not None:
            connection.execute("REINDEX messages")


def rebuild_search(connection: sqlite3.Connection) -> None:
    """Build the indexes of the search from titles and messages again, with their tables.

    SQLite describes those itself, and finds out only when it writes into them that their description is damaged.
    """
    make_search_again(connection)


def rebuild_indexes(connection: sqlite3.Connection) -> None:
    """Build all indexes again, those of the search too."""
    connection.execute("REINDEX")
    rebuild_search(connection)
