"""Download models on threads of their own: one at a time and those that wait, searches, the stored models."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.state.models.downloads import Download, DownloadsShown, TokenPlace
from app.system.log_file import note_error
from engine import Cancelled, CancelToken, EngineError, OtherFileHere, Translatable
from engine.host import (
    DownloadProgress,
    FoundPlace,
    FoundRepository,
    Recommendation,
    Recommended,
    SpeedLimit,
    StoredModel,
    delete_model,
    download,
    download_folder,
    find_elsewhere,
    hub_token,
    hubs,
    keep_hub_token,
    recommended,
    search_hub,
    stored_models,
)

_SHOWN_MS = 100


class Downloads(QObject):
    """Hold the downloads of this run; no connection is made before a download or a search is requested.

    Attributes: listed (in the order of the requests), found (by the last search), places (models of other programs),
    recommended (for this machine), limit (of the speed of all together), searching, checking, trouble (the reason why
    the last search failed, or ""), token (the place of one for the hub). Signals: changed(), arrived(Download) (its
    files are here), removed() (a model went to the bin).
    """

    changed = Signal()
    arrived = Signal(object)
    removed = Signal()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.listed: tuple[Download, ...] = ()
        self.found: tuple[FoundRepository, ...] = ()
        self.places: tuple[FoundPlace, ...] | None = None
        self.recommended: Recommended | None = None
        self.limit = SpeedLimit()
        self.searching = self.checking = False
        self.trouble = ""
        self.token: TokenPlace = ""
        self.stored: tuple[StoredModel, ...] = ()
        self.bin_words = ""
        self._token = ""
        self._loop = loop
        self._tokens: dict[str, CancelToken] = {}
        self._threads: list[threading.Thread] = []
        self._pausing: set[str] = set()
        self._moved: dict[str, tuple[int, int, int]] = {}
        self._began: dict[str, float] = {}
        self._timer = QTimer(self)
        self._timer.setInterval(_SHOWN_MS)
        self._timer.timeout.connect(self._show_progress)

    # Intents ----------------------------------------------------------------------------------------------------------

    def get(self, name: str) -> None:
        """Begin or resume a download; with a newer file, if one was announced."""
        known = self.by_name(name)
        if known is not None and known.state in ("running", "done"):
            return
        newer = known is not None and known.state == "newer"
        self._put(Download(name) if known is None else replace(known, state="running", problem="", note=""))
        token = self._tokens[name] = CancelToken()
        self._moved.pop(name, None)
        self._began[name] = monotonic()
        self._timer.start()

        def work() -> tuple[Path, ...]:
            return download(
                name,
                progress=lambda progress: self._note(name, progress),
                note=lambda words: self._tell(self._say, name, words),
                limit=self.limit,
                replace=newer,
                token=self._token or hub_token(),
                cancel=token,
            )

        self._start(work, lambda files, error: self._ended(name, files, error))

    def get_pair(self, pair: Recommendation) -> None:
        """Get a recommended target and its draft."""
        self.get(pair.target)
        self.get(pair.draft)

    def recommend(self) -> None:
        """Recommend models for this machine from known facts: no server is asked, and nothing measured."""
        if self.recommended is None:
            self._start(recommended, self._recommended)

    def check(self) -> None:
        """Check the recommended models with the hub, and measure this machine if that was not done."""
        if not self.checking:
            self.checking = True
            self.changed.emit()
            self._start(lambda: recommended(measure=True, hubs=hubs(self._token or hub_token())), self._recommended)

    def use_token(self, token: str) -> None:
        """Use a token for the hub: kept in the system's keyring, or for this session if there is none."""
        self._token = token.strip()
        self.token = "session" if self._token else ""
        self._start(lambda: keep_hub_token(self._token), self._kept)

    def pause(self, name: str) -> None:
        """Pause a download: its bytes stay."""
        self._pausing.add(name)
        self._cancel(name)

    def cancel(self, name: str) -> None:
        """Cancel a download, and take it off the list. It resumes from its bytes when requested again."""
        self._cancel(name)
        self.listed = tuple(each for each in self.listed if each.name != name)
        self.changed.emit()

    def search(self, words: str) -> None:
        if not words.strip() or self.searching:
            return
        self.searching, self.trouble = True, ""
        self.changed.emit()
        self._start(lambda: search_hub(words, token=self._token or hub_token()), self._searched)

    def look_around(self) -> None:
        """List the models of other programs on this machine."""
        self._start(find_elsewhere, self._looked)
        self._start(stored_models, self._listed)

    def remove(self, model: StoredModel) -> None:
        """Move a model to the system's bin."""
        self._start(lambda: delete_model(model), lambda _none, error: self._removed(model, error))

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
        return DownloadsShown(
            self.listed,
            self.found,
            self.places,
            self.searching,
            self.trouble,
            self.recommended,
            self.checking,
            self.token,
            download_folder(),
            self.stored,
            self.bin_words,
        )

    def by_name(self, name: str) -> Download | None:
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

    def _note(self, name: str, progress: DownloadProgress) -> None:
        """Store the progress: on the thread that downloads, which never waits for the window."""
        self._moved[name] = progress.done, progress.total, progress.moved

    def _show_progress(self) -> None:
        before = self.listed
        for name, (done, total, moved) in list(self._moved.items()):
            known = self.by_name(name)
            if known is not None and known.state == "running" and (known.done, known.total) != (done, total):
                speed = moved / max(monotonic() - self._began[name], 0.1)
                changed = replace(known, done=done, total=total, speed=speed)
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
        elif isinstance(error, OtherFileHere):
            self._put(replace(known, state="newer", problem=_words(error)))
        elif error is not None:
            self._put(replace(known, state="failed", problem=_words(error)))

    def _say(self, name: str, words: str) -> None:
        """Set a download's note."""
        known = self.by_name(name)
        if known is not None:
            self._put(replace(known, note=words))

    def _listed(self, found: list[StoredModel] | None, _error: BaseException | None) -> None:
        self.stored = tuple(found or ())
        self.changed.emit()

    def _removed(self, model: StoredModel, error: BaseException | None) -> None:
        self.bin_words = "" if error is None else _words(error)
        if error is None:
            self.stored = tuple(each for each in self.stored if each is not model)
            self.removed.emit()
        self.changed.emit()

    def _recommended(self, found: Recommended | None, error: BaseException | None) -> None:
        self.checking = False
        self.recommended = found or self.recommended
        self.trouble = self.trouble if error is None else _words(error)
        self.changed.emit()

    def _kept(self, kept: bool | None, error: BaseException | None) -> None:
        self.token = "kept" if kept and self._token else self.token
        if error is not None:
            self._token, self.token, self.trouble = "", "", _words(error)
        self.changed.emit()

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
            self._tell(done, result, problem)

        thread = threading.Thread(target=run, name="outrider-download-wait", daemon=True)
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]
        thread.start()

    def _tell(self, done: Callable[..., None], *progress: object) -> None:
        # The loop may be closed when a slow server answers at last.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(done, *progress)


def _words(error: BaseException) -> str:
    if isinstance(error, EngineError):
        return error.message
    return Translatable("It failed for a reason that nobody expected ({error}).", error=type(error).__name__)
