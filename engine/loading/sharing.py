"""Share a model among decoders: one of them uses it at a time, and the last one that holds it frees it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager
from typing import Literal

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import Cancelled, DecoderBusy
from engine.events import LoadProgress
from engine.loading.open import ModelSource, open_model
from engine.translatable import Translatable

_POLL_S = 0.02
_lock = threading.RLock()
_holders: weakref.WeakKeyDictionary[Backend, weakref.WeakSet[Holder]] = weakref.WeakKeyDictionary()
_users: weakref.WeakKeyDictionary[Backend, Holder] = weakref.WeakKeyDictionary()


class Holder:
    """Hold the models that one decoder loads or is given, each until it is let go."""

    def __init__(self) -> None:
        self._loading: list[CancelToken] = []

    def open(
        self,
        model: ModelSource,
        part: Literal["target", "draft"],
        progress: Callable[[LoadProgress], None] | None,
        cancel: CancelToken,
    ) -> tuple[Backend, LoadConfig | None]:
        """Load a model, and hold it. Raises LoadFailed and its kinds, BackendClosed, Cancelled (see `cancel_loads`)."""
        with _lock:
            self._loading.append(cancel)
        try:
            backend, config = open_model(model, part, progress, cancel)
            backend.check_open()
            with _lock:
                _holders.setdefault(backend, weakref.WeakSet()).add(self)
                cancelled = cancel not in self._loading
            if cancelled:  # It was loaded to its end in spite of that.
                self.let_go(backend)
                raise Cancelled(Translatable("Loading the model"))
        finally:
            with _lock:
                if cancel in self._loading:
                    self._loading.remove(cancel)
                else:
                    cancel.clear()
        return backend, config

    @contextmanager
    def opening(
        self, model: ModelSource, part: Literal["target", "draft"], progress: Callable[[LoadProgress], None] | None
    ) -> Iterator[Callable[[CancelToken], tuple[Backend, LoadConfig | None]]]:
        """Load a model on a thread of its own; yield what waits for it, and raises what `open` raises.

        A model that was not waited for within is cancelled, or let go.
        """
        token = CancelToken()
        taken = False

        def taken_when_loaded(cancel: CancelToken) -> tuple[Backend, LoadConfig | None]:
            nonlocal taken
            while not futures.wait([future], _POLL_S).done:
                if cancel.cancelled:
                    token.cancel()
            taken = True
            try:
                return future.result()
            except Cancelled:
                cancel.clear()
                raise

        with futures.ThreadPoolExecutor(1, "outrider-load") as pool:
            future = pool.submit(self.open, model, part, progress, token)
            try:
                yield taken_when_loaded
            finally:
                token.cancel()
                if not taken and future.exception() is None:
                    self.let_go(future.result()[0])

    def cancel_loads(self) -> None:
        """Cancel what is being loaded on other threads: none of it will be held."""
        with _lock:
            for token in self._loading:
                token.cancel()
            self._loading.clear()

    def let_go(self, backend: Backend) -> None:
        """Hold a model no more, and close it where nobody else holds it."""
        with _lock:
            held = _holders.get(backend)
            if held is not None:
                held.discard(self)
            last = not held
        if last:
            backend.close()

    @contextmanager
    def use(self, *backends: Backend | None) -> Iterator[None]:
        """Use models within. Raises DecoderBusy where another decoder uses one, BackendClosed where one was closed.

        What they compute stays readable within, even where somebody closes them.
        """
        with ExitStack() as used:
            for backend in backends:
                if backend is not None:
                    used.enter_context(self._use(backend))
            yield

    @contextmanager
    def _use(self, backend: Backend) -> Iterator[None]:
        with _lock:
            other = _users.setdefault(backend, self)
        if other is not self:
            raise DecoderBusy(
                f"Another decoder is using the model {backend.name}. Wait for it, or load the model again."
            )
        try:
            backend.check_open()
            with backend.keep():
                yield
        finally:
            with _lock:
                _users.pop(backend, None)
