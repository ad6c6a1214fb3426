"""Make loading interruptible: Ctrl+C within a library's callback would be lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, Protocol, TypeVar

from engine.cancel import CancelToken
from engine.errors import Cancelled
from engine.translatable import Translatable

Progress = Callable[[float], None]
_POLL_S = 0.05
_PATIENCE_S = 1.0
"""An interrupt waits so long for the load to end; then it ends by itself."""


class _Closing(Protocol):
    def close(self) -> None: ...


_Made = TypeVar("_Made", bound=_Closing)


def load_apart(
    work: Callable[[Progress | None, CancelToken], _Made], progress: Progress | None, cancel: CancelToken | None
) -> _Made:
    """Do `work`, which loads a model, out of reach of interrupts, and return the loaded object.

    Python hands interrupts to the main thread alone: there the work is done on another one, and this one waits. What
    interrupts the wait, an error of `progress` too, cancels the work; what it may still have loaded is closed.
    """
    token = cancel or CancelToken()
    if threading.current_thread() is not threading.main_thread():
        return work(progress, token)
    return _Apart(work).result(progress, token)


class _Apart(Generic[_Made]):
    """Run the work on its thread, and hold its reports: fractions, and None once it has ended."""

    def __init__(self, work: Callable[[Progress | None, CancelToken], _Made]) -> None:
        self._work, self._cancel, self._unwanted = work, CancelToken(), threading.Event()
        self._reports: SimpleQueue[float | None] = SimpleQueue()
        self._made: _Made | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="outrider-load")

    def _run(self) -> None:
        try:
            self._made = self._work(self._reports.put, self._cancel)
        except BaseException as error:  # noqa: BLE001 - it is the waiting thread's
            self._error = error
        finally:
            self._reports.put(None)
        self._close_unwanted()

    def _close_unwanted(self) -> None:
        """Close a model that was loaded after its caller gave up; the last of the two threads does."""
        if self._made is not None and self._unwanted.is_set():
            self._made.close()

    def result(self, progress: Progress | None, cancel: CancelToken) -> _Made:
        """Wait for the work, and return or raise its result."""
        try:
            self._thread.start()
            while not self._ended(progress):
                if cancel.cancelled:
                    self._cancel.cancel()
            self._thread.join()
            if self._made is not None:  # The work may end before it sees that it was cancelled.
                cancel.check(Translatable("Loading the model"))
        except BaseException:
            self._unwanted.set()
            self._cancel.cancel()
            if self._thread.ident is not None:
                self._thread.join(_PATIENCE_S)
            self._close_unwanted()
            raise
        if self._made is None:
            raise self._error or Cancelled
        return self._made

    def _ended(self, progress: Progress | None) -> bool:
        try:
            fraction = self._reports.get(timeout=_POLL_S)  # On Windows a wait without a limit is not interrupted.
        except Empty:
            return False
        if fraction is not None and progress is not None:
            progress(fraction)
        return fraction is None
