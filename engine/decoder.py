"""SpeculativeDecoder: the engine as a caller sees it."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import fields, replace
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Literal, Self, Unpack, cast

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.chat import ReplyText, encode_prompt
from engine.compat import judge_backends, require_usable
from engine.config import (
    DEFAULT_LOOKAHEAD,
    GenerationRequest,
    LoadConfig,
    LoadOptions,
    Prompt,
    SamplingConfig,
    SpeculationConfig,
    freeze_prompt,
)
from engine.drafting.base import Drafter
from engine.drafting.draft_model import DraftModelDrafter
from engine.drafting.none import NoDrafter
from engine.errors import BackendFailure, Cancelled, IncompatiblePair, InvalidRequest, ModelNotLoaded, NotAvailable
from engine.events import Event, Finished, GenerationResult, LoadProgress, TokenEvent
from engine.job import Job
from engine.lookahead import make_policy
from engine.loop import Events, GenerationLoop
from engine.registry import LATER_METHODS, open_backend
from engine.stats import GenerationStats
from engine.verifier import Verifier

ModelSource = str | Path | LoadConfig | Backend
_MEASURED_FROM = 16
"""Plain tokens that a reply must have for its speed to count as measured."""


class SpeculativeDecoder:
    """A target, perhaps a draft, and how they write a reply together.

    Attributes: target, draft (the loaded backends or None); cancel_token (ends the call that is running); stats
    (added up over all replies since `reset_stats`). Used from one thread at a time; `cancel_token` from any.

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
        self._plain_tokens_per_second: float | None = None
        self._busy = False

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
        backend = self._open(model, "target", progress, cancel)
        if self.target is not None:
            self.target.close()
        self.target = backend
        self._plain_tokens_per_second = None
        if self.draft is not None and not judge_backends(backend, self.draft).usable:
            self.attach_draft(None)

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
        backend = None if model is None else self._open(model, "draft", progress, cancel)
        if backend is not None and self.target is not None:
            try:
                require_usable(self.target, backend)
            except IncompatiblePair:
                backend.close()
                raise
        if self.draft is not None:
            self.draft.close()
        self.draft = backend

    def _open(
        self,
        model: ModelSource,
        part: Literal["target", "draft"],
        progress: Callable[[LoadProgress], None] | None,
        cancel: CancelToken | None,
    ) -> Backend:
        if isinstance(model, Backend):
            return model
        config = model if isinstance(model, LoadConfig) else LoadConfig(Path(model))

        def report(stage: str, fraction: float) -> None:
            if progress is not None:
                progress(LoadProgress(part, cast(Literal["checking", "loading"], stage), fraction))

        token = cancel or self.cancel_token
        try:
            return open_backend(config, progress=report, cancel=token)
        except Cancelled:
            token.clear()
            raise

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

        `prompt`: text, messages ({"role", "content"}), token ids, or a GenerationRequest. `on_token` sees each token
        and may return False to end the reply with it. `options`: fields of GenerationRequest, SamplingConfig and
        SpeculationConfig by name, in place of the decoder's own.
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
            raise BackendFailure("the reply ended without a result")
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
        request = self._request(prompt, options)
        if self._busy:
            raise InvalidRequest("This decoder is writing a reply already. Wait for it, or cancel it.")
        token = cancel or self.cancel_token
        self._busy = True
        try:
            job = self._job(request, token, started)
            with closing(GenerationLoop(job).run()) as events, suppress(StopIteration):
                answer: bool | None = None
                while True:
                    event = events.send(answer)
                    if isinstance(event, Finished):
                        self._remember(event.result)
                    answer = yield event
        finally:
            self._busy = False
            token.clear()

    def _request(self, prompt: Prompt | GenerationRequest, options: dict[str, Any]) -> GenerationRequest:
        """The request that a call's arguments make."""
        rest = dict(options)
        if isinstance(prompt, GenerationRequest):
            sampling, speculation = prompt.sampling, prompt.speculation
        else:
            sampling = rest.pop("sampling", self._sampling)
            speculation = rest.pop("speculation", self._speculation)
        sampling = replace(sampling, **_take(rest, SamplingConfig))
        speculation = replace(speculation, **_take(rest, SpeculationConfig))
        changed = _take(rest, GenerationRequest)
        if rest:
            raise InvalidRequest(f"Unknown option {next(iter(rest))!r}.")
        for name in ("stop", "stop_tokens"):
            if name in changed:
                value = changed[name]
                changed[name] = (value,) if isinstance(value, str | int) else tuple(value)
        if isinstance(prompt, GenerationRequest):
            return replace(prompt, sampling=sampling, speculation=speculation, **changed)
        return GenerationRequest(freeze_prompt(prompt), sampling=sampling, speculation=speculation, **changed)

    def _job(self, request: GenerationRequest, cancel: CancelToken, started: float) -> Job:
        if self.target is None:
            raise ModelNotLoaded("target")
        target, speculation = self.target, request.speculation
        seed = secrets.randbits(64) if request.sampling.seed is None else request.sampling.seed
        tokens = encode_prompt(request.prompt, target.tokenizer, raw=request.raw)
        if not tokens:
            raise InvalidRequest("The prompt has no tokens. Write something first.")
        stop_tokens = target.eos_token_ids | frozenset(request.stop_tokens)
        method = self._method(speculation)
        drafter = self._drafter(method, request, seed, stop_tokens)
        if method == "autoregressive":
            speculation = replace(speculation, lookahead=0)
        return Job(
            target=target,
            drafter=drafter,
            verifier=Verifier(target, request.sampling, speculation.acceptance, seed, request.top),
            policy=make_policy(speculation),
            prompt=tokens,
            reply=ReplyText(target.tokenizer, request.stop),
            stop_tokens=stop_tokens,
            max_tokens=request.max_tokens,
            one_token=speculation.force_n1 or target.rewind.kind == "none",
            cancel=cancel,
            method=method,
            lookahead=DEFAULT_LOOKAHEAD if speculation.lookahead == "default" else speculation.lookahead,
            plain_tokens_per_second=self._plain_tokens_per_second,
            started=started,
        )

    def _method(self, speculation: SpeculationConfig) -> str:
        """The method that is meant, by what is asked for and what is loaded."""
        method = speculation.method
        if method in LATER_METHODS:
            raise NotAvailable(f"The method {method}", "it comes with a later version; use draft-model.")
        if method == "draft-model" and self.draft is None:
            raise ModelNotLoaded("draft")
        if method == "auto":
            method = "autoregressive" if self.draft is None else "draft-model"
        return "autoregressive" if speculation.lookahead == 0 else method

    def _drafter(self, method: str, request: GenerationRequest, seed: int, stop_tokens: frozenset[int]) -> Drafter:
        speculation = request.speculation
        if method == "autoregressive" or self.draft is None or self.target is None:
            return NoDrafter()
        sampling = speculation.draft_sampling or request.sampling
        if speculation.draft_temperature is not None:
            sampling = replace(sampling, temperature=speculation.draft_temperature)
        return DraftModelDrafter(
            self.draft,
            self.target.vocab_size,
            sampling,
            seed,
            stop_tokens=stop_tokens,
            min_confidence=speculation.min_draft_confidence,
        )

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
        if result.method == "autoregressive" and result.stats.emitted >= _MEASURED_FROM:
            self._plain_tokens_per_second = result.stats.tokens_per_second

    # Ending -----------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Free the models. Closing twice is harmless."""
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

    `options`: `context_length` in tokens, `threads`, `gpu_layers` (-1: all), `device` and `dtype` as in LoadConfig,
    for both models.
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


def _take(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """Remove from `options` those that are fields of a configuration class."""
    names = {field.name for field in fields(kind)} - {"sampling", "speculation", "prompt"}
    return {name: options.pop(name) for name in list(options) if name in names}
