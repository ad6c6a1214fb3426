"""Caches of conversations that others displaced: brought back bit by bit, within their limit."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import pytest

from engine.backends.base import Backend
from engine.backends.caches_in_memory import FEW, WORTH, SavedCaches, keep_caches
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.prefix import keep_prefix
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.errors import BackendFailure
from engine.events import GenerationResult, PromptProgress
from engine.library.names import bundled_pair, resolve_source
from engine.server.guard import Limits
from helpers.decoding.serving import asked, served
from helpers.models.pairs import open_files
from helpers.paths import SHARED_MODELS
from helpers.weights.expert_model import TINY_GPT_OSS, write_expert_model

FIRST, SECOND = [5 + index % 200 for index in range(180)], [7 + 3 * index % 200 for index in range(150)]


@pytest.fixture(scope="session")
def with_window(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of which every other layer sees 128 tokens back: fewer than the texts have."""
    return write_expert_model(tmp_path_factory.mktemp("windows") / "window.gguf", TINY_GPT_OSS, "Q8_0", seed=3)


@pytest.fixture(params=["f16", "q8_0", "window"])
def backend(request: pytest.FixtureRequest, with_window: Path) -> Iterator[Backend]:
    if request.param == "window":
        config = LoadConfig(with_window, threads=1, trusted=True)
    else:
        kind = None if request.param == "f16" else request.param
        config = LoadConfig(bundled_pair()[0], threads=1, trusted=True, cache_type=kind)
    loaded = LlamaCppBackend.open(config)
    yield loaded
    loaded.close()


def test_what_was_displaced_comes_back_bit_by_bit(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    cleared: list[bool] = []
    own = llama_cpp.llama_memory_clear

    def clear(memory: Any, data: bool) -> None:
        cleared.append(data)
        own(memory, data)

    monkeypatch.setattr(llama_cpp, "llama_memory_clear", clear)
    backend.keeper = keeper = SavedCaches()
    backend.forward(FIRST[:-5], 0)
    expected = backend.forward(FIRST[-5:], 5).copy()
    assert keep_prefix(backend, SECOND) == 0
    backend.forward(SECOND, 0)
    assert [saved.tokens for saved in keeper.kept] == [tuple(FIRST)]
    assert keep_prefix(backend, FIRST[:-5]) == len(FIRST) - 5
    assert np.array_equal(backend.forward(FIRST[-5:], 5), expected)
    assert [saved.tokens for saved in keeper.kept] == [tuple(SECOND)]
    assert keep_prefix(backend, [*SECOND, 9]) == len(SECOND)
    assert cleared
    assert not any(cleared), "a long context's cells, nearly a gigabyte, are not written"


def test_a_text_that_was_brought_back_goes_back_as_any_other(backend: Backend) -> None:
    """What lies behind a sliding window is in the copy: without it, rows were of a text without its middle."""
    backend.forward(FIRST[:140], 0)
    expected = backend.forward(FIRST[140:145], 5).copy()
    backend.forward(FIRST[145:], 0)
    copy = backend.copy_cache()
    assert copy is not None
    assert copy.data.nbytes == backend.cache_bytes()
    backend.truncate(0)
    backend.forward(SECOND, 0)
    backend.restore_cache(copy)
    backend.truncate(140)
    assert np.array_equal(backend.forward(FIRST[140:145], 5), expected)


def test_the_oldest_is_let_go(backend: Backend) -> None:
    backend.forward(FIRST, 0)
    size = backend.cache_bytes()
    backend.keeper = keeper = SavedCaches(int(2.5 * size))
    for first in range(1, 6):
        tokens = [first, *FIRST[1:]]
        keep_prefix(backend, tokens)
        backend.forward(tokens[backend.length :], 0)
    assert [saved.tokens[0] for saved in keeper.kept] == [3, 4]
    assert sum(saved.data.nbytes for saved in keeper.kept) <= 2.5 * size
    keep_prefix(backend, FIRST[:20])
    assert backend.length <= len(FIRST)


def test_a_copy_that_does_not_fit_leaves_an_empty_cache(backend: Backend) -> None:
    backend.keeper = keeper = SavedCaches()
    backend.forward(FIRST, 0)
    keep_prefix(backend, SECOND)
    backend.forward(SECOND, 0)
    keeper.kept[0].data[:64] = 255
    assert keep_prefix(backend, FIRST) == 0
    backend.forward(FIRST, 0)
    assert list(backend.tokens) == FIRST


def test_recurrent_models_are_read_again() -> None:
    path = SHARED_MODELS / "gguf" / "stories-mamba131K-F32.gguf"
    if not path.exists():
        pytest.skip("the shared models are not here")
    with open_files(path, None) as decoder:
        keep_caches(decoder.target, decoder.draft)
        first = decoder.generate("Once upon a time " * 20, raw=True, max_tokens=8)
        decoder.generate("There was a girl " * 20, raw=True, max_tokens=8)
        assert decoder.generate("Once upon a time " * 20, raw=True, max_tokens=8).tokens == first.tokens


@pytest.fixture(scope="module")
def pair() -> Iterator[SpeculativeDecoder]:
    target, draft = bundled_pair()
    with open_files(Path(target), Path(draft)) as loaded:
        yield loaded


def test_versions_of_a_reply_begin_at_any_of_its_tokens(pair: SpeculativeDecoder) -> None:
    """None of its tokens is read again, whatever other versions came between; afterwards copies are as rare as ever."""

    def reply(length: int, begun: tuple[int, ...] = ()) -> GenerationResult:
        options: dict[str, Any] = {"temperature": 0.0, "lookahead": 2, "ignore_eos": True}
        return pair.generate("Tell me a story.", max_tokens=length, prefix=begun, **options)

    first = reply(60).tokens
    for place in (3, 40, 12, 55, 30, 8):
        assert reply(9, (*first[:place], first[place] + 1)).prompt_evaluated <= FEW, place
    keeper = pair.target.keeper if pair.target is not None else None
    assert isinstance(keeper, SavedCaches)
    kept = keeper.kept
    reply(1)
    assert keeper.kept == kept


def test_the_server_comes_back_to_a_conversation_without_reading_it_again(pair: SpeculativeDecoder) -> None:
    questions = [f"Tell me a story about {animals}." for animals in ("a fox " * 40, "an owl " * 40)]
    with served(pair, Limits()) as url:

        def reply(question: str) -> tuple[str, int]:
            body = {"messages": [{"role": "user", "content": question}], "max_tokens": 12}
            answer = asked(url, "/v1/chat/completions", json.dumps(body).encode())[1]
            return answer["choices"][0]["message"]["content"], answer["timings"]["prompt_n"]

        first = [reply(question) for question in questions]
        again = [reply(question) for question in questions]
    assert [text for text, _ in again] == [text for text, _ in first]
    assert all(read > 60 for _, read in first)
    assert all(read <= 2 for _, read in again)


def test_a_copy_is_of_the_tokens_that_have_cells(backend: Backend) -> None:
    backend.forward(FIRST, 0)
    backend.forward_tree([1, 2, 3, 4], [-1, 0, -1, 2])
    backend.keep_path([2, 3])
    assert list(backend.tokens) == [*FIRST, 3, 4]
    copy = backend.copy_cache()
    assert copy is not None
    assert copy.tokens == tuple(FIRST)
    expected = backend.forward([5], 1).copy()
    backend.truncate(0)
    backend.restore_cache(copy)
    assert list(backend.tokens) == FIRST
    assert np.array_equal(backend.forward([3, 4, 5], 1), expected)


def test_a_tree_of_which_nothing_was_kept_is_not_in_a_copy(backend: Backend) -> None:
    backend.forward(FIRST, 0)
    size = backend.cache_bytes()
    backend.forward_tree([1, 2], [-1, -1])
    copy = backend.copy_cache()
    assert copy is not None
    assert (copy.tokens, copy.data.nbytes) == (tuple(FIRST), size)


def test_a_refused_forward_empties_the_cache(backend: Backend) -> None:
    backend.forward(FIRST, 0)
    copy = backend.copy_cache()
    assert copy is not None
    backend.restore_cache(replace(copy, tokens=(*copy.tokens, 9)))
    with pytest.raises(BackendFailure):
        backend.forward([5], 1)
    assert backend.length == 0
    assert backend.forward(FIRST, 1).shape[0] == 1


def test_a_refused_forward_empties_a_stream(pair: SpeculativeDecoder) -> None:
    stream = pair.open_streams(2)[0].target
    try:
        assert stream is not None
        stream.forward(FIRST, 0)
        copy = stream.copy_cache()
        assert copy is not None
        assert copy.tokens == tuple(FIRST)
        stream.restore_cache(replace(copy, tokens=(*copy.tokens, 9)))
        with pytest.raises(BackendFailure):
            stream.forward([5], 1)
        assert stream.length == 0
        assert stream.forward(FIRST, 1).shape[0] == 1
    finally:
        pair.close_streams()


def test_streams_and_their_decoder_leave_each_others_copies(pair: SpeculativeDecoder) -> None:
    """llama.cpp refuses a copy of the one in the other; what was kept would be lost."""
    base = pair.target
    assert base is not None
    base.keeper = keeper = SavedCaches()
    base.watch(None)
    for tokens in (FIRST, SECOND):
        keep_prefix(base, tokens)
        base.forward(tokens[base.length :], 0)
    before, streams = keeper.kept, pair.open_streams(2)
    try:
        stream = streams[0].target
        assert stream is not None
        assert keep_prefix(stream, [*FIRST, 1]) == 0
        stream.forward(FIRST, 0)
        other = streams[1].target
        assert other is not None
        assert keep_prefix(other, [*FIRST, 1]) == len(FIRST), "of another stream it is taken"
        assert keeper.kept == before
    finally:
        pair.close_streams()


@pytest.mark.parametrize("before", [0, 3])
def test_a_request_with_heads_leaves_kept_conversations_kept(before: int) -> None:
    """Also if the head still holds the previous request: the target goes back by its own cache."""
    with open_files(Path(bundled_pair()[0]), None) as decoder:
        decoder.attach_heads(resolve_source("demo-head"))
        keep_caches(decoder.target)
        target = decoder.target
        assert target is not None
        assert isinstance(target.keeper, SavedCaches)
        first, second = ("Tell me of a fox. " * 40, "Tell me of an owl. " * 40)
        plain: dict[str, Any] = {"raw": True, "max_tokens": 4, "lookahead": 0}
        decoder.generate(first, **(plain | {"lookahead": before}))
        decoder.generate(second, **plain)
        decoder.generate(second, raw=True, max_tokens=4, lookahead=3)
        kept = [saved.tokens for saved in target.keeper.kept]
        read = [event for event in decoder.stream(first, **plain) if isinstance(event, PromptProgress)]
    assert kept
    assert read[-1].total <= WORTH


def test_a_stream_copies_no_text_that_is_longer_than_its_window(with_window: Path) -> None:
    """llama.cpp would leave its beginning out, and the text could not go back there."""
    with open_files(with_window, None) as decoder:
        first, second = (stream.target for stream in decoder.open_streams(2))
        assert first is not None
        assert second is not None
        first.forward(FIRST[:100], 0)
        assert keep_prefix(second, FIRST[:80]) == 80, "of the other stream it is taken"
        expected = second.forward(FIRST[80:85], 5).copy()
        first.forward(FIRST[100:], 0)
        assert (first.cache_bytes(), first.copy_cache()) == (0, None)
        second.truncate(0)
        assert keep_prefix(second, FIRST[:80]) == 0
        second.forward(FIRST[:80], 0)
        assert np.array_equal(second.forward(FIRST[80:85], 5), expected)
