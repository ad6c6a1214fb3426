"""Run replies on the thread that has the models, or on those of streams, and give their events to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AsyncExitStack, closing, contextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

from engine.backends.base import Tokenizer
from engine.backends.caches_in_memory import MOST_BYTES, keep_caches
from engine.cancel import CancelToken
from engine.chat.thinking import EFFORTS
from engine.config import GenerationRequest, ThinkingMode
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled, InvalidRequest
from engine.events import Event, Finished, GenerationResult, PromptProgress, RoundEvent, TokenEvent
from engine.messages.message import Message
from engine.server.event_relay import GatheredEvents
from engine.server.interfaces.form import ReplyContext
from engine.server.interfaces.requests import InTokens
from engine.server.metrics import ServerMetrics
from engine.server.registry import ModelRegistry
from engine.server.request_queue import RequestQueue
from engine.server.streams import STREAMS, ReplyStreams

T = TypeVar("T")
Between = Callable[[SpeculativeDecoder], None]
_QUESTIONS = 4
"""Questions that are answered at once: one about a long text keeps nobody waiting."""
_TIDY_S = 1.0
"""The interval of checks for models to unload."""


class Runner(Protocol):
    """Define a runner of work on the thread that has the models, one piece after the other."""

    def submit(self, work: Callable[[], T], /) -> Future[T]:
        """Run work, and give its result or error."""


class EngineThread:
    """Run replies one at a time, or some together if that is quicker. Attributes: registry, queue, metrics.

    `logged_parts`: ignored parts of requests that are in the log, by path. A reply is computed as fast as the engine
    can, however slowly its client reads. `runner`: where the models are used; None: a thread of its own.
    `cache_bytes`: for the caches of conversations that others displaced, of each model.
    `streams`: how replies are written together; None: as usual with a thread of its own, with a `runner` not at all.
    """

    def __init__(
        self,
        registry: ModelRegistry,
        most_waiting: int = 256,
        runner: Runner | None = None,
        cache_bytes: int = MOST_BYTES,
        streams: ReplyStreams | None = None,
    ) -> None:
        self.registry = registry
        self._cache_bytes = cache_bytes
        self._streams = streams or ReplyStreams(STREAMS if runner is None else 1)
        self.logged_parts: set[tuple[str, str]] = set()
        self.queue, self.metrics = RequestQueue(most_waiting, self._streams.count), ServerMetrics()
        self._lanes = ThreadPoolExecutor(self._streams.count, "outrider-stream")
        self._own = ThreadPoolExecutor(1, "outrider-serve") if runner is None else None
        self._thread: Runner = runner or self._own  # type: ignore[assignment]
        self._questions = ThreadPoolExecutor(_QUESTIONS, "outrider-questions")
        self._cancels: set[CancelToken] = set()
        self._waiting: dict[CancelToken, tuple[str, GenerationRequest]] = {}
        """Model and request of each reply that has no turn yet."""

    async def reply(
        self, request: GenerationRequest, client: str, model: str, context: ReplyContext, in_tokens: InTokens
    ) -> AsyncGenerator[list[Event], None]:
        """Yield the events of a reply, grouped as they came, once it is this client's turn.

        Closing it early ends the reply.

        `in_tokens`: says the request in the model's tokens. Raises TooMany, and what loading the model and the decoder
        raise.
        """
        events, cancel = GatheredEvents(), CancelToken()

        def write(decoder: SpeculativeDecoder, between: Between) -> None:
            self._write(decoder, (request, in_tokens), context, cancel, events.put, between)

        async def run() -> None:
            try:
                await self._reply_in_turn(write, request, model, client, cancel)
                events.end()
            except Cancelled:
                self.metrics.cancelled += 1
                events.end()
            except Exception as error:  # noqa: BLE001 - it is the reader's
                events.end(error)

        task = asyncio.create_task(run())
        try:
            async for together in events:
                yield together
        finally:
            cancel.cancel()
            if not task.done():
                task.cancel()

    async def _reply_in_turn(
        self,
        write: Callable[[SpeculativeDecoder, Between], None],
        request: GenerationRequest,
        model: str,
        client: str,
        cancel: CancelToken,
    ) -> None:
        """Write a reply when it is this client's turn: in a stream if there are some. Raises TooMany."""
        streams, registry = self._streams, self.registry

        def streamed() -> bool:
            return streams.there(registry.if_loaded(model), request)

        async with AsyncExitStack() as having:
            self._waiting[cancel] = model, request
            try:
                streaming = shared = await having.enter_async_context(self.queue.take(client, streamed))
            finally:
                del self._waiting[cancel]
            if not shared and self.queue.waiting and streams.wanted(registry.if_loaded(model), request):
                # Others wait: this is the moment to open streams, which this reply is the first to use.
                await self._run(
                    self._thread,
                    lambda: streams.open(registry.ready(model, cancel), request, self._cache_bytes),
                    cancel,
                )
                if streamed():
                    streaming = True
                    self.queue.share()
            if streaming:
                with streams.lease(client) as stream:
                    await self._run(self._lanes, lambda: write(stream, _nothing), cancel)
            else:
                with self._let_others_in(model) as between:
                    await self._run(self._thread, lambda: write(registry.ready(model, cancel), between), cancel)

    @contextmanager
    def _let_others_in(self, model: str) -> Iterator[Between]:
        """Yield the function that opens streams between two rounds of a reply begun alone, as soon as others wait."""
        loop, over = asyncio.get_running_loop(), False

        def share() -> None:
            if not over:  # The turn may be somebody else's by now.
                self.queue.share()

        def between(decoder: SpeculativeDecoder) -> None:
            waiting = [request for name, request in list(self._waiting.values()) if name == model]
            if self._streams.open_midway(decoder, waiting):
                loop.call_soon_threadsafe(share)

        try:
            yield between
        finally:
            over = True

    def _write(
        self,
        decoder: SpeculativeDecoder,
        wanted: tuple[GenerationRequest, InTokens],
        context: ReplyContext,
        cancel: CancelToken,
        tell: Callable[[Event], None],
        between: Between,
    ) -> None:
        """Write a reply, on the thread that has the models or of a stream; `between` is called between its rounds."""
        request, in_tokens = wanted
        if request.has_pictures and decoder.target is not None and not decoder.target.sees:
            raise InvalidRequest("This model cannot see pictures. Leave them out.")
        context.begun.append(_begun(request, decoder))
        request = within_reach(request, decoder, context)
        request = in_tokens(request, decoder)
        keep_caches(decoder.target, decoder.draft, most_bytes=self._cache_bytes)
        tokenizer = decoder.target.tokenizer if decoder.target is not None else None

        def step(running: Iterator[Event]) -> bool:
            """Run on to the end of the round; False: the reply is over."""
            for event in running:
                if tokenizer is not None:
                    _note(event, context, tokenizer)
                if isinstance(event, Finished):
                    self.metrics.count(event.result)
                if not isinstance(event, RoundEvent):
                    tell(event)
                if isinstance(event, RoundEvent | PromptProgress):
                    return True
            return False

        with closing(decoder.stream(request, cancel=cancel)) as running:
            more = True
            while more:
                with decoder.apart():
                    more = step(running)
                between(decoder)

    async def ask(self, model: str, client: str, question: Callable[[SpeculativeDecoder], T]) -> T:
        """Answer a question that needs no forward: at once where the model is loaded, or else in turn.

        Raises TooMany, and what loading the model and the question raise.
        """
        decoder = self.registry.if_loaded(model)
        if decoder is not None:
            return await asyncio.get_running_loop().run_in_executor(self._questions, question, decoder)
        cancel = CancelToken()
        return await self._in_turn(lambda: question(self.registry.ready(model, cancel)), client, cancel)

    async def embed(self, model: str, client: str, texts: Iterable[str | list[int]]) -> tuple[list[list[float]], int]:
        """Return a vector of each text, and their number of tokens. Raises TooMany, errors of loading and texts."""
        cancel = CancelToken()

        def work() -> tuple[list[list[float]], int]:
            embedder = self.registry.embedder(model, cancel)
            vectors, count = [], 0
            for text in texts:
                cancel.check()
                tokens = embedder.encode(text) if isinstance(text, str) else text
                vectors.append(embedder.embed(tokens).tolist())
                count += len(tokens)
            return vectors, count

        return await self._in_turn(work, client, cancel)

    async def _in_turn(self, work: Callable[[], T], client: str, cancel: CancelToken) -> T:
        """Run a piece of work when it is this client's turn; it is cancelled with the task. Raises TooMany."""
        async with self.queue.take(client):
            return await self._run(self._thread, work, cancel)

    async def _run(self, runner: Runner, work: Callable[[], T], cancel: CancelToken) -> T:
        """Do a piece of work within a turn, which is over when the thread is free: not when the task is to end."""
        self._cancels.add(cancel)
        working = asyncio.wrap_future(runner.submit(work))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            cancel.cancel()
            await asyncio.wait([working])
            if not working.cancelled():
                working.exception()
            raise
        finally:
            self._cancels.discard(cancel)
            self.registry.touch()

    @property
    def slots(self) -> int:
        """Return the number of replies that may be written at once."""
        return self._streams.count

    async def tidy(self) -> None:
        """Unload models that nobody uses, for ever."""
        while self.registry.unloads:
            await asyncio.sleep(_TIDY_S)
            if not self.queue.running:
                async with self.queue.take(""):
                    await asyncio.wrap_future(self._thread.submit(self.registry.tidy))

    def cancel(self) -> None:
        """Cancel the running work. From any thread."""
        for cancel in list(self._cancels):
            cancel.cancel()

    def close(self) -> None:
        """Cancel the running work, and end the threads that are ours."""
        self.cancel()
        self._questions.shutdown()
        self._lanes.shutdown()
        self._streams.close()
        if self._own is not None:
            self._own.submit(self.registry.close).result()
            self._own.shutdown()


def _begun(request: GenerationRequest, decoder: SpeculativeDecoder) -> str:
    """Return the text that a reply continues: a prompt without a template, or the assistant's begun message."""
    prompt = request.prompt
    if isinstance(prompt, str):
        return prompt if request.raw else ""
    last = prompt[-1]
    if isinstance(last, Message):
        return last.content if last.role == "assistant" and len(prompt) > 1 else ""
    return decoder.decode([token for token in prompt if isinstance(token, int)])


def within_reach(request: GenerationRequest, decoder: SpeculativeDecoder, context: ReplyContext) -> GenerationRequest:
    """Return a request without a thinking effort that the model's chat template lacks, and note the requested one."""
    wanted = request.thinking
    if wanted not in EFFORTS or wanted in decoder.thinking_modes:
        return request
    there: ThinkingMode = "on" if "on" in decoder.thinking_modes else "default"
    context.left_out.append(f"thinking effort {wanted}: this model has no such switch")
    return replace(request, thinking=there)


def _nothing(_: SpeculativeDecoder) -> None:
    """Stand in for work between rounds if there is none."""


def _note(event: Event, context: ReplyContext, tokenizer: Tokenizer) -> None:
    """Record an event's facts that need the model: pieces of tokens, and the stop text."""
    if isinstance(event, TokenEvent) and context.wanted:
        for token in (event.token, *(token for token, _ in event.top)):
            if token not in context.pieces:
                context.pieces[token] = tokenizer.piece(token)
    elif isinstance(event, Finished) and context.stops and event.result.finish_reason == "stop":
        context.stopped_by = _stopped_by(event.result, context.stops, tokenizer)


def _stopped_by(result: GenerationResult, stops: Iterable[str], tokenizer: Tokenizer) -> str | None:
    """Return the stop text that ended a reply, None if it ended by itself."""
    whole = b"".join(map(tokenizer.piece, result.tokens)).decode("utf-8", "replace")
    found = [(whole.find(stop), stop) for stop in stops if stop in whole]
    return min(found)[1] if found else None
