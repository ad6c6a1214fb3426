"""The one thread that writes conversations to the disk. Whoever changes something never waits for it.

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

from app.log_file import LOGGER
from app.state.conversation import Conversation
from app.store import Store
from app.store_errors import ChangeRefused, StoreError, writing_error

INTERVAL_S = 0.1
RETRY_S = 3.0
_MOST_TRACES = 64 * 2**20

Change = Callable[[Store], None]


@dataclass(slots=True)
class _Queued:
    """A change that waits. `conversation` is held so that it is not read from the disk before it is there."""

    change: Change
    conversation: Conversation | None
    optional: int = 0


class _Text:
    """Text of one reply that waits."""

    __slots__ = ("message_id", "parts")

    def __init__(self, message_id: int, text: str) -> None:
        self.message_id = message_id
        self.parts = [text]

    def __call__(self, store: Store) -> None:
        store.append(self.message_id, "".join(self.parts))


class StoreWriter:
    """Queues changes and keeps them in a thread of its own.

    `on_trouble` is called in that thread: with an error when writing begins to fail (once), with None when everything
    that waited has been saved again, and with a ChangeRefused where one change made no sense and was left out.
    """

    def __init__(
        self, store: Store, on_trouble: Callable[[StoreError | None], None], *, retry_s: float = RETRY_S
    ) -> None:
        self._store = store
        self._on_trouble = on_trouble
        self._retry_s = retry_s
        self._queue: list[_Queued] = []
        self._in_work: list[_Queued] = []
        self._hurry = False
        self._closing = False
        self._failing = False
        self._first_at = 0.0
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()

    # For the window's thread --------------------------------------------------------------------------------------

    @property
    def failing(self) -> bool:
        """Whether changes are waiting because they cannot be written."""
        return self._failing

    @property
    def pending(self) -> int:
        """How many changes are not on the disk yet."""
        with self._changed:
            return len(self._queue) + len(self._in_work)

    def submit(self, change: Change, conversation: Conversation | None = None) -> None:
        """Queue a change that is kept at once. What it uses must not change any more."""
        with self._changed:
            self._put(_Queued(change, conversation))
            self._hurry = True
            self._changed.notify_all()

    def append(self, message_id: int, text: str, conversation: Conversation | None = None) -> None:
        """Queue more text of a reply that is being written; kept within `INTERVAL_S`."""
        if not text:
            return
        with self._changed:
            last = self._queue[-1].change if self._queue else None
            if isinstance(last, _Text) and last.message_id == message_id:
                last.parts.append(text)
                return
            self._put(_Queued(_Text(message_id, text), conversation))
            self._changed.notify_all()

    def save_trace(self, message_id: int, trace: bytes) -> None:
        """Queue how a reply came about. While writing fails for long, traces are the first to be given up."""
        with self._changed:
            queued = _Queued(lambda store: store.save_trace(message_id, trace), None, len(trace))
            while self._queue and sum(each.optional for each in self._queue) + len(trace) > _MOST_TRACES:
                oldest = next((each for each in self._queue if each.optional), None)
                if oldest is None:
                    break
                self._queue.remove(oldest)
            self._put(queued)
            self._hurry = True
            self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until everything so far is on the disk. False where that took too long or fails."""
        limit = time.monotonic() + timeout
        with self._changed:
            self._hurry = True
            self._changed.notify_all()
            while self._queue or self._in_work:
                left = limit - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            return not self._queue and not self._in_work

    def close(self, timeout: float) -> bool:
        """Write what waits and end the thread. False where not everything could be written in time.

        It is tried once more where writing fails. Nothing may be queued afterwards.
        """
        with self._changed:
            self._closing = True
            self._hurry = True
            self._changed.notify_all()
        self._thread.join(timeout)
        return not self._thread.is_alive() and not self._queue and not self._in_work

    # In the thread ------------------------------------------------------------------------------------------------

    def _put(self, queued: _Queued) -> None:
        if not self._queue:
            self._first_at = time.monotonic()
        self._queue.append(queued)

    def _run(self) -> None:
        store: Store | None = None
        try:
            while self._next():
                try:
                    if store is None:
                        store = self._store.another()
                    self._write(store)
                except StoreError as error:
                    self._report(error)
                if self._in_work and not self._wait_to_retry():
                    break
        finally:
            if store is not None:
                store.close()

    def _next(self) -> bool:
        """Wait for something to write, and take it. False at the end."""
        with self._changed:
            while not self._queue and not self._in_work and not self._closing:
                self._changed.wait()
            while not self._hurry and not self._closing:
                left = self._first_at + INTERVAL_S - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    break
            self._hurry = False
            self._in_work += self._queue
            self._queue = []
            return bool(self._in_work)

    def _write(self, store: Store) -> None:
        try:
            with store.changes():
                for queued in self._in_work:
                    queued.change(store)
        except sqlite3.Error as error:
            trouble = writing_error(store.path, error)
            if not isinstance(trouble, ChangeRefused):
                self._report(trouble)
                return
            self._write_singly(store)
            return
        self._done(len(self._in_work))

    def _write_singly(self, store: Store) -> None:
        """One of the changes makes no sense: the others are kept without it."""
        while self._in_work:
            try:
                with store.changes():
                    self._in_work[0].change(store)
            except sqlite3.Error as error:
                trouble = writing_error(store.path, error)
                if not isinstance(trouble, ChangeRefused):
                    self._report(trouble)
                    return
                LOGGER.warning("a change was not saved: %s", type(error).__name__)
                self._on_trouble(trouble)
            self._done(1)

    def _done(self, number: int) -> None:
        with self._changed:
            del self._in_work[:number]
            saved_again = self._failing and not self._in_work
            if saved_again:
                self._failing = False
            self._changed.notify_all()
        if saved_again:
            self._on_trouble(None)

    def _report(self, trouble: StoreError) -> None:
        first = not self._failing
        self._failing = True
        if first:
            LOGGER.warning("conversations cannot be saved: %s", type(trouble).__name__)
            self._on_trouble(trouble)

    def _wait_to_retry(self) -> bool:
        """False where the program is closing: then it was tried for the last time."""
        limit = time.monotonic() + self._retry_s
        with self._changed:
            if self._closing:
                return False
            while not self._closing and (left := limit - time.monotonic()) > 0:
                self._changed.wait(left)
            self._changed.notify_all()
        return True
