"""Import and export chats on a thread of their own, one file after the other, so that the window never waits."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Signal

from app.control.problems import describe
from app.state.chat.activity import Activity
from app.state.chat.attachments import plain_name
from app.state.chat.transcript import Exchange, Problem
from app.state.conversations.conversation import Conversation, ConversationSummary
from app.state.conversations.files import ConversationRefused, ExportFailed, Note
from app.state.conversations.markdown import Words
from app.state.conversations.other_programs.apart import NotOfOthers
from app.state.conversations.other_programs.find import is_source
from app.state.conversations.stored import exchanges
from app.store.conversations import ConversationStore
from app.store.errors import StoreError
from app.store.other_programs import Came, ImportReport
from app.system.translation import say_error
from engine import Cancelled, CancelToken

_STEPS = 100
"""The most progress reports of one file."""
_WRITE_S = 10.0
"""The seconds for a file that is being written when the window closes."""
_Kind = Literal["importing", "exporting"]
_Found = tuple[Conversation, list[Exchange]] | ImportReport | Problem | None
"""The outcome of a file; None: it was written, or cancelled."""


@dataclass(frozen=True, slots=True)
class _Job:
    kind: _Kind
    name: str
    work: Callable[[Note, CancelToken], _Found]
    done: Callable[[], None] | None = None


class ChatFiles(QObject):
    """Read files, store their contents and hand them over when complete; write files.

    Attribute: activity (the current work on a file).
    Signals: activity_changed(), imported(Conversation, list[Exchange]) (the path through it),
    chats_came(list[ConversationSummary]) (some of another program), chats_imported(ImportReport) (that were all),
    exported(name) (of the file), failed(Problem).
    """

    activity_changed = Signal()
    imported = Signal(object, object)
    chats_came = Signal(object)
    chats_imported = Signal(object)
    exported = Signal(str)
    failed = Signal(object)

    def __init__(self, loop: asyncio.AbstractEventLoop, store: Callable[[], ConversationStore]) -> None:
        """Set up. `store` is called in the window's thread at the first use."""
        super().__init__()
        self.activity = Activity()
        self._loop = loop
        self._store = store
        self._waiting: deque[_Job] = deque()
        self._thread: threading.Thread | None = None
        self._running: _Kind | None = None
        self._cancelled = CancelToken()

    def import_(self, path: Path) -> None:
        """Import a file, or the contents of an archive or a folder, after those that wait."""
        store = self._store()

        def came(summaries: list[ConversationSummary]) -> None:
            self._tell(lambda: self.chats_came.emit(summaries))

        def work(note: Note, cancel: CancelToken) -> _Found:
            return _import(store, path, note, cancel, came)

        self._put(_Job("importing", plain_name(path.name), work))

    def export(self, path: Path, write: Callable[[ConversationStore], None]) -> None:
        """Write a file with `write`, on the thread; its errors are reported."""
        store = self._store()

        def work(note: Note, _cancel: CancelToken) -> None:
            note(0.0)
            write(store)

        self._put(_Job("exporting", plain_name(path.name), work))

    def export_all(self, path: Path, words: Words, done: Callable[[], None] | None = None) -> None:
        """Write all chats into an archive. `done` is called at its end, in place of a report."""
        store = self._store()

        def work(note: Note, _cancel: CancelToken) -> None:
            store.export_all(path, words, note)

        self._put(_Job("exporting", plain_name(path.name), work, done))

    def cancel(self) -> None:
        """Import and export nothing more. Nothing stays of a chat that is being imported; those before it do."""
        self._waiting.clear()
        self._cancelled.cancel()

    def close(self, timeout: float) -> None:
        """Cancel everything, and wait so many seconds for the end of the thread, before the store is closed.

        A file that is being written is wanted: that may take longer.
        """
        if self._running != "exporting":
            self.cancel()
        self._waiting.clear()
        if self._thread is not None:
            self._thread.join(_WRITE_S if self._running == "exporting" else timeout)

    def _put(self, job: _Job) -> None:
        self._waiting.append(job)
        if self._thread is None:
            self._begin()

    def _begin(self) -> None:
        job, percent = self._waiting.popleft(), 0
        self._running = job.kind
        cancelled = self._cancelled = CancelToken()

        def note(share: float) -> None:
            nonlocal percent
            cancelled.check()
            if int(share * _STEPS) > percent:
                percent = int(share * _STEPS)
                self._tell(lambda: self._show(Activity(job.kind, job.name, share)))

        def work() -> None:
            found = _outcome(lambda: job.work(note, cancelled))
            self._tell(lambda: self._end(job, found))

        self._show(Activity(job.kind, job.name))
        self._thread = threading.Thread(target=work, name="outrider-chat-files", daemon=True)
        self._thread.start()

    def _tell(self, news: Callable[[], None]) -> None:
        # The loop may be closed when a slow disk answers at last.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(news)

    def _show(self, activity: Activity) -> None:
        self.activity = activity
        self.activity_changed.emit()

    def _end(self, job: _Job, found: _Found) -> None:
        self._thread = None
        self._show(Activity())
        if isinstance(found, Problem):
            self.failed.emit(found)
        elif isinstance(found, ImportReport):
            self.chats_imported.emit(found)
        elif found is not None:
            self.imported.emit(*found)
        elif job.kind == "exporting" and not self._cancelled.cancelled:
            (job.done or partial(self.exported.emit, job.name))()
        if self._waiting and self._thread is None:
            self._begin()


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Suspend garbage collections, which would look through everything being read: it is no garbage."""
    gc.disable()
    try:
        yield
    finally:  # Frozen it would stay for good, with all the garbage that there is now.
        gc.enable()


def _import(store: ConversationStore, path: Path, note: Note, cancel: CancelToken, came: Came) -> _Found:
    if is_source(path) is not False:
        with contextlib.suppress(NotOfOthers):
            return store.import_chats(path, note, cancel, came)
    with _no_collections():
        conversation = store.import_file(path, note)
        return conversation, exchanges(conversation)


def _outcome(work: Callable[[], _Found]) -> _Found:
    try:
        return work()
    except Cancelled:
        return None
    except (ConversationRefused, ExportFailed, StoreError) as error:
        return Problem(say_error(error))
    except Exception as error:  # noqa: BLE001 - whatever it is, it becomes a message in the window
        return describe(error)
