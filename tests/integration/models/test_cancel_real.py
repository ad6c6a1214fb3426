"""Cancelling real work: a long prompt, a reply, a load."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import Cancelled
from engine.events import Event, Finished, GenerationResult, LoadProgress, PromptProgress, TokenEvent
from helpers.decoding.invariants import check_caches
from helpers.models.pairs import open_files, open_shared
from helpers.models.random_model import HALF_BILLION, Shape, write_random_model

pytestmark = pytest.mark.alone

HEARD_S = 0.5
SLOW = Shape(layers=12, width=512, inner=2048, heads=8, key_heads=8, vocabulary=1024)
"""Some seconds for a prompt of thousands of tokens."""


@pytest.fixture(scope="module")
def slow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that takes its time."""
    return write_random_model(tmp_path_factory.mktemp("models") / "slow.gguf", SLOW)


def _long_prompt(tokens: int) -> list[int]:
    return [300 + (7 * index) % 500 for index in range(tokens)]


def _cancel_after(
    decoder: SpeculativeDecoder, prompt: list[int], is_time: Callable[[Event], bool]
) -> tuple[float, GenerationResult | None]:
    """Cancel from another thread shortly after an event, in the middle of the forward that comes next.

    Gives the seconds from there to the end of the call, and the result if there was one.
    """
    came = threading.Event()
    pressed: list[float] = []
    result: GenerationResult | None = None

    def press() -> None:
        came.wait(60)
        time.sleep(0.02)
        pressed.append(time.perf_counter())
        decoder.cancel_token.cancel()

    thread = threading.Thread(target=press)
    thread.start()
    try:
        for event in decoder.stream(prompt, temperature=1.0, seed=1):
            if is_time(event):
                came.set()
            if isinstance(event, Finished):
                result = event.result
    except Cancelled:
        pass
    finally:
        ended = time.perf_counter()
        came.set()
        thread.join()
    return ended - pressed[0], result


def _is_being_read(event: Event) -> bool:
    return isinstance(event, PromptProgress) and event.evaluated > 0


def _is_token(position: int, event: Event) -> bool:
    return isinstance(event, TokenEvent) and event.position >= position


def _cancel_a_long_prompt(path: Path, tokens: int) -> float:
    prompt = _long_prompt(tokens)
    with open_files(path, None, threads=1, context_length=tokens + 64) as decoder:
        assert decoder.target is not None
        heard, result = _cancel_after(decoder, prompt, _is_being_read)
        assert result is None
        read = decoder.target.length
        assert 0 < read < len(prompt) - 1
        assert list(decoder.target.tokens) == prompt[:read]
        # The next call works, and what was read is not read again.
        assert decoder.generate(prompt[: read + 1], max_tokens=2).prompt_evaluated == 1
    print(f"\nprompt of {tokens} tokens, {read} read: cancel heard after {1000 * heard:.0f} ms")
    return heard


def test_while_a_long_prompt_is_read(slow_model: Path) -> None:
    assert _cancel_a_long_prompt(slow_model, 4000) < HEARD_S


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_while_a_long_prompt_is_read_by_a_large_model(tmp_path: Path) -> None:
    path = write_random_model(tmp_path / "large.gguf", HALF_BILLION)
    assert _cancel_a_long_prompt(path, 3000) < HEARD_S


def test_while_the_draft_reads_a_long_prompt(slow_model: Path) -> None:
    """The target has the prompt in its cache; the draft has just been loaded, and reads behind a first token."""
    prompt = _long_prompt(700)
    with open_files(slow_model, None, threads=1) as decoder:
        decoder.generate(prompt, max_tokens=1)
        decoder.attach_draft(LoadConfig(slow_model, threads=1, trusted=True))
        assert decoder.draft is not None
        heard, result = _cancel_after(decoder, prompt, partial(_is_token, 0))
        assert result is not None
        assert (result.finish_reason, len(result.tokens)) == ("cancelled", 1)
        assert heard < HEARD_S
        assert decoder.draft.length < 699
        assert list(decoder.draft.tokens) == prompt[: decoder.draft.length]


@pytest.mark.parametrize("names", [("stories260K-F32", "stories-draft43K-F32"), ("stories-mamba131K-F32", None)])
def test_in_the_middle_of_a_reply(shared_gguf: Callable[[str], Path], names: tuple[str, str | None]) -> None:
    shared_gguf(names[0])
    with open_shared(*names) as decoder:
        prompt = [1, 403, 407]
        for after in (0, 1, 5, 20):
            heard, result = _cancel_after(decoder, prompt, partial(_is_token, after))
            assert result is not None
            assert heard < 0.25
            if result.finish_reason != "cancelled":
                assert result.finish_reason in ("stop", "context")
                decoder.cancel_token.clear()
                continue
            assert decoder.target is not None
            if names[1] is not None:
                check_caches(decoder, [*prompt, *result.tokens])
            held = decoder.target.length
            assert list(decoder.target.tokens) == [*prompt, *result.tokens][:held]
            again = decoder.generate([*prompt, *result.tokens], max_tokens=4)
            assert again.prompt_evaluated == again.prompt_tokens - held


def test_a_slow_reply_stops_within_a_round(slow_model: Path) -> None:
    with open_files(slow_model, slow_model, threads=1, context_length=512) as decoder:
        heard, result = _cancel_after(decoder, [1, 300], partial(_is_token, 3))
        assert result is not None
        assert result.finish_reason == "cancelled"
        check_caches(decoder, [1, 300, *result.tokens])
        assert heard < HEARD_S


def test_while_a_model_loads(slow_model: Path) -> None:
    """A cancel that is pressed while a model loads is not lost, and the next load works."""
    decoder = SpeculativeDecoder()
    seen: list[LoadProgress] = []

    def press(progress: LoadProgress) -> None:
        seen.append(progress)
        if progress.stage == "loading":
            decoder.cancel_token.cancel()

    with pytest.raises(Cancelled):
        decoder.attach_target(LoadConfig(slow_model, trusted=True), progress=press)
    assert seen
    assert not decoder.is_loaded
    assert not decoder.cancel_token.cancelled
    decoder.attach_target(LoadConfig(slow_model, threads=1, context_length=64, trusted=True))
    assert decoder.generate([1], max_tokens=1).stats.emitted == 1
    decoder.close()
