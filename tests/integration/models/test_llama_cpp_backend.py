"""The llama.cpp backend keeps the contract of a backend, with attention and with recurrent models."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.backends.base import Backend
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD, LoadConfig
from engine.errors import (
    BackendFailure,
    Cancelled,
    ContextFull,
    LoadFailed,
    RewindNotSupported,
    TextNotEncodable,
    TokenOutOfRange,
)

ATTENTION = ["stories260K-F32", "stories260K-Q8_0", "babyllama361-F32", "microlm-pro-F32"]
RECURRENT = ["stories-mamba131K-F32", "rwkv7-834K-F32"]
TEXT = [1, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50]


@pytest.fixture
def open_model(shared_gguf: Callable[[str], Path]) -> Iterator[Callable[..., LlamaCppBackend]]:
    opened: list[LlamaCppBackend] = []

    def open_one(name: str, context_length: int | None = None) -> LlamaCppBackend:
        opened.append(LlamaCppBackend.open(LoadConfig(shared_gguf(name), context_length, 1)))
        return opened[-1]

    yield open_one
    for backend in opened:
        backend.close()


OpenModel = Callable[..., LlamaCppBackend]


def _one_by_one(backend: Backend, tokens: list[int]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    backend.truncate(0)
    return np.stack([backend.forward([token], 1)[0].copy() for token in tokens])


@pytest.mark.parametrize("name", ATTENTION + RECURRENT)
def test_rows_belong_to_their_positions(open_model: OpenModel, name: str) -> None:
    """Fed together or one by one: the same rows, each that of its own token."""
    backend = open_model(name)
    single = _one_by_one(backend, TEXT)
    backend.truncate(0)
    together = backend.forward(TEXT, len(TEXT)).copy()
    assert together.shape == (len(TEXT), backend.vocab_size)
    assert together.dtype == np.float32
    assert np.abs(together - single).max() < 0.05
    assert (together.argmax(axis=1) == single.argmax(axis=1)).all()
    backend.truncate(0)
    assert np.abs(backend.forward(TEXT, 3) - single[-3:]).max() < 0.05


@pytest.mark.parametrize("name", ATTENTION)
def test_rewind_to_any_place(open_model: OpenModel, name: str) -> None:
    backend = open_model(name)
    assert backend.rewind.kind == "any"
    single = _one_by_one(backend, TEXT)
    for length in (11, 7, 3, 1, 0):
        backend.truncate(length)
        assert list(backend.tokens) == TEXT[:length]
        backend.forward([5, 6], 0)
        backend.truncate(length)
        assert np.abs(backend.forward([TEXT[length]], 1)[0] - single[length]).max() < 0.05
        backend.truncate(length)


@pytest.mark.parametrize("name", ["stories260K-F32", "stories-mamba131K-F32"])
def test_long_forward_is_cut_into_batches(open_model: OpenModel, name: str) -> None:
    backend = open_model(name)
    text = [3 + token % 200 for token in range(400)]
    single = _one_by_one(backend, text)
    backend.truncate(0)
    rows = backend.forward(text, MAX_LOOKAHEAD + 1)
    assert backend.length == 400
    assert np.abs(rows - single[-len(rows) :]).max() < 0.05


def test_refuses_what_cannot_be(open_model: OpenModel) -> None:
    backend = open_model("stories260K-F32", 16)
    assert backend.context_length == 16
    backend.forward(TEXT, 1)
    for token in (-1, backend.vocab_size, 2**40):
        with pytest.raises(TokenOutOfRange):
            backend.forward([1, token], 1)
    with pytest.raises(ContextFull):
        backend.forward([1] * 5, 1)
    for tokens, rows in (([], 0), ([1], 2), ([1], -1)):
        with pytest.raises(BackendFailure):
            backend.forward(tokens, rows)
    for length in (-1, 99):
        with pytest.raises(RewindNotSupported):
            backend.truncate(length)
    # Nothing of that has changed the cache.
    assert list(backend.tokens) == TEXT
    assert backend.forward([1, 2, 3, 4], 4).shape == (4, backend.vocab_size)


def test_rows_are_views_and_not_copies(open_model: OpenModel) -> None:
    backend = open_model("stories260K-F32")
    rows = backend.forward(TEXT, 2)
    assert not rows.flags.owndata
    assert backend.forward([5], 0).shape == (0, backend.vocab_size)


def test_abandoned_forward_leaves_the_cache_as_it_was(open_model: OpenModel) -> None:
    backend, cancel = open_model("stories260K-F32"), CancelToken()
    single = _one_by_one(backend, TEXT)
    backend.truncate(6)
    backend.watch(cancel)
    cancel.cancel()
    with pytest.raises(Cancelled):
        backend.forward(TEXT[6:], 1)
    assert list(backend.tokens) == TEXT[:6]
    cancel.clear()
    assert np.abs(backend.forward(TEXT[6:], 6) - single[6:]).max() < 0.05
    backend.watch(None)
    cancel.cancel()
    backend.forward([1], 1)


def test_closing(open_model: OpenModel) -> None:
    backend = open_model("stories260K-F32")
    backend.forward(TEXT, 1)
    backend.close()
    backend.close()
    with pytest.raises(BackendFailure, match="closed"):
        backend.forward(TEXT, 1)


def test_loading_reports_progress_and_can_be_cancelled(shared_gguf: Callable[[str], Path]) -> None:
    config = LoadConfig(shared_gguf("microlm-pro-F32"), threads=1)
    seen: list[float] = []
    LlamaCppBackend.open(config, progress=seen.append).close()
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)
    cancel = CancelToken()
    with pytest.raises(Cancelled, match="Loading"):
        LlamaCppBackend.open(config, progress=lambda _: cancel.cancel(), cancel=cancel)


def test_what_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "no.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(LoadFailed, match=r"Cannot load no\.gguf"):
        LlamaCppBackend.open(LoadConfig(path))


@pytest.mark.parametrize("name", ATTENTION + RECURRENT)
def test_text_and_tokens(open_model: OpenModel, name: str) -> None:
    tokenizer = open_model(name).tokenizer
    text = "Once upon a time, there was a little girl."
    tokens = tokenizer.encode(text, add_special=False, parse_special=False)
    assert b"".join(map(tokenizer.piece, tokens)).decode().strip() == text
    assert tokenizer.encode("", add_special=False, parse_special=False) == []


def test_every_byte_of_any_text(open_model: OpenModel) -> None:
    tokenizer = open_model("stories260K-F32").tokenizer
    for text in ("🦜 naïve\n\ttext", "\x00", "日本語", "a" * 5000):
        tokens = tokenizer.encode(text, add_special=False, parse_special=False)
        assert b"".join(map(tokenizer.piece, tokens)).decode().removeprefix(" ") == text


def test_vocabulary_without_byte_tokens(shared_models: Path) -> None:
    """llama.cpp ends the process on a character that this vocabulary lacks; we say so instead."""
    path = shared_models / "gguf" / "fragile" / "babyllama105.gguf"
    if not path.is_file():
        found = sorted(path.parent.glob("*.gguf"))
        if not found:
            pytest.skip("no fragile model among the test models")
        path = found[0]
    backend = LlamaCppBackend.open(LoadConfig(path, threads=1))
    try:
        with pytest.raises(TextNotEncodable, match="no token for"):
            backend.tokenizer.encode("a\nb", add_special=True, parse_special=False)
        tokens = backend.tokenizer.encode("Once upon a time", add_special=True, parse_special=False)
        assert np.isfinite(backend.forward(tokens, 1)).all()
    finally:
        backend.close()


def test_interpreter_runs_while_llama_cpp_computes(open_model: OpenModel) -> None:
    """The lock is released: another thread counts on while a forward runs."""
    backend = open_model("microlm-pro-F32")
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            done.wait(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        backend.forward([5] * 900, 1)
    finally:
        done.set()
        thread.join()
    assert counted[0] > 5
