"""Take an unknown model through the steps of a chat, in the child of a trial."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from engine.backends.base import Backend
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.embedding import LlamaCppEmbedder
from engine.backends.prefix import read_all
from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD, LoadConfig
from engine.errors import TextNotEncodable
from engine.formats.vocabulary import Vocabulary
from engine.messages.picture import Picture, Pixels
from engine.translatable import Translatable

_LONG_BATCH = 65
"""One more than llama.cpp's attention takes at once."""
_SHORT_BATCH = 34
_MOST_TOKENS = 5_000
_SMALL_MODEL = 256 * 2**20
_TEXTS = (
    *("Once upon a time", " Hello, world!\n\n\tHow are you?  ", "\n", "\r\n", "\x00", "\u2581"),
    *("äöüß €", "你好世界", "🙂👩\u200d👩\u200d👧", "e\u0301", "\ufffd", "<s></s><unk>[INST]<|im_start|>"),
)
_MARKS = 32
"""Texts of control tokens that are tried, as chats have them."""
_SIDE = 64
"""Pixels of a picture that is tried."""


class Failed(Exception):
    """Report that the trial showed a broken model; the text is the reason."""


def try_model(config: LoadConfig, vocabulary: list[Any] | None, say: Callable[..., None]) -> None:
    """Take it through the steps. `vocabulary`: its size and special tokens, by the header. `say`: tells the parent."""

    def loading(fraction: float) -> None:
        percent = int(fraction * 100)
        if percent > shown[0]:
            shown[0] = percent
            say(progress=0.7 * fraction)

    def read() -> None:
        say(read=True)

    shown = [-1]
    size, special = vocabulary or (0, ())
    known = Vocabulary("", size, None, None, "", np.zeros(0, np.uint32), special=tuple(special))
    backend = LlamaCppBackend.open(config, progress=loading, packed=False, vocabulary=known, read=read)
    say(loaded=True)
    with contextlib.closing(backend):
        _try_tokenizer(backend)
        say(progress=0.8)
        _try_forward(backend)
        say(computed=True)
        if config.path.stat().st_size < _SMALL_MODEL:
            _try_batch(backend, _LONG_BATCH)
            backend.truncate(0)
        say(progress=0.95)
        _try_reply(backend)
        if backend.sees:
            _try_picture(backend)


def try_embedder(config: LoadConfig) -> None:
    """Try vectors of texts of every kind, and of the longest one."""
    embedder = LlamaCppEmbedder.open(config)
    with contextlib.closing(embedder):
        for text in _texts():
            with contextlib.suppress(TextNotEncodable):
                _check_vector(embedder, embedder.encode(text)[: embedder.context_length])
        _check_vector(embedder, embedder.encode("a b " * embedder.context_length)[: embedder.context_length])


def _check_vector(embedder: LlamaCppEmbedder, tokens: list[int]) -> None:
    if tokens and not np.all(np.isfinite(embedder.embed(tokens))):
        raise Failed(Translatable("it computes no usable numbers: its weights are damaged."))


def _try_tokenizer(backend: Backend) -> None:
    """Try tokens' texts, and texts of every kind. What the vocabulary cannot write is no fault.

    llama.cpp makes the texts of all tokens while it loads; asking for each of 150,000 takes half a second.
    """
    most = backend.vocab_size
    for token in {*range(0, most, 1 + most // _MOST_TOKENS), most - 1}:
        backend.tokenizer.piece(token)
    marks = "".join([*backend.tokenizer.added_tokens][:_MARKS])
    for text in (*_texts(), marks):
        for add_special in (True, False):
            with contextlib.suppress(TextNotEncodable):
                backend.tokenizer.encode(text, add_special=add_special, parse_special=not add_special)


def _texts() -> Iterator[str]:
    yield from _TEXTS
    yield from map(chr, range(256))
    yield "".join(map(chr, range(32, 127)))
    yield ""


def _try_forward(backend: Backend) -> None:
    """Try batches of the sizes that a chat uses, and going back: one token, a verified draft, a prompt."""
    _try_batch(backend, 1)
    backend.mark()
    before = backend.length
    _try_batch(backend, 4)
    if backend.rewind.kind != "none":
        backend.truncate(before)
        _try_batch(backend, 3)
    _try_batch(backend, _SHORT_BATCH)
    backend.truncate(0)


def _try_batch(backend: Backend, count: int) -> None:
    if backend.length + count <= backend.context_length:
        _check(backend.forward(_tokens(backend, count), min(count, MAX_LOOKAHEAD + 1)))


def _tokens(backend: Backend, count: int) -> list[int]:
    """Return tokens from all over the vocabulary."""
    return [int(token) for token in np.linspace(0, backend.vocab_size - 1, count, dtype=np.int64)]


def _try_reply(backend: Backend) -> None:
    """Try a reply of a few tokens."""
    token = max(0, min(1, backend.vocab_size - 1))
    for _ in range(min(2, backend.context_length)):
        rows = backend.forward([token], 1)
        _check(rows)
        token = int(np.argmax(rows[0]))


def _try_picture(backend: Backend) -> None:
    """Try the steps of a chat with a picture."""
    pixels = Pixels(_SIDE, _SIDE, np.arange(3 * _SIDE * _SIDE, dtype=np.uint32).astype(np.uint8).tobytes())
    tokens = backend.see(Picture("", lambda: pixels))
    if len(tokens) < backend.context_length:
        backend.truncate(0)
        read_all(backend, tokens, CancelToken())
        _check(backend.forward([0], 1))


def _check(rows: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> None:
    if not np.all(np.isfinite(rows.max(axis=1))):
        raise Failed(Translatable("it computes no usable numbers: its weights are damaged."))
