"""Caches of conversations that others displaced: brought back bit by bit, within their limit."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import Backend
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.prefix import keep_prefix
from engine.backends.saved import SavedCaches, keep_caches
from engine.config import LoadConfig
from engine.decoder import SpeculativeDecoder
from engine.library.names import bundled_pair
from engine.server.guard import Limits
from helpers.decoding.serving import asked, served
from helpers.models.pairs import open_files
from helpers.paths import SHARED_MODELS

FIRST, SECOND = [5 + index % 200 for index in range(180)], [7 + 3 * index % 200 for index in range(150)]


@pytest.fixture(params=[None, "q8_0"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    loaded = LlamaCppBackend.open(LoadConfig(bundled_pair()[0], threads=1, trusted=True, cache_type=request.param))
    yield loaded
    loaded.close()


def test_what_was_displaced_comes_back_bit_by_bit(backend: Backend) -> None:
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
