"""Read a prompt into a cache: only what follows the longest common prefix, in pieces that can be cancelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.backends.base import Backend
from engine.backends.pictures import PictureToken
from engine.cancel import CancelToken
from engine.errors import RewindNotSupported

CHUNK = 128
"""Tokens per forward. Fixed, so that the same prompt always gives the same logits."""


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """Return the number of leading tokens that are alike."""
    count = 0
    for mine, theirs in zip(first, second, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def keep_prefix(backend: Backend, tokens: Sequence[int]) -> int:
    """Rewind the cache to its common prefix with `tokens`, and return the length; from zero if it cannot go back."""
    if backend.keeper is not None:
        backend.keeper.change_to(backend, tokens)
    return rewind_to(backend, tokens)


def rewind_to(backend: Backend, tokens: Sequence[int]) -> int:
    """Rewind as `keep_prefix` does, but only within the present cache: no stored part is restored."""
    shared = common_prefix(backend.tokens, tokens)
    try:
        backend.truncate(shared)
    except RewindNotSupported:
        backend.truncate(0)
        shared = 0
    return shared


def read(backend: Backend, tokens: Sequence[int], cancel: CancelToken) -> Iterator[int]:
    """Feed `tokens` without logits, piece by piece; yield the length of each piece. Raises Cancelled."""
    for piece in _pieces(tokens):
        cancel.check()
        backend.forward(piece, 0)
        yield len(piece)


def _pieces(tokens: Sequence[int]) -> Iterator[Sequence[int]]:
    """Yield the pieces to feed at once: texts of a fixed length at most, and the pieces of pictures whole."""
    start = 0
    while start < len(tokens):
        first = tokens[start]
        end = start + (first.count if isinstance(first, PictureToken) else CHUNK)
        piece = tokens[start:end]
        if first >= 0 and min(piece) < 0:
            piece = piece[: next(index for index, token in enumerate(piece) if token < 0)]
        yield piece
        start += len(piece)


def read_all(backend: Backend, tokens: Sequence[int], cancel: CancelToken) -> None:
    """Read as `read` does, without progress. Raises Cancelled."""
    for _ in read(backend, tokens, cancel):
        pass
