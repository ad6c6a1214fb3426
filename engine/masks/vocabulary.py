"""Show a target's vocabulary to llguidance as bytes: once for each loaded target."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from engine.backends.base import Tokenizer
from engine.chat.plain_text import encode_behind, join_pieces
from engine.errors import TextNotEncodable

_known: WeakKeyDictionary[Tokenizer, dict[tuple[int, tuple[int, ...]], Any]] = WeakKeyDictionary()
_lock = Lock()


class _Bytes:
    """Describe a vocabulary in the way that llguidance asks for."""

    is_tokenizer_wrapper = True
    bos_token_id = None
    special_token_ids: Sequence[int] = ()

    def __init__(self, tokenizer: Tokenizer, vocab_size: int, end: int) -> None:
        self._tokenizer = tokenizer
        self.eos_token_id = end
        # A control token has no bytes, and so is never part of a text.
        self.tokens = [tokenizer.piece(token) for token in range(vocab_size)]
        self.tokens += [b""] * (end + 1 - vocab_size)
        self._ids = {piece: token for token, piece in reversed(list(enumerate(self.tokens))) if piece}
        self._most = max(map(len, self._ids), default=0)

    def __call__(self, text: str | bytes) -> list[int]:
        """Return the tokens of a text that stands behind others."""
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        with suppress(TextNotEncodable):
            tokens = encode_behind(data.decode("utf-8", "replace"), self._tokenizer)
            if join_pieces(tokens, self._tokenizer) == data:
                return tokens
        return self._longest(data)

    def _longest(self, data: bytes) -> list[int]:
        """Return tokens for bytes that the tokenizer writes as others, the longest first."""
        found, place = [], 0
        while place < len(data):
            sizes = range(min(self._most, len(data) - place), 0, -1)
            size = next((size for size in sizes if data[place : place + size] in self._ids), 0)
            if not size:
                break
            found.append(self._ids[data[place : place + size]])
            place += size
        return found


def has_vocabulary(tokenizer: Tokenizer, vocab_size: int, ends: frozenset[int]) -> bool:
    """Return True if the vocabulary was made already."""
    return (vocab_size, _listed(vocab_size, ends)) in _known.get(tokenizer, {})


def _listed(vocab_size: int, ends: frozenset[int]) -> tuple[int, ...]:
    return tuple(sorted(ends)) or (vocab_size,)


def vocabulary_of(tokenizer: Tokenizer, vocab_size: int, ends: frozenset[int]) -> Any:
    """Return the vocabulary of a target as an LLTokenizer; made once, which takes most of a second for 128,000 tokens.

    `ends`: the tokens that end a reply. Without any, an id behind the last one stands for the end.
    """
    listed = _listed(vocab_size, ends)
    with _lock:
        made = _known.setdefault(tokenizer, {})
        if (vocab_size, listed) not in made:
            library = importlib.import_module("llguidance")
            wrapper = _Bytes(tokenizer, vocab_size, listed[0])
            made[vocab_size, listed] = library.LLTokenizer(wrapper, n_vocab=len(wrapper.tokens), eos_token=list(listed))
        return made[vocab_size, listed]
