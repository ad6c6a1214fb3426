"""Find parts by what they mean: each has a vector, made by an embedding model of the user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Embedder
from engine.cancel import CancelToken
from engine.documents.document import Section

Embed = Callable[[str], NDArray[np.float32] | None]
"""Gives the vector of a question, of length 1; None where it is not known yet."""
_AT_ONCE = 8_192
"""Rows that are multiplied together: more than that many need not be there as larger numbers."""


class PartVectors:
    """Hold the vectors of parts (float16, a row each, of length 1); asked, they tell how near a question is to each."""

    def __init__(self, rows: NDArray[np.float16], embed: Embed) -> None:
        self.rows, self._embed = rows, embed

    @classmethod
    def of_bytes(cls, data: bytes, count: int, embed: Embed) -> PartVectors:
        """Return vectors of so many parts as they were kept: the bytes of their rows. Raises ValueError."""
        rows = np.frombuffer(data, np.float16).reshape(count, -1)
        if not rows.size or not np.isfinite(rows).all():
            raise ValueError("not vectors")
        return cls(rows, embed)

    def __call__(self, question: str) -> Sequence[float]:
        """Return each part's similarity to a question; empty if the question's vector is unknown."""
        asked = self._embed(question)
        if asked is None or len(asked) != self.rows.shape[1]:
            return ()
        starts = range(0, len(self.rows), _AT_ONCE)
        near = [self.rows[start : start + _AT_ONCE].astype(np.float32) @ asked for start in starts]
        told: list[float] = np.concatenate(near).tolist() if near else []
        return told


def vectors_of(
    parts: Sequence[Section],
    embedder: Embedder,
    cancel: CancelToken | None = None,
    done: list[NDArray[np.float32]] | None = None,
) -> NDArray[np.float16]:
    """Compute the vectors of parts: of their headings and their beginnings, as far as the model reads.

    `done`: those that are there; it grows, so that what was cancelled can go on. Raises BackendFailure, BackendClosed,
    Cancelled.
    """
    rows = [] if done is None else done
    for part in parts[len(rows) :]:
        if cancel is not None:
            cancel.check()
        rows.append(vector_of("\n".join((*part.headings, part.text)), embedder))
    return np.array(rows, np.float16).reshape(len(parts), embedder.width)


def vector_of(text: str, embedder: Embedder) -> NDArray[np.float32]:
    """Compute the vector of a text. Raises BackendFailure, BackendClosed."""
    tokens = embedder.encode(text)
    most = embedder.context_length
    return embedder.embed(tokens if len(tokens) <= most else [*tokens[: most - 1], tokens[-1]])


def asking(embedder: Embedder) -> Embed:
    """Return a cached function for the vectors of questions."""
    return lru_cache(maxsize=64)(lambda question: vector_of(question, embedder))
