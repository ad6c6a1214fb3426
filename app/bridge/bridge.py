"""Run the engine, as the only place that does: its thread takes jobs, and the Qt loop awaits them.

A second thread counts tokens, so that a chat's share of the context is known while another chat is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import engine
from app.bridge.embedding import Embedding
from app.bridge.job import AS_ASKED, FolderListing, Job, LoadWay
from app.bridge.responders import Responders
from app.bridge.worker import Worker
from app.state.chat.context_use import TokenCount
from app.state.chat.messages import question_messages
from app.state.chat.road import Pieces
from app.state.chat.trace import TOP, TokenTrace
from app.state.compare.compare import CompareProgress, CompareRequest
from app.state.compare.race import RaceMark
from app.state.models.selection import Loaded, Lookahead
from app.state.settings.generation import GenerationChoice
from app.system.folder_watch import places_to_watch
from engine import (
    Cancelled,
    CancelToken,
    EngineError,
    Event,
    Finished,
    GenerationResult,
    Message,
    ModelFile,
    ModelNotLoaded,
    PromptProgress,
    RoundEvent,
    SamplingConfig,
    TextEvent,
    TokenEvent,
    host,
)

if TYPE_CHECKING:
    from engine import FoundServer, SpeculativeDecoder, WaysProgress, WaysReport

__all__ = ["EngineBridge", "FolderListing", "Job", "LoadWay", "ModelsChanged", "TimedEvent"]

TimedEvent = tuple[float, Event]
_REPORT_S = 0.25
"""The interval at which a running measurement's figures are calculated and shown."""


class ModelsChanged(EngineError):
    """Report that the loaded models are not those that were to be measured."""

    def __init__(self) -> None:
        super().__init__("Other models were loaded meanwhile. Start again to measure them.")


def _as_they_are(messages: Sequence[Message]) -> Sequence[Message]:
    return messages


def _make_decoder() -> SpeculativeDecoder:
    """Return the engine itself, which is imported by the thread that runs it: the window is on screen before that."""
    return engine.SpeculativeDecoder()


Texts = Iterable[tuple[str, str, Callable[[], str]]]
"""Key, version, and reader of each text."""


class EngineBridge(Responders):
    """Run jobs of the engine.

    Attributes: loaded (the models actually loaded, also after a failed load); facts (of the loaded models, the target
    first); embedding (makes vectors of texts); progress (of the load that is running, or None); measuring (a
    calibration of the pair runs); proving (a comparison of ways runs); thinking_modes (the target's choices of
    thinking); made (the settings of the last reply, for its proof); began (is called in the Qt thread when a reply's
    first token is there); pictured (replaces the file references of
    messages by pictures, on any thread); token_names (texts of those of the target's tokens that a reply used).
    Methods are called on the Qt thread. A background scan or calibration is interrupted by a load or a reply, and
    then restarted.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        trusted: Sequence[Path] = (),
        make_decoder: Callable[[], SpeculativeDecoder] | None = None,
    ) -> None:
        super().__init__(trusted)
        self.measuring = False
        self.comparing = False
        self._held: dict[Job[Loaded], LoadWay] = {}
        self._put_off = False
        self._loop = loop
        self._make_decoder = make_decoder or _make_decoder
        self._events: deque[TimedEvent] = deque()
        self.began: Callable[[], object] = lambda: None
        self._now: SpeculativeDecoder | None = None
        self._caches: Path | None = None
        self.made: dict[str, Any] | None = None
        self.pictured: Callable[[Sequence[Message]], Sequence[Message]] = _as_they_are
        self._read: list[int] = []
        """The target's cached tokens of the chat whose reply was the last one."""
        self._worker = Worker(loop, self._begin, "outrider-engine")
        self._counter = Worker(loop, contextlib.nullcontext, "outrider-counter")
        self.embedding = Embedding(loop, self._worker, self._counter)

    # Jobs -------------------------------------------------------------------------------------------------------------

    def load(self, wanted: Loaded, how: LoadWay = AS_ASKED, *, hold: bool = False) -> Job[Loaded]:
        """Load the wanted models, except those already loaded in this way.

        `hold`: the load waits for `continue_`. Raises LoadFailed and its kinds, VocabularyMismatch, Cancelled.
        """
        job = Job(self._loop, lambda cancel: self._load_anew(wanted, self._held.pop(job, how), cancel))
        if not hold:
            return self._worker.submit(job)
        self._held[job] = how
        job.withdraw = lambda: self._drop(job)
        return job

    def continue_(self, job: Job[Loaded], how: LoadWay) -> None:
        """Begin a load that was held, in this way."""
        if job in self._held:
            self._held[job] = how
            self._worker.submit(job)

    def _drop(self, job: Job[Loaded]) -> None:
        self._held.pop(job, None)
        self._worker.drop(job)

    def unload(self) -> Job[Loaded]:
        """Free the models, once a reply that is being written is over."""
        return self._worker.submit(Job(self._loop, lambda _cancel: self._unload()))

    def find_server(self, address: str, key: str) -> Job[FoundServer]:
        """Query a server for its models, with a key if there is one. Raises InvalidRequest, ServerFailed, Cancelled."""
        return self._worker.submit(Job(self._loop, lambda cancel: self._find_server(address, key, cancel)))

    def keep_key(self, address: str) -> Job[bool]:
        """Put the key of this session for a server into the system's keyring; False: there is no keyring."""
        key = self._keys.get(address, "")
        return self._worker.submit(Job(self._loop, lambda _cancel: host.keep_server_key(address, key)))

    def forget_key(self, address: str) -> Job[bool]:
        """Take the key for a server out of the system's keyring."""
        self._keys.pop(address, None)
        return self.keep_key(address)

    def reply(
        self,
        messages: Sequence[Message],
        lookahead: Lookahead,
        choice: GenerationChoice | None = None,
        prefix: Pieces = (),
        forced: Pieces = (),
        prediction: str = "",
        *,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Job[GenerationResult]:
        """Write a reply; its events come by `drain`. Raises ContextFull, Cancelled before the first token.

        `choice`: its settings, None: the defaults. `prefix`, `forced`: its beginning. `prediction`: a likely text.
        `tools`: those that the model may call; none with a constraint.
        """
        self._events.clear()
        choice = GenerationChoice() if choice is None else choice
        extra = {"prefix": prefix, "forced": forced, "prediction": prediction}
        begun = {name: each for name, each in extra.items() if each}

        def work(cancel: CancelToken) -> GenerationResult:
            options = choice.options(lookahead if self._remote is None else "auto") | begun
            if tools and "constraint" not in options:
                options["tools"] = tools
            return self._reply(messages, options, choice, cancel)

        return self._worker.submit(Job(self._loop, work))

    def keep_caches(self, folder: Path | None) -> None:
        """Set the folder of the chats' caches, which `keep_cache` writes; None: write and use none."""
        self._caches = folder
        if self._now is not None:
            self._worker.do(self._use_caches)

    def keep_cache(self, chat: str) -> None:
        """Store the models' caches of a chat whose reply has just ended."""

        def keep() -> None:
            target = self._decoder.target
            if target is not None and self._read and list(target.tokens) == self._read:
                self._decoder.keep_cache(chat)

        if self._caches is not None:
            self._worker.do(keep)

    def verify(self, path: Path, models: Sequence[Path]) -> Job[engine.Verified]:
        """Recompute the reply of a proof file with the models that it needs, and compare.

        Raises NoProof, LoadFailed and its kinds, Cancelled.
        """

        def work(cancel: CancelToken) -> engine.Verified:
            proof = engine.load_proof(path)
            found = host.find_models(proof, models, cancel)
            return engine.verify_proof(proof, found, decoder=self._decoder, cancel=cancel)

        return self._worker.submit(Job(self._loop, work))

    def forget_caches(self, chat: str) -> None:
        if (folder := self._caches) is not None:
            self._worker.do(lambda: host.forget_caches(folder, chat))

    def forget_other_caches(self, folder: Path, chats: Collection[str]) -> None:
        """Delete the stored caches in a folder of other chats than these."""
        self._worker.do(lambda: host.forget_other_caches(folder, chats))

    def draft_from(self, folder: Path, texts: Callable[[], Texts] | None) -> None:
        """Index texts in the background, kept in a folder, and draft from them; None: from none.

        The folder's indexes of other texts, for any model, are deleted. `draft_from_too` adds texts.
        """

        def index(cancel: CancelToken) -> None:
            listed = [] if texts is None else list(texts())
            host.prune_corpora(folder, {key for key, _, _ in listed})
            target = self._decoder.target
            if target is None or texts is None:
                if target is not None:
                    self._decoder.attach_corpus(None)
                return
            corpus = engine.open_corpus(folder, target.tokenizer, target.vocab_size)
            encode = partial(target.tokenizer.encode, add_special=False, parse_special=False)
            try:
                corpus.update(listed, encode, cancel=cancel)
            finally:
                self._decoder.attach_corpus(corpus)

        self._do_later(index)

    def draft_from_too(self, texts: Callable[[], Texts]) -> None:
        """Index other versions of some of those texts, or more of them, in the background."""

        def index(_cancel: CancelToken) -> None:
            target, corpus = self._decoder.target, self._decoder.corpus
            if target is not None and corpus is not None:
                corpus.put(texts(), partial(target.tokenizer.encode, add_special=False, parse_special=False))

        self._do_later(index)

    def _do_later(self, work: Callable[[CancelToken], None]) -> None:
        """Do a piece of work in the background; nobody waits for it, nor hears that it failed."""
        job = self._worker.submit(Job(self._loop, work, background=True))
        job.result.add_done_callback(lambda done: done.cancelled() or done.exception())

    def answer_now(self) -> None:
        """End the thought of the reply that is being written, and let the answer begin."""
        self._answering.answer_now()

    def read_prompt(
        self, messages: Sequence[Message], choice: GenerationChoice, *, reply_next: bool
    ) -> Job[engine.ReadPrompt]:
        """Return in the background the prompt of these messages as the target reads it.

        `reply_next`: end with the start of a reply; False: without. Raises ModelNotLoaded, InvalidRequest,
        ChatTemplateFailed, TextNotEncodable, Cancelled.
        """

        def work(cancel: CancelToken) -> engine.ReadPrompt:
            pictured, how = self.pictured(choice.messages(messages)), choice.template_options | choice.thinking_options
            return self._answering.read_prompt(pictured, reply_next=reply_next, cancel=cancel, **how)

        return self._worker.submit(Job(self._loop, work, background=True))

    def read_template(self, path: Path, own: str) -> Job[tuple[str, tuple[str, ...]]]:
        """Return the chat template of a model file, and the variables of `own`, or of the template if it is blank.

        Raises LoadFailed and its kinds, ChatTemplateFailed, Cancelled.
        """

        def work(cancel: CancelToken) -> tuple[str, tuple[str, ...]]:
            text = host.read_template(path)
            used = own if own.strip() else text
            return text, host.template_names(used, cancel=cancel) if used else ()

        return self._counter.submit(Job(self._loop, work))

    def measure_ways(self, request: CompareRequest, note: Callable[[CompareProgress], None]) -> Job[WaysReport]:
        """Answer a prompt in several ways in turns, with the loaded models; a reply waits until it is over.

        `note` is called on the worker thread, between replies, outside of all timings. Cancelled midway it
        returns the figures so far. Raises Cancelled if nothing was measured, ModelsChanged, and what a reply raises.
        """

        def work(cancel: CancelToken) -> WaysReport:
            return self._measure_ways(request, cancel, lambda: job.cancelled, note)

        job = Job(self._loop, work)
        return self._worker.submit(job)

    def race(self, request: CompareRequest, note: Callable[[RaceMark], None]) -> Job[None]:
        """Answer a prompt with plain and speculative decoding, one after the other (see app.bridge.bridge).

        `note` is called on the worker thread, for each token. Raises ModelsChanged, Cancelled, what a reply raises.
        """

        def work(cancel: CancelToken) -> None:
            if self.loaded != request.models:
                raise ModelsChanged
            with self._compare():
                self._measure(cancel)
                race(self._decoder, request, cancel, note)

        return self._worker.submit(Job(self._loop, work))

    def rehearse(self, prompt: str) -> Job[TokenTrace]:
        """Return the record of a reply of the loaded models that stands in no chat. Raises Cancelled."""
        return self._worker.submit(Job(self._loop, lambda cancel: rehearse(self._decoder, prompt, cancel)))

    def measure(self) -> Job[None]:
        """Calibrate the loaded pair, for lookahead auto, in the background. Raises Cancelled.

        A reply that interrupts it, or comes before it, goes without. Costs that are known, also from earlier runs,
        are not measured again.
        """
        return self._worker.submit(Job(self._loop, self._measure, background=True))

    def look(self, folder: Path) -> Job[FolderListing]:
        """List the models in a folder, and the places where new ones could appear, in the background.

        Raises FolderUnreadable, Cancelled.
        """

        def work(cancel: CancelToken) -> FolderListing:
            began = datetime.now(UTC).timestamp()
            models = engine.scan_folder(folder, cancel=cancel)
            places = places_to_watch(folder, began)
            if not places[0]:  # It went since its models were read, and nobody would tell of that.
                models = engine.scan_folder(folder, cancel=cancel)
            return FolderListing(models, *places)

        return self._worker.submit(Job(self._loop, work, background=True))

    def inspect(self, path: Path) -> Job[ModelFile]:
        """Inspect a single model in the background. Raises ModelFileBroken, ModelNotSupported, Cancelled."""
        return self._worker.submit(Job(self._loop, lambda _cancel: engine.inspect_model(path), background=True))

    def expect(self, target: ModelFile, draft: ModelFile) -> Job[host.Forecast | None]:
        """Forecast the speed of a pair in the background, where this machine was measured. Raises LoadFailed."""
        return self._worker.submit(Job(self._loop, lambda _cancel: host.expected_speed(target, draft), background=True))

    def count_tokens(
        self,
        messages: Sequence[Message],
        texts: Sequence[str] = (),
        choice: GenerationChoice | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Job[TokenCount]:
        """Count the tokens that these messages would take of the context, and those of each text.

        Independent of the engine's thread. `choice`: the settings of the reply; its system
        prompt comes first. `tools` as with `reply`.

        Raises ModelNotLoaded, ChatTemplateFailed, TextNotEncodable, Cancelled.
        """
        choice = GenerationChoice() if choice is None else choice

        def work(cancel: CancelToken) -> TokenCount:
            if self._now is None:
                raise ModelNotLoaded("target")
            answering, counts = self._answering, []
            for text in texts:
                counts.append(self._size_of(text))
                cancel.check()
            pictured, most = self.pictured(choice.messages(messages)), choice.max_tokens
            offered = () if choice.schema.strip() else tools
            fit = answering.fit(pictured, max_tokens=most, tools=offered, cancel=cancel, **choice.thinking_options)
            return TokenCount(fit, tuple(counts))

        return self._counter.submit(Job(self._loop, work))

    def hand(self, work: Callable[[], None]) -> None:
        """Run a piece of the local server's work in its turn. From any thread."""
        with contextlib.suppress(RuntimeError):  # The loop may be closed when the program ends.
            self._loop.call_soon_threadsafe(lambda: self._worker.submit(Job(self._loop, lambda _: work())))

    def current_decoder(self) -> SpeculativeDecoder | None:
        """Return the decoder, None before the first job. From any thread; pass work on it to `hand`."""
        return self._now

    def drain(self) -> list[TimedEvent]:
        """Return the events since the last call, each with the time (perf_counter, seconds) at which it came."""
        events: list[TimedEvent] = []
        with contextlib.suppress(IndexError):
            while True:
                events.append(self._events.popleft())
        return events

    def close(self, timeout: float) -> bool:
        """Cancel everything and end the thread. False: it did not end in time (seconds)."""
        for job in list(self._held):
            job.cancel()
        self._counter.close(0.0)  # Freeing the models waits for what is being counted with them.
        return self._worker.close(timeout) and self._counter.close(timeout)

    # On the worker thread ---------------------------------------------------------------------------------------------

    def _begin(self) -> AbstractContextManager[object]:
        self._decoder = self._now = self._make_decoder()
        if self._caches is not None:
            self._use_caches()
        models = contextlib.ExitStack()
        models.callback(self._decoder.close)
        models.callback(self._leave_server)
        models.callback(self.embedding.close)
        return models

    def _use_caches(self) -> None:
        self._decoder.keep_caches(self._caches, each_reply=False)

    def _load_anew(self, wanted: Loaded, how: LoadWay, cancel: CancelToken) -> Loaded:
        self._put_off = False
        return self._load(wanted, how, cancel)

    def _measure(self, cancel: CancelToken) -> None:
        if self.loaded.target is None or self._remote is not None:
            return
        self.measuring = self._put_off = True
        try:
            self._decoder.calibrate(cancel=cancel)
            self._put_off = False
        finally:
            self.measuring = False

    def _measure_ways(
        self,
        request: CompareRequest,
        cancel: CancelToken,
        cancelled: Callable[[], bool],
        note: Callable[[CompareProgress], None],
    ) -> WaysReport:
        if self.loaded != request.models:
            raise ModelsChanged
        reported, settings = 0.0, request.settings

        def tell(now: WaysProgress) -> bool:
            nonlocal reported
            if perf_counter() - reported >= _REPORT_S:
                report = now.report if now.stage != "warming up" else None
                note(CompareProgress(now.stage, now.done, now.total, now.seconds_left, report))
                reported = perf_counter()
            return not cancelled()

        with self._compare():
            note(CompareProgress("calibrating"))
            self._measure(cancel)
            server = None if request.server is None else self._connect(request.server, cancel)
            with contextlib.nullcontext() if server is None else server:
                return engine.measure_ways(
                    self._decoder,
                    [request.prompt],
                    request.ways,
                    sampling=SamplingConfig(temperature=settings.temperature),
                    repeats=settings.repeats,
                    max_tokens=settings.tokens,
                    server=server,
                    cancel=cancel,
                    progress=tell,
                )

    @contextlib.contextmanager
    def _compare(self) -> Iterator[None]:
        """Compare without the user's own texts: they may hold the very reply that is to be written."""
        corpus, self._decoder.corpus, self.comparing = self._decoder.corpus, None, True
        try:
            yield
        finally:
            self._decoder.corpus, self.comparing = corpus, False

    def _reply(
        self, messages: Sequence[Message], options: dict[str, Any], choice: GenerationChoice, cancel: CancelToken
    ) -> GenerationResult:
        note, waited_for = self._events.append, True
        result: GenerationResult | None = None
        pictured, sources = self.pictured(choice.messages(messages)), set[str]()
        self.made = None
        with closing(self._answering.stream(pictured, cancel=cancel, top=TOP, **options)) as events:
            for event in events:
                self._name(event)
                if isinstance(event, RoundEvent) and event.proposed:
                    sources.add(event.source)
                elif isinstance(event, Finished) and self._remote is None:
                    self.made = self._describe(pictured, event.result, sources, options)
                note((perf_counter(), event))
                if waited_for and isinstance(event, TokenEvent | TextEvent):
                    waited_for = False
                    with contextlib.suppress(RuntimeError):  # The loop may be closed when the program ends.
                        self._loop.call_soon_threadsafe(self.began)
                if isinstance(event, Finished):
                    result = event.result
                    if result.finish_reason != "error":
                        break  # Costs are measured when the window is idle, not while this reply is waited for.
        target = None if self._caches is None else self._decoder.target
        self._read = [] if target is None or self._remote is not None else list(target.tokens)
        if result is None:
            raise EngineError("The reply ended without a result. Try again.")
        return result

    def _describe(
        self, messages: Sequence[Message], result: GenerationResult, sources: set[str], options: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Describe the making of a reply, for its proof; None if that is unknown."""
        with contextlib.suppress(EngineError, OSError, AttributeError):
            return host.describe_reply(self._decoder, messages, result, sources, options)
        return None

    def _size_of(self, text: str) -> int:
        """Return the tokens of a file in a question: of its text, or of the picture that it stands for."""
        pictures = [part for message in self.pictured(question_messages(text)) for part in message.pictures]
        if pictures and self._remote is None and self._decoder.sees:
            return sum(self._decoder.count_picture(each.url) for each in pictures)
        return int(self._answering.count(text))

    def _name(self, event: Event) -> None:
        """Store the texts of a token and its alternatives, and of rejected guesses, before the event is passed on."""
        names = self.token_names
        named = event.top if isinstance(event, TokenEvent) else event.rejected if isinstance(event, RoundEvent) else ()
        for token in (*((event.token,) if isinstance(event, TokenEvent) else ()), *(token for token, _ in named)):
            if token not in names:
                names[token] = self._decoder.token_text(token)


_WARM_TOKENS = 8
_SHOWN_TOKENS, _SHOWN_LOOKAHEAD = 120, 4


def race(
    decoder: SpeculativeDecoder, request: CompareRequest, cancel: CancelToken, note: Callable[[RaceMark], None]
) -> None:
    """Answer a prompt with plain decoding, then speculatively, each alone on the machine.

    `note` receives each token as it comes, with the seconds since its way had read the prompt, which the caches hold
    then. Raises Cancelled, and what a reply raises.
    """
    ways: tuple[Lookahead, ...] = (0, request.ways[0])
    settings, prompt = request.settings, [Message("user", request.prompt)]
    for lane, lookahead in enumerate(ways):
        options: dict[str, Any] = {"lookahead": lookahead}
        sampling = SamplingConfig(temperature=settings.temperature, seed=0)
        for event in decoder.stream(prompt, max_tokens=_WARM_TOKENS, sampling=sampling, cancel=cancel, **options):
            if isinstance(event, Finished) and event.result.finish_reason == "cancelled":
                raise Cancelled
        began, tokens = perf_counter(), 0
        for event in decoder.stream(prompt, max_tokens=settings.tokens, sampling=sampling, cancel=cancel, **options):
            now = perf_counter() - began
            if isinstance(event, PromptProgress):
                began = perf_counter()
            elif isinstance(event, TokenEvent):
                tokens += 1
                note(RaceMark(lane, now, event.text, tokens))
            elif isinstance(event, Finished):
                if event.result.finish_reason == "cancelled":
                    raise Cancelled
                note(RaceMark(lane, now, "", tokens, over=True))


def rehearse(decoder: SpeculativeDecoder, prompt: str, cancel: CancelToken) -> TokenTrace:
    """Return the record of a reply that is written now, to be played as a replay. Raises Cancelled."""
    trace, names = TokenTrace(), dict[int, str]()
    question = [Message("user", prompt)]
    for event in decoder.stream(question, lookahead=_SHOWN_LOOKAHEAD, max_tokens=_SHOWN_TOKENS, cancel=cancel):
        if isinstance(event, TokenEvent):
            names[event.token] = decoder.token_text(event.token)
            trace.add(event, names)
        elif isinstance(event, RoundEvent):
            names |= {token: decoder.token_text(token) for token, _ in event.rejected}
            trace.add_round(event, names)
        elif isinstance(event, Finished) and event.result.finish_reason == "cancelled":
            raise Cancelled
    return trace
