"""Define SpeculativeDecoder: the engine as a caller sees it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event as Flag
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack, cast

from engine.backends.base import Backend
from engine.backends.caches_in_memory import disk_of, keep_on_disk, keep_versions
from engine.backends.caches_on_disk import MOST_DISK_BYTES, DiskCaches, check_owner
from engine.backends.heads import HeadBackend
from engine.backends.identity import describe_cache
from engine.backends.streams import StreamSlot
from engine.cancel import CancelToken
from engine.chat.context_fit import PromptFit, measure_turns
from engine.chat.render import Renderer, release, warming
from engine.chat.template import encode_prompt, render_conversation, render_prompt
from engine.chat.thinking import ThinkingSwitch, thinking_input, thinking_of
from engine.checks import check_length, check_streams, check_text, check_tokens, is_whole
from engine.config import (
    GenerationRequest,
    LoadConfig,
    Prompt,
    SamplingConfig,
    SpeculationConfig,
    ThinkingMode,
    check_thinking,
    freeze_messages,
)
from engine.corpus.corpus import Corpus, corpus_of
from engine.errors import Cancelled, IncompatiblePair, InvalidRequest, ModelNotLoaded
from engine.events import Event, Finished, GenerationResult, LoadProgress, TokenEvent
from engine.generation.model_lock import ModelLock, ReplyRef, RunningReply
from engine.generation.questions import Infill, ReadPrompt, eyes_of, infill_tokens
from engine.generation.responder import EVERYTHING, Capabilities
from engine.loading.early import trials
from engine.loading.heads import open_found_heads, open_heads
from engine.loading.open import ModelSource, may_load_together
from engine.loading.source import Holder, Source, holds_heads, loads_alike, model_for, notes_on_models, source_for
from engine.loading.streams import open_pairs
from engine.lookahead.knowledge import PairKnowledge, learn_pair, recall_pair
from engine.messages.message import Message
from engine.messages.tools import Tool, freeze_tools
from engine.methods import AUTO, DRAFT_MODEL, PLAIN, find_method
from engine.options import GenerationOptions
from engine.stats import GenerationStats
from engine.system.files import expanded
from engine.system.machine import machine_watch
from engine.translatable import Translatable

if TYPE_CHECKING:  # Imported while the weights are read: see engine.loading.open.
    from engine.generation.loop import Events
    from engine.generation.sources import Models

OnToken = Callable[[TokenEvent], bool | None]
_MEASURED_FROM = 16
"""Plain tokens that a reply must have for its speed to count as measured."""
_ENGINE = str(Path(__file__).parent)
_REPLYING = Translatable("This decoder is already generating a reply. Wait for it, or cancel it.")
_BUSY = Translatable("This decoder is generating a reply. Wait for it, or cancel it.")


class SpeculativeDecoder:
    """Hold a target and the sources of its drafts, and write replies with them.

    Attributes: target (a loaded backend or None); sources (the loaded ones: heads before a draft model); cancel_token
    (ends the running call); stats (the sum of all replies since `reset_stats`). One reply is written at a time.
    `close`, `attach_target` and `attach_draft` may be called from another thread: they cancel the reply and wait for
    its end. `cancel_token` may be used from any thread.

    `cache_folder`: save the models' caches there after every reply, so that a conversation continues without reading
    it again after a restart (see `keep_caches`).

    >>> from engine import SpeculativeDecoder, bundled_pair
    >>> target, draft = bundled_pair()
    >>> with SpeculativeDecoder() as decoder:
    ...     decoder.attach_target(target)
    ...     decoder.attach_draft(draft)
    ...     result = decoder.generate("Hello!", max_tokens=8)
    >>> result.stats.emitted == len(result.tokens)
    True
    """

    def __init__(
        self,
        speculation: SpeculationConfig | None = None,
        sampling: SamplingConfig | None = None,
        *,
        cache_folder: str | Path | None = None,
    ) -> None:
        self._speculation = speculation or SpeculationConfig()
        self._sampling = sampling or SamplingConfig()
        self.target: Backend | None = None
        self.sources: tuple[Source, ...] = ()
        self.cancel_token = CancelToken()
        self._stats = self._past = GenerationStats()
        self._plain_tokens_per_second: float | None = None
        self._target_config: LoadConfig | None = None
        self._knowledge: PairKnowledge | None = None
        self._calibrated = self._guesses = False
        self._model_lock = ModelLock()
        self._answer_now = Flag()
        self._holder = Holder()
        self._warnings: tuple[str, ...] = ()
        self._streams: tuple[SpeculativeDecoder, ...] = ()
        self.apart: Callable[[], AbstractContextManager[None]] = nullcontext
        self._slot: StreamSlot | None = None
        self._caches: tuple[Path, int] | None = None
        self._keeps_replies = False
        self.corpus: Corpus | None = None
        self.keep_caches(cache_folder)

    # Models -----------------------------------------------------------------------------------------------------------

    @property
    def is_loaded(self) -> bool:
        """Return True if there is a target."""
        return self.target is not None

    @property
    def draft(self) -> Backend | None:
        """Return the loaded draft model, or None."""
        return model_for("draft", self.sources)

    @property
    def heads(self) -> HeadBackend | None:
        """Return the loaded draft heads, or None."""
        return cast("HeadBackend | None", model_for("heads", self.sources))

    @property
    def capabilities(self) -> Capabilities:
        """Return the capabilities of its replies: all of them."""
        return EVERYTHING

    def attach_target(
        self,
        model: ModelSource,
        *,
        progress: Callable[[LoadProgress], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> None:
        """Load a target and replace the previous one (which stays if this fails); a draft that does not fit is dropped.

        A reply that is being written is cancelled once the model is loaded.
        Raises LoadFailed and its kinds, BackendClosed, Cancelled.
        """
        with trials(model), warming(self, lambda: self.target, early=not isinstance(model, Backend)):
            backend, config = self._holder.open(model, "target", progress, cancel or self.cancel_token)
            with self._model_lock.change():
                fitting = []
                for source in self.sources:
                    with suppress(IncompatiblePair):
                        fitting.append(source.fitted_to(backend))
                self._put(backend, config, fitting)
                self.corpus = None  # It is in the tokens of another one.
                self._plain_tokens_per_second = None
                self._past = GenerationStats()
                self._note_models()

    def attach_draft(
        self,
        model: ModelSource | None,
        *,
        progress: Callable[[LoadProgress], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> None:
        """Load a draft and replace the previous one (which stays if this fails). None: no draft.

        A reply that is being written is cancelled once the model is loaded.
        Raises LoadFailed and its kinds, VocabularyMismatch, BackendClosed, Cancelled.
        """
        opened = None if model is None else self._holder.open(model, "draft", progress, cancel or self.cancel_token)
        self._use("draft", None if opened is None else Source(DRAFT_MODEL, *opened))

    def attach_pair(
        self,
        target: ModelSource,
        draft: ModelSource,
        *,
        progress: Callable[[LoadProgress], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> None:
        """Load a target and its draft as `attach_target` and `attach_draft` do, side by side if memory has room.

        The target stays if only the draft fails. Raises what they raise.
        """
        token = cancel or self.cancel_token
        with trials(target, draft):
            self._attach_pair(target, draft, progress, token)

    def _attach_pair(
        self,
        target: ModelSource,
        draft: ModelSource,
        progress: Callable[[LoadProgress], None] | None,
        token: CancelToken,
    ) -> None:
        if not may_load_together(target, draft):
            self.attach_target(target, progress=progress, cancel=token)
            self.attach_draft(draft, progress=progress, cancel=token)
            return
        there = Flag()

        def report(done: LoadProgress) -> None:
            if progress is not None and there.is_set():  # One at a time, as both are not drawn.
                progress(done)

        with self._holder.opening(draft, "draft", report) as loaded:
            self.attach_target(target, progress=progress, cancel=token)
            there.set()
            self._use("draft", Source(DRAFT_MODEL, *loaded(token)))

    def attach(
        self,
        target: ModelSource | None,
        sources: Iterable[LoadConfig],
        *,
        progress: Callable[[LoadProgress], None] | None = None,
        cancel: CancelToken | None = None,
    ) -> None:
        """Load a target and all sources for it, and release other sources. Loaded models stay.

        `target` None: the attached one. `sources`: files with heads for the target, or else draft models. If one
        cannot be loaded, the previous sources stay.
        Raises what `attach_target`, `attach_draft` and `attach_heads` raise.
        """
        token, wanted = cancel or self.cancel_token, list(sources)
        config = target if isinstance(target, LoadConfig) else self._target_config if target is None else None
        heads = [holds_heads(source.path, None if config is None else config.path) for source in wanted]
        if target is not None and heads == [False] and not self._has(wanted[0]):
            self.attach_pair(target, wanted[0], progress=progress, cancel=token)
        elif target is not None:
            self.attach_target(target, progress=progress, cancel=token)
        token.check("Loading the model")
        for source, is_head in zip(wanted, heads, strict=True):
            if self._has(source):
                continue
            if is_head:
                self.attach_heads(source, cancel=token)
            else:
                self.attach_draft(source, progress=progress, cancel=token)
        for each in self.sources:
            if each.config is None or not any(map(partial(loads_alike, each.config), wanted)):
                self._use(each.method.needs, None)

    def _has(self, source: LoadConfig) -> bool:
        return any(each.config is not None and loads_alike(each.config, source) for each in self.sources)

    def _use(self, needs: str, source: Source | None) -> None:
        """Attach a loaded source in place of the one for the same methods. None: remove that one.

        Raises VocabularyMismatch if it does not fit the target, and releases it.
        """
        with self._model_lock.change():
            try:
                new = () if source is None else (source.fitted_to(self.target),)
            except IncompatiblePair:
                if source is not None and source.model is not None:
                    self._holder.release(source.model)
                raise
            others = (other for other in self.sources if other.method.needs != needs)
            by_states = sorted((*new, *others), key=lambda each: not each.reads_states)
            self._put(self.target, self._target_config, by_states)
            self._note_models()

    def attach_heads(self, model: str | Path | LoadConfig | None, *, cancel: CancelToken | None = None) -> None:
        """Load the draft heads of the attached target, and replace the previous ones. None: no heads.

        `model`: their file, or the target's own if it contains them. They stay until another target is attached.
        A reply that is being written is cancelled first.
        Raises ModelNotLoaded (there is no target), LoadFailed and its kinds, NotAvailable, Cancelled.
        """
        token = cancel or self.cancel_token
        with self._model_lock.change():  # Opened within: some heads share the target's cache, and empty it.
            self._use("heads", None if model is None else open_heads(model, self._loaded(), token))

    def find_heads(self, method: str = AUTO, *, cancel: CancelToken | None = None) -> tuple[str, ...]:
        """Load draft heads that fit the attached target, from its file or from its folder.

        `method`: their draft method; "auto": any. If none can be used, return the reason for each file in a sentence;
        () if there are none, or `heads` is one. A reply that is being written is cancelled first.
        Raises ModelNotLoaded, Cancelled.
        """
        target, config = self._loaded(), self._target_config
        if config is None:  # Given loaded: nobody knows from where.
            return ()
        with self._model_lock.change():
            found, reasons = open_found_heads(config, target, method, cancel or self.cancel_token)
            if found is not None:
                self._use("heads", found)
        return reasons

    def attach_corpus(self, corpus: Corpus | Iterable[str | Path] | None, *, cancel: CancelToken | None = None) -> None:
        """Draft from the user's texts too, until another target is attached; None: stop that.

        `corpus`: texts, and (as Path) files and folders of them, which are indexed here; or a Corpus in the tokens of
        this target. The automatic lookahead uses their proposals if they pay. Raises ModelNotLoaded, Cancelled.
        """
        target = self._loaded()
        if corpus is not None and not isinstance(corpus, Corpus):
            corpus = corpus_of(corpus, target.tokenizer, cancel=cancel or self.cancel_token)
        self.corpus = corpus

    def config_of(self, part: Literal["target", "draft", "heads"]) -> LoadConfig | None:
        """Return a model's configuration; None if it is not loaded, or was handed over."""
        if part == "target":
            return self._target_config
        source = source_for(part, self.sources)
        return None if source is None else source.config

    def _put(self, target: Backend | None, config: LoadConfig | None, sources: Sequence[Source]) -> None:
        """Hold these models from now on, and release the others."""
        self._forget()
        former, before = self.target, self.sources
        self.target, self._target_config, self.sources = target, config, tuple(sources)
        there = {*(source.model for source in before), former}
        self._keep_caches_of_models(but=there)
        now = {target, *(source.model for source in sources)}
        for source in before:
            if source.reads_states and source.model not in now and former is not None:
                former.show_states(None)
        for backend in there - now:
            if backend is not None:
                self._holder.release(backend)

    def _forget(self) -> None:
        """Drop the costs of the models, which change; learned ones are saved first. Streams end."""
        self.close_streams()
        if self._knowledge is not None:
            self._knowledge.save(at_once=True)
        self._knowledge = None
        self._calibrated = self._guesses = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return sentences that a person should know about the loaded models and the pair, mostly none."""
        return self._warnings

    def _note_models(self) -> None:
        """Update the notes on the models, and warn of new ones."""
        found = notes_on_models(self.target, self.sources)
        before, self._warnings = self._warnings, tuple(found)
        for note in [each for each in found if each not in before]:
            warnings.warn(note, found[note], stacklevel=_callers_level())

    # Replies ----------------------------------------------------------------------------------------------------------

    def generate(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        on_token: OnToken | None = None,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> GenerationResult:
        """Write a reply and return it whole.

        `prompt`: text, messages ({"role", "content"}), token ids, or a GenerationRequest. If the last
        message is the assistant's, it is continued, and the result is the continuation. `on_token` gets each token and
        may return False to end the reply with it. `options`: fields of GenerationRequest, SamplingConfig and
        SpeculationConfig by name, which override the decoder's.
        Raises ModelNotLoaded, InvalidRequest, DecoderBusy, ContextFull, BackendFailure, Cancelled (before any token).
        """
        return self._reply(prompt, cancel, options).result(on_token)

    async def agenerate(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        on_token: OnToken | None = None,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> GenerationResult:
        """Write a reply as `generate` does, without blocking the event loop: on a thread of its own.

        Cancelling the task, as a time-out does, ends the reply and waits for its end; the decoder is free then.
        `on_token` is called on that thread. Raises what `generate` raises.
        """
        token = cancel or self.cancel_token
        reply = self._reply(prompt, token, options)
        from engine.generation.async_reply import on_own_thread  # noqa: PLC0415 - see astream

        return await on_own_thread(lambda: reply.result(on_token), token)

    def generate_many(
        self,
        prompts: Iterable[Prompt | GenerationRequest],
        *,
        n: int = 1,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> Generator[GenerationResult, None, None]:
        """Write `n` replies to each prompt, one after the other, and yield each when it is finished.

        The replies to one prompt read it once. With a seed, each has its own: the seed, and the numbers
        after it. A reply that is cancelled is the last one. Raises what `generate` raises, at the prompt concerned.
        """
        given: object = n
        if not is_whole(given) or n < 1:
            raise InvalidRequest(f"n must be a whole number above 0, not {given!r}.")
        if isinstance(prompts, str | bytes | Mapping | GenerationRequest) or not isinstance(prompts, Iterable):
            raise InvalidRequest("generate_many takes a list of prompts. For a single one, use generate.")
        # Checked here, not at the first `next`.
        return self._many(prompts, n, cancel, options)

    def _many(
        self,
        prompts: Iterable[Prompt | GenerationRequest],
        n: int,
        cancel: CancelToken | None,
        options: GenerationOptions,
    ) -> Generator[GenerationResult, None, None]:
        for prompt in prompts:
            seed = options.get("seed")
            if seed is None and isinstance(prompt, GenerationRequest):
                seed = prompt.sampling.seed
            for number in range(n):
                drawn: GenerationOptions = {} if seed is None else {"seed": (seed + number) % 2**64}
                result = self._reply(prompt, cancel, options | drawn).result()
                yield result
                if result.finish_reason == "cancelled":
                    return

    def stream(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> Generator[Event, bool | None, None]:
        """Write a reply as events: PromptProgress…, TokenEvent and RoundEvent…, Finished. Arguments as `generate`.

        Closing the generator early ends the reply; the decoder can be used again at once.
        """
        return self._reply(prompt, cancel, options)

    def astream(
        self,
        prompt: Prompt | GenerationRequest,
        *,
        cancel: CancelToken | None = None,
        **options: Unpack[GenerationOptions],
    ) -> AsyncGenerator[Event, None]:
        """Stream as `stream` does, without blocking the event loop: the work is done on a thread of its own.

        The reply ends early by leaving the loop, by `aclose`, or by cancelling the task.
        """
        from engine.generation.async_reply import AsyncReply  # noqa: PLC0415 - asyncio takes long to import

        token = cancel or self.cancel_token
        return AsyncReply(lambda: self._reply(prompt, token, options), token)

    def answer_now(self) -> None:
        """End the reasoning of the reply that is being written, and begin its answer. From any thread.

        The target family's end of reasoning is written, as tokens of the origin "forced". Does nothing outside the
        reasoning.
        """
        self._answer_now.set()

    def _reply(
        self, prompt: Prompt | GenerationRequest, cancel: CancelToken | None, options: GenerationOptions
    ) -> RunningReply:
        return RunningReply(lambda reply: self._events(prompt, cancel, dict(options), reply))

    def _events(
        self,
        prompt: Prompt | GenerationRequest,
        cancel: CancelToken | None,
        options: dict[str, Any],
        reply: ReplyRef,
    ) -> Events:
        started = perf_counter()
        from engine.generation.loop import GenerationLoop  # noqa: PLC0415 - see the top
        from engine.generation.planner import make_plan  # noqa: PLC0415 - as above
        from engine.generation.request import make_request, settle_lookahead  # noqa: PLC0415 - as above

        request = make_request(prompt, options, self._sampling, self._speculation)
        token = cancel or self.cancel_token
        if self._slot is not None:  # A stream does one thing at a time.
            request = replace(request, speculation=replace(request.speculation, overlap="off"))
        with (
            self._model_lock.use(token, _REPLYING, reply),
            self._holder.use(self.target, self.draft),
            self._slot or nullcontext(),
        ):
            self._answer_now.clear()
            request = settle_lookahead(request, has_draft=bool(self.sources))
            keep_versions(self.target, self.draft, on=bool(request.prefix or request.forced))
            plan = make_plan(
                request,
                self._models(request),
                token,
                answer_now=self._answer_now,
                started=started,
                plain_tokens_per_second=self._plain_tokens_per_second,
            )
            cut_off = True
            with closing(GenerationLoop(plan).run()) as events, suppress(StopIteration):
                answer: bool | None = None
                while True:
                    event = events.send(answer)
                    if isinstance(event, Finished):
                        self._remember(event.result)
                        cut_off = event.result.finish_reason in ("cancelled", "error")
                    answer = yield event
            if self._keeps_replies:
                with suppress(Cancelled):
                    self._write_caches("", token)
            if (guess := plan.reading.guess) is not None and guess.missed and not cut_off:
                guess.prepare()
            if self._guesses and not cut_off and not self._streams:  # Those would wait for it.
                self._settle_costs(token)

    def _models(self, request: GenerationRequest) -> Models:
        from engine.generation.sources import Models  # noqa: PLC0415 - see the top

        target = self._loaded()
        models = Models(target, self.sources, past=self._past, corpus=self.corpus)
        if request.speculation.lookahead != "auto":
            return models
        if self._knowledge is None:  # A first reply begins at once, with what was learned earlier or a guess.
            self._knowledge = recall_pair(target, self.draft, self._configs)
            self._calibrated = self._knowledge is not None
            self._guesses = not self._calibrated
            self._knowledge = self._knowledge or PairKnowledge()
        return replace(models, knowledge=self._knowledge)

    def calibrate(self, *, cancel: CancelToken | None = None) -> None:
        """Measure the loaded models' costs on this machine for lookahead 'auto': once a pair, two seconds at most.

        The first reply with 'auto' begins with a guess and calls this after its last event, if its consumer waits for
        that. After a cancelled call, replies learn the costs from their own rounds until the next call. Does nothing
        if the costs are known, or if other programs keep the processor busy, which would distort them.
        Raises ModelNotLoaded, DecoderBusy (while a reply is being written), Cancelled.
        """
        token = cancel or self.cancel_token
        with self._model_lock.use(token, _BUSY), self._holder.use(self.target, self.draft):
            try:
                target = self._loaded()
                if not self._calibrated and not machine_watch().busy():
                    self._learn(target, token)
            except Cancelled:
                self._knowledge, self._guesses = self._knowledge or PairKnowledge(), False
                raise

    def _settle_costs(self, cancel: CancelToken) -> None:
        """Calibrate behind a reply that began with a guess: its text is there, and the next one need not wait."""
        target = self._loaded()
        if not machine_watch().busy():
            target.show_states(None)  # Heads keep those of the text, and see none of what is measured with.
            try:
                self._learn(target, cancel)
            except Cancelled:
                self._guesses = False

    def _learn(self, target: Backend, cancel: CancelToken) -> None:
        guess, self._knowledge = self._knowledge, learn_pair(target, self.draft, self._configs, cancel)
        if self._guesses and guess is not None:
            self._knowledge.go_on_from(guess)
        self._calibrated, self._guesses = True, False

    # Questions --------------------------------------------------------------------------------------------------------

    def _loaded(self) -> Backend:
        if self.target is None:
            raise ModelNotLoaded("target")
        return self.target

    def describe(self) -> dict[str, Any]:
        """Return the models' names and where the target computes, for JSON."""
        target, draft = self.target, model_for("draft", self.sources)
        said: dict[str, Any] = {"draft": None if draft is None else draft.name}
        if target is not None:
            said |= {"target": target.name, "device": target.device, "batch_invariant": target.batch_invariant}
        return said

    def token_text(self, token: int) -> str:
        r"""Return the text of one token of the target alone.

        '' for a control token; bytes of half a character as \xf0\x9f.

        Raises ModelNotLoaded, TokenOutOfRange.
        """
        target = self._loaded()
        check_tokens((token,), target.vocab_size)
        return target.tokenizer.piece(token).decode("utf-8", "backslashreplace")

    def fit(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        max_tokens: int | None = None,
        thinking: ThinkingMode = "default",
        tools: Sequence[Tool] = (),
        cancel: CancelToken | None = None,
    ) -> PromptFit:
        """Return the prompt's size for a reply of `max_tokens`, and the dropped turns. Evaluates nothing.

        `thinking` and `tools` as in GenerationRequest. Raises ModelNotLoaded, InvalidRequest, ChatTemplateFailed,
        TextNotEncodable, Cancelled.
        """
        target, frozen = self._loaded(), freeze_messages(messages)
        check_length(max_tokens, 0, None)
        given = thinking_input(check_thinking(thinking), target.tokenizer, Renderer(cancel))
        given = replace(given, tools=freeze_tools(tools) or None, see=eyes_of(target))
        return measure_turns(frozen, target.tokenizer, target.context_length, max_tokens, cancel, given)

    @property
    def sees(self) -> bool:
        """True if the target reads pictures. Raises ModelNotLoaded."""
        return self._loaded().sees

    def count_picture(self, address: str) -> int:
        """Count a picture's tokens for the target. Raises ModelNotLoaded, NotAvailable, InvalidRequest."""
        see = eyes_of(self._loaded())
        return 0 if see is None else len(see(address))

    def count(self, text: str) -> int:
        """Count the tokens of the target in a text. Raises ModelNotLoaded, InvalidRequest, TextNotEncodable."""
        return len(self.encode(text))

    def encode(self, text: str, *, add_special: bool = False, parse_special: bool = False) -> list[int]:
        """Return the target's token ids of a text.

        `add_special` adds the begin token, and the end token, if the model uses one; `parse_special` reads the
        texts of control tokens as those tokens. Raises ModelNotLoaded, InvalidRequest, TextNotEncodable.
        """
        target = self._loaded()
        if not isinstance(text, str):
            raise InvalidRequest(f"A text must be a string, not {type(text).__name__}.")
        check_text(text)
        return target.tokenizer.encode(text, add_special=add_special, parse_special=parse_special)

    def decode(self, tokens: Sequence[int], *, markers: bool = False) -> str:
        """Return the text of token ids of the target, as they stand in the middle of a text.

        Bytes of an incomplete character become U+FFFD. Control tokens have no text; with `markers`, they have that of
        their marker. Raises ModelNotLoaded, InvalidRequest, TokenOutOfRange.
        """
        target = self._loaded()
        if isinstance(tokens, str | bytes) or not isinstance(tokens, Sequence):
            raise InvalidRequest(f"Tokens must be a list of token ids, not {type(tokens).__name__}.")
        check_tokens(tokens, target.vocab_size)
        tokenizer, pieces = target.tokenizer, []
        for token in tokens:
            piece = tokenizer.piece(token)
            pieces.append(piece if piece or not markers else tokenizer.marker(token).encode())
        return b"".join(pieces).decode("utf-8", "replace")

    def prompt_tokens(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        thinking: ThinkingMode = "default",
        tools: Sequence[Tool] = (),
    ) -> list[int]:
        """Return the tokens of a prompt of all these messages; `thinking`, `tools` as in GenerationRequest.

        Raises ModelNotLoaded, InvalidRequest, ChatTemplateFailed, TextNotEncodable.
        """
        target, renderer = self._loaded(), Renderer()
        tokenizer, offered = target.tokenizer, freeze_tools(tools) or None
        given = thinking_input(check_thinking(thinking), tokenizer, renderer)
        given = replace(given, tools=offered, see=eyes_of(target))
        return encode_prompt(tuple(freeze_messages(messages)), tokenizer, raw=False, renderer=renderer, given=given)

    def infill_prompt(self, gap: Infill) -> list[int]:
        """Return the prompt for filling a gap (infill): prefix, suffix, and the marker of the middle.

        Raises ModelNotLoaded, InvalidRequest (the target has no such markers), TextNotEncodable.
        """
        return infill_tokens(self._loaded(), gap)

    @property
    def thinking(self) -> ThinkingSwitch:
        """Return the target's control of reasoning: "on-off", "effort" (low, medium, high), or "none".

        Determined by rendering the chat template. Raises ModelNotLoaded.
        """
        return thinking_of(self._loaded().tokenizer, Renderer()).switch

    @property
    def thinking_modes(self) -> tuple[ThinkingMode, ...]:
        """List the values of `thinking` for the target, beside "default"; () if they cannot be determined.

        Raises ModelNotLoaded.
        """
        return thinking_of(self._loaded().tokenizer, Renderer()).modes

    def read_prompt(
        self,
        messages: Sequence[Message | Mapping[str, Any]],
        *,
        thinking: ThinkingMode = "default",
        tools: Sequence[Tool] = (),
        template_options: Mapping[str, Any] | None = None,
        reply_next: bool = True,
        cancel: CancelToken | None = None,
    ) -> ReadPrompt:
        """Return the prompt text of all these messages, as the target would read it. Evaluates nothing.

        `thinking`, `tools` and `template_options` as in GenerationRequest.
        `reply_next`: end with the start of a reply, or continue a last message of the assistant's; False: neither.
        Raises ModelNotLoaded, InvalidRequest, ChatTemplateFailed, TextNotEncodable, Cancelled.
        """
        target, frozen = self._loaded(), freeze_messages(messages)
        tokenizer = target.tokenizer
        if not frozen:
            raise InvalidRequest("There is no message to be read.")
        renderer = Renderer(cancel)
        given = thinking_input(check_thinking(thinking), tokenizer, renderer)
        variables = {**given.arguments, **(template_options or {})}
        given = replace(given, tools=freeze_tools(tools) or None, arguments=variables, see=eyes_of(target))
        if reply_next:
            prompt = render_prompt(frozen, tokenizer, renderer, given)
        else:
            prompt = render_conversation(frozen, tokenizer, renderer, given)
        markers = tuple(prompt.markers(tokenizer))
        return ReadPrompt(prompt.text, markers, len(prompt.tokens(tokenizer)), renderer.notes)

    # Caches on disk ---------------------------------------------------------------------------------------------------

    def keep_caches(
        self, folder: str | Path | None, *, most_bytes: int = MOST_DISK_BYTES, each_reply: bool = True
    ) -> None:
        """Save the models' caches in a folder, so that a conversation continues after a restart without a new reading.

        A saved cache is restored by the next reply to a prompt with the same beginning; the folder keeps the most
        recently used ones, `most_bytes` in all. `each_reply`: save after every reply's last event; False: only when
        `keep_cache` is called. None: save and restore nothing from now on. Works with llama.cpp models whose cache can
        be cut at any token, without heads. A cache that is damaged, or made with other models, settings or versions,
        is ignored. Raises InvalidRequest.
        """
        if most_bytes < 0:
            raise InvalidRequest(f"most_bytes must be a whole number of bytes, 0 or more, not {most_bytes!r}.")
        self._caches = None if folder is None else (expanded(folder), most_bytes)
        self._keeps_replies = folder is not None and each_reply
        self._keep_caches_of_models()

    def keep_cache(self, owner: str = "", *, cancel: CancelToken | None = None) -> None:
        """Store the models' caches of the last conversation now, if `keep_caches` named a folder.

        `owner`: the conversation's name (letters, digits, underscores), with which `forget_caches` deletes it.
        Raises DecoderBusy (while a reply is being written), InvalidRequest, Cancelled: the next call goes on.
        """
        check_owner(owner)
        token = cancel or self.cancel_token
        with self._model_lock.use(token, _BUSY), self._holder.use(self.target, self.draft):
            self._write_caches(owner, token)

    def _write_caches(self, owner: str, cancel: CancelToken) -> None:
        for backend in (self.target, self.draft):
            disk = None if backend is None else disk_of(backend)
            if backend is not None and disk is not None:
                disk.keep(backend, owner, cancel)

    def _keep_caches_of_models(self, but: Collection[Backend | None] = ()) -> None:
        """Enable the stored caches of the models, all `but` these, if this decoder stores caches."""
        for backend, config in zip((self.target, self.draft), self._configs, strict=True):
            if backend is not None and backend not in but:
                caches, name = self._caches, describe_cache(backend, config) if self._caches else None
                disk = None if caches is None or name is None else DiskCaches(caches[0], name, caches[1])
                keep_on_disk(backend, disk)

    @property
    def _configs(self) -> tuple[LoadConfig | None, LoadConfig | None]:
        """Return the configurations of target and draft."""
        draft = source_for("draft", self.sources)
        return self._target_config, None if draft is None else draft.config

    # Replies beside each other ----------------------------------------------------------------------------------------

    @property
    def can_stream(self) -> bool:
        """True if its sources can propose in streams: heads cannot that share the target's cache, or read its end."""
        return all(source.shareable for source in self.sources)

    def open_streams(self, count: int, *, midway: bool = False) -> tuple[SpeculativeDecoder, ...]:
        """Return decoders that share this one's models and write replies side by side; none if the models cannot.

        Each writes one reply at a time, on a thread of its own; simultaneous forwards are batched. They cannot draft
        trees. This decoder ends them when it is closed or its models change.
        `midway`: called between two rounds of a reply, by its thread, the later ones within `apart()`.
        Raises InvalidRequest, DecoderBusy (while a reply is being written).
        """
        check_streams(count)
        if not midway:
            with self._model_lock.use(CancelToken(), _BUSY), self._holder.use(self.target, self.draft):
                return self.open_streams(count, midway=True)
        opened = open_pairs(self._loaded(), self.draft, count) if self.can_stream and not self._streams else None
        if opened is not None:
            with ExitStack() as failed:
                made = [failed.enter_context(self._make_stream(*place)) for place in opened[1]]
                for stream in made:
                    self._open_own_heads(stream)
                failed.pop_all()
            self.apart, self._streams = opened[0].apart, tuple(made)
        return self._streams

    def _make_stream(self, slot: StreamSlot, target: Backend, draft: Backend | None) -> SpeculativeDecoder:
        stream = SpeculativeDecoder(self._speculation, self._sampling)
        stream.attach_target(target)
        stream.attach_draft(draft)
        stream._slot = slot
        stream._knowledge = (self._knowledge or PairKnowledge()).apart(str(slot.number))
        return stream

    def _open_own_heads(self, stream: SpeculativeDecoder) -> None:
        """Load the heads of this decoder once more for a stream: they keep the states of its text."""
        source, own = source_for("heads", self.sources), stream.target
        if source is None or source.config is None or own is None:
            return
        heads = open_heads(replace(source.config, trusted=True), self._loaded(), CancelToken())
        cast(HeadBackend, heads.model).target = own
        stream._use("heads", heads)

    def close_streams(self) -> None:
        """End the decoders of `open_streams`. What they write is cancelled."""
        streams, self._streams = self._streams, ()
        for stream in streams:
            stream.close()

    # Figures ----------------------------------------------------------------------------------------------------------

    @property
    def stats(self) -> GenerationStats:
        """Return the figures of all replies since the last `reset_stats`, added up."""
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
        """Free the models. What is running is cancelled and has ended before. Closing twice is harmless."""
        self._holder.cancel_loads()
        with self._model_lock.change():
            self._put(None, None, ())
        release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _callers_level() -> int:
    """Return the `stacklevel` at which the warning of whoever calls this names the line that called the engine."""
    level, frame = 1, sys._getframe(1)  # noqa: SLF001 - what the module warnings does, too
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_ENGINE):
        level, frame = level + 1, frame.f_back
    return level
