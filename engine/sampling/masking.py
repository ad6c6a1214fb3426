"""Apply masks of a vocabulary to logits. A mask has a bit for each token, in words of 32 from the lowest bit on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

WORD = 32
Mask = NDArray[np.uint32]
"""Which tokens may come, shape (words,)."""
Masks = NDArray[np.uint32]
"""Those of several positions, shape (positions, words), each row behind the other."""

_INFINITE = np.int32(0x7F800000)
"""The bits of an infinite float32; with the sign before them, of a negative one."""


class MaskSource(Protocol):
    """Provide the masks of a reply that is being written (see engine.masks.reply_masks)."""

    def mask(self, base: int, behind: Sequence[int] = ()) -> Mask | None:
        """Return the mask of the position behind so many committed tokens and those `behind`; None: any may come."""

    def masks(self, base: int, behind: Sequence[int]) -> Masks | None:
        """Return the masks of the positions before each token `behind` and behind the last: shape (n + 1, words).

        None if any token may come at all of them.
        """


def masked(row: NDArray[np.float32], mask: Mask) -> NDArray[np.float32]:
    """Return a copy of the logits, shape (vocab_size,), where tokens that the mask leaves out are impossible."""
    # Without a branch for each token; choosing by a condition takes eight times as long where the mask is mixed.
    limits = np.unpackbits(mask.view(np.uint8), count=len(row), bitorder="little").astype(np.int32)
    limits -= 1
    limits |= _INFINITE
    limits &= ~np.int32(0x7FFFFF)
    return np.minimum(row, limits.view(np.float32))


def has(mask: Mask, token: int) -> bool:
    """Return True if a token may come."""
    return bool(int(mask[token // WORD]) >> token % WORD & 1)


def only_one(mask: Mask) -> int | None:
    """Return the one token that may come, or None if there are others or none."""
    words = mask.nonzero()[0]
    if len(words) != 1:
        return None
    value = int(mask[words[0]])
    return int(words[0]) * WORD + value.bit_length() - 1 if value & (value - 1) == 0 else None


def any_below(mask: Mask, count: int) -> bool:
    """Return True if any of the first `count` tokens may come."""
    words, rest = divmod(count, WORD)
    return bool(mask[:words].any()) or bool(rest and words < len(mask) and int(mask[words]) & ((1 << rest) - 1))
