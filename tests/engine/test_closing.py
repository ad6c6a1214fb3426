"""Closing and attaching while a reply is written, closed models, shared models: an orderly end, and no signal."""

import asyncio
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from engine import (
    BackendClosed,
    Cancelled,
    CancelToken,
    DecoderBusy,
    Event,
    Finished,
    GenerationResult,
    InvalidRequest,
    LoadConfig,
    ModelNotLoaded,
    SpeculativeDecoder,
    TokenEvent,
    load,
)
from engine.backends.base import Logits
from engine.loading.open import open_backend
from helpers.decoding.fake_backend import FakeBackend

PROMPT = [1, 2]
ENDS = ("close", "attach_target", "attach_draft")


class StrictBackend(FakeBackend):
    """Takes a moment for each forward, and notes when it is freed in the middle of one, or used afterwards."""

    def __init__(self, forward_s: float = 0.002) -> None:
        super().__init__(8, 1, sharpness=1.0, context_length=100_000)
        self.forward_s = forward_s
        self.begun = threading.Event()
        self.broken: list[str] = []
        self._inside = False

    def forward(self, tokens: Any, n_outputs: int) -> Logits:
        if self.closed:
            self.broken.append("used after it was freed")
        self._inside = True
        self.begun.set()
        time.sleep(self.forward_s)
        rows = super().forward(tokens, n_outputs)
        self._inside = False
        return rows

    def close(self) -> None:
        if self._inside:
            self.broken.append("freed in the middle of a forward")
        self.closed = True


class Replying:
    """A thread that writes a reply without an end."""

    def __init__(self, decoder: SpeculativeDecoder, **options: Any) -> None:
        self.decoder, self.options = decoder, options
        self.result: GenerationResult | None = None
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.result = self.decoder.generate(PROMPT, temperature=1.0, **self.options)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def end(self) -> None:
        """Wait for it, and see that it ended as it should."""
        self.thread.join(20)
        assert not self.thread.is_alive()
        if self.result is not None:
            assert self.result.finish_reason == "cancelled"
        else:
            assert isinstance(self.error, Cancelled | ModelNotLoaded | DecoderBusy), repr(self.error)


def _end(decoder: SpeculativeDecoder, how: str, model: Callable[[], Any]) -> None:
    if how == "close":
        decoder.close()
    elif how == "attach_target":
        decoder.attach_target(model())
    else:
        decoder.attach_draft(model())


@pytest.mark.parametrize("how", ENDS)
def test_a_reply_on_another_thread_is_ended_first(how: str) -> None:
    target, draft = StrictBackend(), StrictBackend()
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(target)
        decoder.attach_draft(draft)
        reply = Replying(decoder)
        assert target.begun.wait(20)
        time.sleep(0.01)
        _end(decoder, how, StrictBackend)
        reply.end()
        assert not target.broken + draft.broken
        assert not decoder.cancel_token.cancelled
        if how == "close":
            with pytest.raises(ModelNotLoaded):
                decoder.generate(PROMPT)
        else:
            assert decoder.generate(PROMPT, max_tokens=3).stats.emitted == 3


def test_calibration_on_another_thread_is_ended_first(bundled_target: Path) -> None:
    decoder = load(bundled_target, threads=1)
    errors: list[BaseException] = []

    def calibrate() -> None:
        try:
            decoder.calibrate()
        except Cancelled as error:
            errors.append(error)

    thread = threading.Thread(target=calibrate)
    thread.start()
    time.sleep(0.1)
    began = time.perf_counter()
    decoder.close()
    assert time.perf_counter() - began < 1.0
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.parametrize("how", ENDS)
def test_an_iterator_that_waits_is_given_its_end(how: str) -> None:
    """Nobody moves it on: whoever frees the models must not wait for that."""
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(StrictBackend(0))
        events = decoder.stream(PROMPT, temperature=1.0)
        seen = [next(events) for _ in range(4)]
        _end(decoder, how, lambda: StrictBackend(0))
        seen += events
        assert isinstance(seen[-1], Finished)
        assert seen[-1].result.finish_reason == "cancelled"
        assert seen[-1].result.tokens == tuple(event.token for event in seen if isinstance(event, TokenEvent))
        assert list(events) == []


def test_closed_while_the_prompt_is_read() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(StrictBackend(0))
    events = decoder.stream([1] * 1000)
    next(events)
    decoder.close()
    with pytest.raises(Cancelled):
        next(events)


def test_closed_by_who_sees_the_tokens() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(StrictBackend(0))
    result = decoder.generate(PROMPT, temperature=1.0, on_token=lambda _: decoder.close())
    assert (result.finish_reason, len(result.tokens)) == ("cancelled", 1)


def test_closed_from_inside_a_forward() -> None:
    """It would have to wait for itself."""
    decoder = SpeculativeDecoder()

    class Closing(FakeBackend):
        def forward(self, tokens: Any, n_outputs: int) -> Logits:
            decoder.close()
            return super().forward(tokens, n_outputs)

    decoder.attach_target(Closing(8, 1))
    with pytest.raises(DecoderBusy):
        decoder.generate(PROMPT)
    decoder.close()


def test_a_load_on_another_thread_is_cancelled_by_close(bundled_target: Path) -> None:
    decoder = SpeculativeDecoder()
    at_work, errors = threading.Event(), []

    def slow(_: object) -> None:
        at_work.set()
        time.sleep(0.01)

    def attach() -> None:
        try:
            decoder.attach_target(bundled_target, progress=slow)
        except Cancelled as error:
            errors.append(error)

    thread = threading.Thread(target=attach)
    thread.start()
    assert at_work.wait(20)
    decoder.close()
    thread.join(20)
    assert len(errors) == 1
    assert decoder.target is None
    assert not decoder.cancel_token.cancelled


@pytest.mark.asyncio
async def test_time_out_inside_the_block(bundled_target: Path, bundled_draft: Path) -> None:
    """The everyday idiom that once freed the models under the reply."""
    replies = []
    with load(bundled_target, bundled_draft, threads=1) as decoder:
        replies.append(asyncio.create_task(asyncio.to_thread(decoder.generate, "Tell me a story.", temperature=1.0)))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(replies[0]), 0.05)
    with suppress(Cancelled, ModelNotLoaded):
        assert (await replies[0]).finish_reason in ("cancelled", "stop")


@pytest.mark.asyncio
async def test_break_frees_the_decoder_at_once() -> None:
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(StrictBackend(0))
        async for event in decoder.astream(PROMPT, temperature=1.0):
            if isinstance(event, TokenEvent):
                break
        assert decoder.generate(PROMPT, max_tokens=2).stats.emitted == 2


@pytest.mark.asyncio
async def test_aclosing_frees_the_decoder() -> None:
    with SpeculativeDecoder() as decoder:
        decoder.attach_target(StrictBackend(0))
        async with aclosing(decoder.astream(PROMPT, temperature=1.0)) as events:
            first = await anext(events)
            kept = events
        assert first is not None
        with pytest.raises(StopAsyncIteration):
            await anext(kept)
        with closing(decoder.stream(PROMPT, temperature=1.0)) as again:
            next(again)
        assert decoder.generate(PROMPT, max_tokens=2).stats.emitted == 2


@pytest.mark.asyncio
async def test_closed_under_astream() -> None:
    decoder = SpeculativeDecoder()
    decoder.attach_target(StrictBackend(0))
    seen: list[Event] = []
    async for event in decoder.astream(PROMPT, temperature=1.0):
        seen.append(event)
        if len(seen) == 5:
            decoder.close()
    assert isinstance(seen[-1], Finished)
    assert seen[-1].result.finish_reason == "cancelled"


def test_a_closed_model_says_so(bundled_target: Path) -> None:
    backend = open_backend(LoadConfig(bundled_target, threads=1))
    tokenizer, decoder = backend.tokenizer, SpeculativeDecoder()
    decoder.attach_target(backend)
    backend.close()
    for ask in (
        lambda: tokenizer.encode("Hello", add_special=True, parse_special=True),
        lambda: tokenizer.chat_template,
        lambda: tokenizer.piece(300),
        lambda: backend.forward([1], 1),
        lambda: backend.truncate(0),
        lambda: backend.watch(CancelToken()),
        lambda: decoder.generate("Hello", max_tokens=2),
        lambda: decoder.count("Hello"),
        decoder.calibrate,
        lambda: SpeculativeDecoder().attach_target(backend),
    ):
        with pytest.raises(BackendClosed, match=r"^The model could not be run: it was closed\.$"):
            ask()
    decoder.close()


def test_a_tokenizer_whose_model_is_gone(bundled_target: Path) -> None:
    backend = open_backend(LoadConfig(bundled_target, threads=1))
    tokenizer = backend.tokenizer
    del backend
    gc.collect()
    with pytest.raises(BackendClosed):
        tokenizer.encode("Hello", add_special=True, parse_special=True)


def test_a_model_that_is_closed_under_a_reply(bundled_target: Path) -> None:
    """By its own `close`, past the decoder: what was computed stays readable until the reply has ended."""
    backend = open_backend(LoadConfig(bundled_target, threads=1))
    with load(backend) as decoder:
        events = decoder.stream("Hello", temperature=1.0, lookahead=0)
        while not isinstance(next(events), TokenEvent):
            pass
        backend.close()
        with pytest.raises(BackendClosed):
            list(events)


def test_two_decoders_share_a_model(bundled_target: Path) -> None:
    backend = open_backend(LoadConfig(bundled_target, threads=1))
    first, second = load(backend), load(backend)
    events = first.stream("Hello", temperature=1.0)
    next(events)
    with pytest.raises(DecoderBusy, match="Another decoder is using the model demo-target"):
        second.generate("Hello", max_tokens=1)
    first.close()
    assert second.generate("Hello", max_tokens=1).stats.emitted == 1
    second.close()
    assert backend.closed


def test_one_model_as_target_and_draft() -> None:
    backend = StrictBackend(0)
    with load(backend, backend) as decoder:
        decoder.attach_draft(None)
        assert not backend.closed
        assert decoder.generate(PROMPT, max_tokens=1).stats.emitted == 1
    assert backend.closed


def test_busy_is_an_error_of_its_own() -> None:
    with load(StrictBackend(0)) as decoder:
        events = decoder.stream(PROMPT)
        next(events)
        for ask in (lambda: decoder.generate(PROMPT), decoder.calibrate):
            with pytest.raises(DecoderBusy):
                ask()
        assert issubclass(DecoderBusy, InvalidRequest)
        events.close()


@contextmanager
def _between_lines(function: Callable[..., Any], work: Callable[[], Any]) -> Iterator[None]:
    """Do `work` before each line of a function, as a thread or a signal could."""

    def trace(frame: Any, event: str, argument: Any) -> Any:
        if frame.f_code is function.__code__ and event == "line":
            work()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("one", ["cancel", "clear"])
def test_a_token_is_never_half_set(one: str) -> None:
    token = CancelToken()
    other = {"cancel": token.clear, "clear": token.cancel}[one]
    with _between_lines(getattr(CancelToken, one), other):
        getattr(token, one)()
    assert token.cancelled == (token.flag[0] == b"\x01") == (one == "cancel")


def test_counting_on_another_thread_while_targets_come_and_go(bundled_target: Path) -> None:
    """The window counts what a chat takes while the engine's thread loads, writes and frees."""
    stop, found, errors = threading.Event(), set[int](), list[Exception]()
    with load(bundled_target, threads=1) as decoder:
        messages = [{"role": "user", "content": "One, two, three."}]
        right = decoder.fit(messages).tokens

        def count() -> None:
            while not stop.is_set():
                try:
                    found.add(decoder.fit(messages).tokens)
                except (BackendClosed, ModelNotLoaded):
                    pass
                except Exception as error:  # noqa: BLE001 - the test looks at it
                    errors.append(error)

        thread = threading.Thread(target=count)
        thread.start()
        for _turn in range(3):
            assert decoder.generate(messages, max_tokens=8).stats.emitted == 8
            decoder.attach_target(LoadConfig(bundled_target, threads=1))
        decoder.close()
        stop.set()
        thread.join(20)
    assert (found, errors) == ({right}, [])
