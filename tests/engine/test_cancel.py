"""Cancelling: when it is heard, what is kept, and that the next call works."""

import ctypes
import gc
import threading
import time

import pytest

from engine.backends.base import Logits
from engine.backends.prefix import CHUNK
from engine.cancel import CancelToken
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled
from engine.events import Finished, PromptProgress, RoundEvent, TokenEvent
from helpers.decoding.fake_backend import FakeBackend

PROMPT = [1, 2]


class SlowBackend(FakeBackend):
    """Takes a while for each forward."""

    def __init__(self, seed: int, forward_s: float = 0.0) -> None:
        super().__init__(8, seed, sharpness=1.0, context_length=100_000)
        self.forward_s = forward_s

    def forward(self, tokens: list[int], n_outputs: int) -> Logits:  # type: ignore[override]
        time.sleep(self.forward_s)
        return super().forward(tokens, n_outputs)


def _decoder(forward_s: float = 0.0) -> SpeculativeDecoder:
    decoder = SpeculativeDecoder()
    decoder.attach_target(SlowBackend(1, forward_s))
    decoder.attach_draft(SlowBackend(1, forward_s))
    return decoder


def test_token_and_its_flag() -> None:
    token = CancelToken()
    assert not token.cancelled
    assert ctypes.string_at(token.flag) == b""
    token.cancel()
    token.cancel()
    assert token.cancelled
    assert ctypes.string_at(token.flag) == b"\x01"
    with pytest.raises(Cancelled, match=r"^Reading was cancelled\.$"):
        token.check("Reading")
    token.clear()
    token.check()
    assert ctypes.string_at(token.flag) == b""


@pytest.mark.parametrize("own", [True, False])
def test_cancelled_before_the_start(own: bool) -> None:
    decoder = _decoder()
    token = decoder.cancel_token if own else CancelToken()
    token.cancel()
    with pytest.raises(Cancelled):
        decoder.generate(PROMPT, cancel=None if own else token, max_tokens=4)
    assert not token.cancelled
    assert decoder.generate(PROMPT, cancel=None if own else token, max_tokens=4).stats.emitted == 4


def test_cancelled_while_the_prompt_is_read() -> None:
    decoder = _decoder()
    events = decoder.stream([1] * (10 * CHUNK), max_tokens=4)
    while not isinstance(event := next(events), PromptProgress) or event.evaluated < 2 * CHUNK:
        pass
    decoder.cancel_token.cancel()
    with pytest.raises(Cancelled):
        next(events)
    assert decoder.target is not None
    assert decoder.target.length == 2 * CHUNK
    # What was read is not read again.
    assert decoder.generate([1] * (10 * CHUNK), max_tokens=1).prompt_evaluated == 8 * CHUNK


@pytest.mark.parametrize("tokens", [1, 2, 7])
def test_partial_reply_is_kept(tokens: int) -> None:
    decoder = _decoder()
    seen: list[int] = []
    result = None
    for event in decoder.stream(PROMPT, temperature=1.0, seed=1, lookahead=4):
        if isinstance(event, TokenEvent):
            seen.append(event.token)
            if len(seen) == tokens:
                decoder.cancel_token.cancel()
        elif isinstance(event, Finished):
            result = event.result
    assert result is not None
    assert result.finish_reason == "cancelled"
    assert result.tokens == tuple(seen)
    # It is heard before the next round begins.
    assert len(seen) < tokens + 5
    assert decoder.stats.emitted == len(seen)


def test_cancel_from_another_thread_stops_within_a_round() -> None:
    forward_s, lookahead = 0.01, 4
    decoder = _decoder(forward_s)
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.perf_counter())
        decoder.cancel_token.cancel()

    timer = threading.Timer(0.4, press)
    timer.start()
    result = decoder.generate(PROMPT, temperature=1.0, seed=1, lookahead=lookahead)
    stopped = time.perf_counter()
    timer.join()
    assert result.finish_reason == "cancelled"
    assert result.stats.rounds >= 2
    # A round is five forwards; the machine may be busy.
    assert stopped - pressed[0] < (lookahead + 1) * forward_s + 0.15


def test_cancel_after_the_end_is_for_the_next_call() -> None:
    """A request made before the call begins is kept and ends it: it may come while a model loads."""
    decoder = _decoder()
    decoder.generate(PROMPT, max_tokens=4)
    decoder.cancel_token.cancel()
    with pytest.raises(Cancelled):
        decoder.generate(PROMPT, max_tokens=4)


def test_a_reply_that_ends_by_itself_clears_the_token() -> None:
    decoder = _decoder()
    for event in decoder.stream(PROMPT, max_tokens=4, lookahead=4):
        if isinstance(event, RoundEvent):
            decoder.cancel_token.cancel()
    assert not decoder.cancel_token.cancelled
    assert decoder.generate(PROMPT, max_tokens=4).finish_reason == "length"


def test_a_hundred_starts_and_cancels() -> None:
    decoder = _decoder(0.0005)
    threads = threading.active_count()
    ends: list[str] = []
    for number in range(100):
        timer = threading.Timer(0.0002 * (number % 30), decoder.cancel_token.cancel)
        timer.start()
        try:
            ends.append(decoder.generate(PROMPT, temperature=1.0, max_tokens=10_000).finish_reason)
        except Cancelled:
            ends.append("before the first token")
        timer.join()
        decoder.cancel_token.clear()
    gc.collect()
    assert set(ends) <= {"cancelled", "before the first token"}
    assert "cancelled" in ends
    assert threading.active_count() == threads
    assert decoder.generate(PROMPT, max_tokens=4).stats.emitted == 4
