"""Define the sources of proposals, and hold the models of a decoder.

A model is shared among decoders: one of them uses it at a time, and the last one that holds it frees it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent import futures
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from engine.backends.base import Backend
from engine.backends.heads import HeadBackend
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.corpus.corpus import Corpus
from engine.errors import Cancelled, DecoderBusy, LoadFailed, LoadWarning, PairWarning, VocabularyMismatch
from engine.events import LoadProgress
from engine.formats.draft_head import NORMED
from engine.library.compat import Fit, judge_backends
from engine.library.scan import known_model
from engine.loading.open import ModelSource, open_model
from engine.methods import DRAFT_MODEL, DraftMethod
from engine.translatable import Translatable

_POLL_S = 0.02
_lock = threading.RLock()
_holders: weakref.WeakKeyDictionary[Backend, weakref.WeakSet[Holder]] = weakref.WeakKeyDictionary()
_users: weakref.WeakKeyDictionary[Backend, Holder] = weakref.WeakKeyDictionary()
_TRANSLATED = replace(DRAFT_MODEL, maker="engine.drafting.translated:make_drafter")


@dataclass(frozen=True, slots=True)
class Source:
    """Hold a source of proposals: a draft model, heads of the target, or an index of the text.

    `method`: its draft method. `model`: its backend; None: it needs none. `config`: the backend's configuration; None:
    it was passed loaded. `fit`: the mapping of its tokens to the target's; None: there is no target, or no need.
    `texts`: texts to draft from, besides the prompt and the reply.
    """

    method: DraftMethod
    model: Backend | None = None
    config: LoadConfig | None = None
    fit: Fit | None = None
    texts: Corpus | None = None

    @property
    def name(self) -> str:
        """The name of its model, or of its method if it has none."""
        return self.method.name if self.model is None else self.model.name

    @property
    def reads_states(self) -> bool:
        """True if it proposes from the target's hidden states, so that these must be shown to it."""
        return self.method.needs == "heads"

    @property
    def sees_no_further(self) -> bool:
        """True if it cannot propose behind a picture."""
        return isinstance(self.model, HeadBackend) and self.model.counts_pictures

    @property
    def shareable(self) -> bool:
        """True if one target can have several of it, as streams need it."""
        if not isinstance(self.model, HeadBackend):
            return True
        return type(self.model) is HeadBackend and NORMED not in self.model.state_layers and self.config is not None

    @property
    def through_text(self) -> bool:
        """True if it has another tokenizer than the target, so that its text is translated."""
        return self.fit is not None and self.fit.through_text

    def known_as(self, drafter: str) -> str:
        """Return the key of its drafter's statistics: heads of one method are not all alike."""
        return f"{drafter} {self.name}" if self.reads_states else drafter

    def fits(self, target: Backend) -> Fit:
        """Judge its fitness for a target: heads fit only their own."""
        if isinstance(self.model, HeadBackend):
            return Fit(self.model.target is target, "")
        return Fit(True, "") if self.model is None else judge_backends(target, self.model)

    def fitted_to(self, target: Backend | None) -> Source:
        """Return a copy with its fit for this target. Raises VocabularyMismatch if it does not fit."""
        if target is None:
            return replace(self, fit=None)
        fit = self.fits(target)
        if not fit.usable:
            raise VocabularyMismatch(target.name, self.name, fit.reason)
        return replace(self, fit=fit)

    def grow_context(self, length: int) -> None:
        """Make room for the target's number of tokens in a model that keeps a text of its own."""
        if self.model is not None and not self.reads_states:
            self.model.grow_context(length)

    def make(self, context: Any) -> Any:
        """Make its drafter of one reply from a DrafterContext. Its method must be available."""
        translated = self.through_text and self.method is DRAFT_MODEL
        return (_TRANSLATED if translated else self.method).make(context)


def source_for(needs: str, sources: Iterable[Source]) -> Source | None:
    """Return the source for methods that need a draft, or heads; None if there is none."""
    return next((source for source in sources if source.method.needs == needs), None)


def model_for(needs: str, sources: Iterable[Source]) -> Backend | None:
    """Return the model of that."""
    return next((source.model for source in sources if source.method.needs == needs), None)


def holds_heads(path: Path, target: Path | None) -> bool:
    """True if a file holds heads for a target. A bad file is reported when it is loaded."""
    with suppress(LoadFailed, OSError):
        return known_model(path).holds_heads_for(target)
    return False


def loads_alike(one: LoadConfig, other: LoadConfig) -> bool:
    """True if both load the same model in the same way, whatever is checked before."""
    return replace(one, trusted=other.trusted, despite_memory=other.despite_memory) == other


def notes_on_models(target: Backend | None, sources: Sequence[Source]) -> dict[str, type[Warning]]:
    """Return notes on the loaded models: sentences, mostly none, with their category."""
    notes: dict[str, type[Warning]] = {}
    for model in (target, *(source.model for source in sources)):
        notes |= {} if model is None else dict.fromkeys(model.notes, LoadWarning)
    for source in sources:
        if target is None or source.model is None or source.fit is None or source.reads_states:
            continue
        if source.through_text:
            notes[source.fit.reason] = PairWarning
        if source.model.weight_bytes >= target.weight_bytes > 0:
            note = f"The draft {source.name} is not smaller than the target {target.name}: "
            notes[note + "expect no speedup. Choose a smaller draft."] = PairWarning
    return notes


class Holder:
    """Hold the models that one decoder loads or is given, each until it is released."""

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
                self.release(backend)
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
        """Load a model on a thread of its own; yield the function that waits for it, with the errors of `open`.

        A model that was not awaited in the block is cancelled or released.
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
                    self.release(future.result()[0])

    def cancel_loads(self) -> None:
        """Cancel loads that run on other threads: none of their models will be held."""
        with _lock:
            for token in self._loading:
                token.cancel()
            self._loading.clear()

    def release(self, backend: Backend) -> None:
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
        """Use models within. Raises DecoderBusy if another decoder uses one, BackendClosed where one was closed.

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
