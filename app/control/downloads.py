"""Bring models here on threads of their own: one download at a time and those that wait, searches, what is there."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.state.models.downloads import Download, DownloadsShown
from app.system.log_file import note_error
from engine import (
    Cancelled,
    CancelToken,
    DownloadProgress,
    EngineError,
    FoundPlace,
    FoundRepository,
    Translatable,
    download,
    find_elsewhere,
    search_hub,
)

_SHOWN_MS = 100


class Downloads(QObject):
    """Hold the downloads of this run; nothing is connected to before one or a search is asked for.

    Attributes: listed (in the order in which they were asked for), found (what the last search found), places (what
    other programs keep), searching, trouble (why the last search failed, "" if it did not). Signals: changed(),
    arrived(Download) (its files are here).
    """

    changed = Signal()
    arrived = Signal(object)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.listed: tuple[Download, ...] = ()
        self.found: tuple[FoundRepository, ...] = ()
        self.places: tuple[FoundPlace, ...] | None = None
        self.searching = False
        self.trouble = ""
        self._loop = loop
        self._tokens: dict[str, CancelToken] = {}
        self._threads: list[threading.Thread] = []
        self._pausing: set[str] = set()
        self._moved: dict[str, tuple[int, int]] = {}
        self._timer = QTimer(self)
        self._timer.setInterval(_SHOWN_MS)
        self._timer.timeout.connect(self._show_progress)

    # Intents ----------------------------------------------------------------------------------------------------------

    def get(self, name: str) -> None:
        """Begin a download, or go on with one."""
        known = self.by_name(name)
        if known is not None and known.state in ("running", "done"):
            return
        self._put(Download(name) if known is None else replace(known, state="running", problem=""))
        token = self._tokens[name] = CancelToken()
        self._moved.pop(name, None)
        self._timer.start()
        self._start(
            lambda: download(name, progress=lambda told: self._note(name, told), cancel=token),
            lambda files, error: self._ended(name, files, error),
        )

    def pause(self, name: str) -> None:
        """End a download for now: what came stays."""
        self._pausing.add(name)
        self._cancel(name)

    def cancel(self, name: str) -> None:
        """End a download, and take it off the list. What came is taken up when it is asked for again."""
        self._cancel(name)
        self.listed = tuple(each for each in self.listed if each.name != name)
        self.changed.emit()

    def search(self, words: str) -> None:
        """Search the hub."""
        if not words.strip() or self.searching:
            return
        self.searching, self.trouble = True, ""
        self.changed.emit()
        self._start(lambda: search_hub(words), self._searched)

    def look_around(self) -> None:
        """Look what other programs keep on this machine."""
        self._start(find_elsewhere, self._looked)

    def stop(self) -> None:
        """End all that runs, for closing."""
        self._timer.stop()
        for token in self._tokens.values():
            token.cancel()
        for thread in self._threads:
            thread.join(2.0)

    # State ------------------------------------------------------------------------------------------------------------

    @property
    def shown(self) -> DownloadsShown:
        """Return what the dialog shows."""
        return DownloadsShown(self.listed, self.found, self.places, self.searching, self.trouble)

    def by_name(self, name: str) -> Download | None:
        """Return a download by the name that was asked for."""
        return self.shown.by_name(name)

    def _cancel(self, name: str) -> None:
        token = self._tokens.get(name)
        if token is not None:
            token.cancel()

    def _put(self, item: Download) -> None:
        if self.by_name(item.name) is None:
            self.listed = (*self.listed, item)
        else:
            self.listed = tuple(item if each.name == item.name else each for each in self.listed)
        self.changed.emit()

    def _note(self, name: str, told: DownloadProgress) -> None:
        """Keep how far it is: on the thread that downloads, which never waits for the window."""
        self._moved[name] = told.done, told.total

    def _show_progress(self) -> None:
        before = self.listed
        for name, (done, total) in list(self._moved.items()):
            known = self.by_name(name)
            if known is not None and known.state == "running" and (known.done, known.total) != (done, total):
                changed = replace(known, done=done, total=total)
                self.listed = tuple(changed if each.name == name else each for each in self.listed)
        if self.listed != before:
            self.changed.emit()
        if not any(each.state == "running" for each in self.listed):
            self._timer.stop()

    def _ended(self, name: str, files: tuple[Path, ...] | None, error: BaseException | None) -> None:
        known = self.by_name(name)
        pausing = name in self._pausing
        self._pausing.discard(name)
        if known is None:
            return
        if files is not None:
            self._put(replace(known, state="done", files=files, done=known.total))
            self.arrived.emit(self.by_name(name))
        elif pausing and isinstance(error, Cancelled):
            self._put(replace(known, state="paused"))
        elif error is not None:
            self._put(replace(known, state="failed", problem=_words(error)))

    def _searched(self, found: tuple[FoundRepository, ...] | None, error: BaseException | None) -> None:
        self.searching = False
        self.found, self.trouble = found or (), "" if error is None else _words(error)
        self.changed.emit()

    def _looked(self, places: tuple[FoundPlace, ...] | None, _error: BaseException | None) -> None:
        self.places = places or ()
        self.changed.emit()

    def _start(self, work: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        """Do work on a thread, and tell of its end in this one."""

        def run() -> None:
            result, problem = None, None
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - a line that waits for ever would be worse
                if not isinstance(error, EngineError):
                    note_error(error)
                problem = error
            # The loop may be closed when a slow server answers at last.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(done, result, problem)

        thread = threading.Thread(target=run, name="outrider-download-wait", daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()


def _words(error: BaseException) -> str:
    if isinstance(error, EngineError):
        return error.message
    return Translatable("It failed for a reason that nobody expected ({error}).", error=type(error).__name__)
