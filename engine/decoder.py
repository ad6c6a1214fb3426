"""SpeculativeDecoder: the engine as a caller sees it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Self, Unpack

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.chat.context_fit import PromptFit, measure_turns
from engine.config import GenerationRequest, LoadConfig, LoadOptions, Message, Prompt, SamplingConfig, SpeculationConfig
from engine.errors import (
    BackendFailure,
    Cancelled,
    IncompatiblePair,
    InvalidRequest,
    ModelNotLoaded,
    PairWarning,
    TokenOutOfRange,
)
from engine.events import Event, Finished, GenerationResult, LoadProgress, TokenEvent
from engine.generation.loop import Events, GenerationLoop
from engine.generation.planner import Models, make_plan, make_request, settle_lookahead
from engine.library.compat import Fit, judge_backends, require_usable
from engine.loading.open import ModelSource, open_model, pair_notes
from engine.lookahead.knowledge import PairKnowledge, learn_pair
from engine.methods import PLAIN, find_method
from engine.stats import GenerationStats
from engine.translatable import Translatable

_MEASURED_FROM = 16
"""Plain tokens that a reply must have for its speed to count as measured."""


class SpeculativeDecoder:
    """A target, perhaps a draft, and how they write a reply together.

    Attributes: target, draft (the loaded backends or None); cancel_token (ends the call that is running); stats
    (added up over all replies since `reset_stats`); warnings (what to know of the pair). Used from one thread at a
    time; `cancel_token` from any.

    >>> from engine import SpeculativeDecoder, bundled_pair
    >>> target, draft = bundled_pair()
    >>> with SpeculativeDecoder() as decoder:
    ...     decoder.attach_target(target)
    ...     decoder.attach_draft(draft)
    ...     result = decoder.generate("Hello!", max_tokens=8)
    >>> result.stats.emitted == len(result.tokens)
    True
    """

    def __init__(self, speculation: SpeculationConfig | None = None, sampling: SamplingConfig | None = None) -> None:
        self._speculation = speculation or SpeculationConfig()
        self._sampling = sampling or SamplingConfig()
        self.target: Backend | None = None
        self.draft: Backend | None = None
        self.cancel_token = CancelToken()
        self._stats = GenerationStats()
        self._past = GenerationStats()
        self._plain_tokens_per_second: float | None = None
        self._configs: dict[str, LoadConfig | None] = {}
        self._knowledge: PairKnowledge | None = None
        self._calibrated = False
        self._busy = False
        self._through_text = False
        self._warnings: tuple[str, ...] = ()

    # Models -----------------------------------------------------------------------------------------------------------

    @property
    def is_loaded(self) -> bool:
        """Whether there is a target."""
        return self.target is not None

    def attach_target(
        self,
        model: ModelSource,
        *,
        progress: Callable[[LoadProgress], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> None:
        """Load a target, in place of the one before (which stays if this fails); a draft that does not fit is dropped.

        Raises LoadFailed and its kinds, Cancelled.
        """
        backend, self._configs["target"] = open_model(model, "target", progress, cancel or self.cancel_token)
        if self.target is not None and self.target is not backend:
            self.target.close()
        self.target = backend
        self._plain_tokens_per_second = None
        self._past = GenerationStats()
        self._forget()
        fit = None if self.draft is None else judge_backends(backend, self.draft)
        if fit is not None and not fit.usable:
            self.attach_draft(None)
        else:
            self._note_pair(fit)

    def attach_draft(
        self,
        model: ModelSource | None,
        *,
        progress: Callable[[LoadProgress], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> None:
        """Load a draft, in place of the one before (which stays if this fails). None: no draft.

        Raises LoadFailed and its kinds, VocabularyMismatch, Cancelled.
        """
        backend: Backend | None = None
        if model is not None:
            backend, self._configs["draft"] = open_model(model, "draft", progress, cancel or self.cancel_token)
        fit: Fit | None = None
        if backend is not None and self.target is not None:
            try:
                fit = require_usable(self.target, backend)
            except IncompatiblePair:
                backend.close()
                raise
        if self.draft is not None and self.draft is not backend:
            self.draft.close()
        self.draft = backend
        self._forget()
        self._note_pair(fit)

    def _forget(self) -> None:
        """The models change: keep what was learned of those before."""
        if self._knowledge is not None:
            self._knowledge.save(at_once=True)
        self._knowledge = None
        self._calibrated = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should know of the pair that is loaded: sentences, mostly none."""
        return self._warnings

    def _note_pair(self, fit: Fit | None) -> None:
        """Keep what is to be known of the pair, and warn (PairWarning) of what is new. `fit` None: no pair."""
        notes: tuple[str, ...] = ()
        self._through_text = fit is not None and fit.through_text
        if self.target is not None and self.draft is not None and fit is not None:
            notes = pair_notes(self.target, self.draft, fit)
        for note in notes:
            if note not in self._warnings:
                warnings.warn(note, PairWarning, stacklevel=3)
        self._warnings = notes

    # Replies ----------------------------------------------------------------------------------------------------------

    def generate(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        on_token: Callable[[TokenEvent], bool | None] | None = None,
        cancel: CancelToken | None = None,
        **options: Any,
    ) -> GenerationResult:
        """Write a reply and give it whole.

        `prompt`: text, messages ({"role", "content"}), token ids, or a GenerationRequest. Messages that end with one of
        the assistant's have it continued; the result is what comes behind it. `on_token` sees each token and may return
        False to end the reply with it. `options`: fields of GenerationRequest, SamplingConfig and SpeculationConfig by
        name, in place of the decoder's own.
        Raises ModelNotLoaded, InvalidRequest, ContextFull, Cancelled (before the first token), BackendFailure.
        """
        answer: bool | None = None
        result: GenerationResult | None = None
        with closing(self._events(prompt, cancel, options)) as events, suppress(StopIteration):
            while True:
                event = events.send(answer)
                answer = None
                if isinstance(event, TokenEvent) and on_token is not None:
                    answer = on_token(event)
                elif isinstance(event, Finished):
                    result = event.result
        if result is None:
            raise BackendFailure(Translatable("the reply ended without a result"))
        return result

    def stream(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Any,
    ) -> Iterator[Event]:
        """Write a reply as events: PromptProgress…, TokenEvent and RoundEvent…, Finished. Arguments as `generate`.

        Closing the iterator early ends the reply; the decoder can be used again at once.
        """
        return self._events(prompt, cancel, options)

    async def astream(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Any,
    ) -> AsyncIterator[Event]:
        """As `stream`, without blocking the event loop: the work is done on a thread of its own."""
        token = cancel or self.cancel_token
        loop = asyncio.get_running_loop()
        events = self._events(prompt, token, options)
        with ThreadPoolExecutor(1, "outrider-astream") as thread:
            try:
                while (event := await loop.run_in_executor(thread, next, events, None)) is not None:
                    yield event
            except asyncio.CancelledError:
                token.cancel()
                raise
            finally:
                thread.submit(events.close).result()
                token.clear()

    def _events(
        self,
        prompt: Prompt | GenerationRequest,
        cancel: CancelToken | None,
        options: dict[str, Any],
    ) -> Events:
        started = perf_counter()
        request = make_request(prompt, options, self._sampling, self._speculation)
        request = settle_lookahead(request, has_draft=self.draft is not None)
        if self._busy:
            raise InvalidRequest(Translatable("This decoder is already generating a reply. Wait for it, or cancel it."))
        token = cancel or self.cancel_token
        self._busy = True
        try:
            plan = make_plan(
                request,
                self._models(request, token),
                token,
                started=started,
                plain_tokens_per_second=self._plain_tokens_per_second,
            )
            with closing(GenerationLoop(plan).run()) as events, suppress(StopIteration):
                answer: bool | None = None
                while True:
                    event = events.send(answer)
                    if isinstance(event, Finished):
                        self._remember(event.result)
                    answer = yield event
        finally:
            self._busy = False
            token.clear()

    def _models(self, request: GenerationRequest, cancel: CancelToken) -> Models:
        if self.target is None:
            raise ModelNotLoaded("target")
        models = Models(self.target, self.draft, through_text=self._through_text, past=self._past)
        if request.speculation.lookahead != "auto":
            return models
        if self._knowledge is None:
            self._learn(self.target, cancel)
        return replace(models, knowledge=self._knowledge)

    def calibrate(self, *, cancel: CancelToken | None = None) -> None:
        """Find out what the loaded models cost here, as lookahead 'auto' needs it: once a pair, two seconds at most.

        The first reply with 'auto' does this where it was not done; after a call that was cancelled, replies learn the
        costs from their own rounds, until this is called again. Does nothing where it is known already.
        Raises ModelNotLoaded, InvalidRequest (while a reply is being written), Cancelled.
        """
        if self.target is None:
            raise ModelNotLoaded("target")
        if self._busy:
            raise InvalidRequest(Translatable("This decoder is generating a reply. Wait for it, or cancel it."))
        token = cancel or self.cancel_token
        try:
            if not self._calibrated:
                self._learn(self.target, token)
        except Cancelled:
            self._knowledge = self._knowledge or PairKnowledge()
            raise
        finally:
            token.clear()

    def _learn(self, target: Backend, cancel: CancelToken) -> None:
        configs = self._configs.get("target"), self._configs.get("draft")
        self._knowledge = learn_pair(target, configs[0], self.draft, configs[1], cancel)
        self._calibrated = True

    def token_text(self, token: int) -> str:
        r"""The text of one token of the target alone: '' for a control token; bytes of half a character as \xf0\x9f.

        Raises ModelNotLoaded, TokenOutOfRange.
        """
        if self.target is None:
            raise ModelNotLoaded("target")
        if not 0 <= token < self.target.vocab_size:
            raise TokenOutOfRange(token, self.target.vocab_size)
        return self.target.tokenizer.piece(token).decode("utf-8", "backslashreplace")

    def fit(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> PromptFit:
        """How much of these messages a reply of `max_tokens` would read, and what it would leave out. Reads nothing.

        Raises ModelNotLoaded, ChatTemplateFailed, TextNotEncodable.
        """
        if self.target is None:
            raise ModelNotLoaded("target")
        return measure_turns(messages, self.target.tokenizer, self.target.context_length, max_tokens)

    def count(self, text: str) -> int:
        """How many tokens of the target a text has. Raises ModelNotLoaded, TextNotEncodable."""
        if self.target is None:
            raise ModelNotLoaded("target")
        return len(self.target.tokenizer.encode(text, add_special=False, parse_special=False))

    # Figures ----------------------------------------------------------------------------------------------------------

    @property
    def stats(self) -> GenerationStats:
        """The figures of all replies since the last `reset_stats`, added up."""
        return self._stats

    def reset_stats(self) -> None:
        """Start counting anew. The measured plain speed is kept."""
        self._stats = GenerationStats()

    def _remember(self, result: GenerationResult) -> None:
        self._stats += result.stats
        self._past += result.stats
        if self._knowledge is not None:
            self._knowledge.save()
        method = find_method(result.method)
        free = result.method == PLAIN or (method is not None and method.is_index)
        if free and not result.stats.proposed and result.stats.emitted >= _MEASURED_FROM:
            self._plain_tokens_per_second = result.stats.tokens_per_second

    # Ending -----------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Free the models. Closing twice is harmless."""
        self._forget()
        for backend in (self.target, self.draft):
            if backend is not None:
                backend.close()
        self.target = self.draft = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def load(
    target: ModelSource,
    draft: ModelSource | None = None,
    *,
    speculation: SpeculationConfig | None = None,
    sampling: SamplingConfig | None = None,
    progress: Callable[[LoadProgress], None] | None = None,
    cancel: CancelToken | None = None,
    **options: Unpack[LoadOptions],
) -> SpeculativeDecoder:
    """A decoder with its models loaded.

    `options`: `context_length` in tokens, `threads`, `gpu_layers` (-1: all), `device`, `dtype` and `cache_type` as in
    LoadConfig, for both models.
    Raises LoadFailed and its kinds, VocabularyMismatch, Cancelled.

    >>> from engine import bundled_pair, load
    >>> with load(*bundled_pair()) as decoder:
    ...     text = decoder.generate("Hello!", max_tokens=8).text
    """

    def configured(model: ModelSource) -> ModelSource:
        if isinstance(model, LoadConfig | Backend):
            return model
        return LoadConfig(Path(model), **options)

    decoder = SpeculativeDecoder(speculation, sampling)
    try:
        decoder.attach_target(configured(target), progress=progress, cancel=cancel)
        if draft is not None:
            decoder.attach_draft(configured(draft), progress=progress, cancel=cancel)
    except BaseException:
        decoder.close()
        raise
    return decoder
