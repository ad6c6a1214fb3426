"""Prevent a reply's end before its least number of tokens: until then its end tokens are masked out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.masks.reply_masks import ReplyMasks
from engine.sampling.masking import WORD, Mask, Masks, has


class LateEnd:
    """Mask the end tokens of a reply until late, as ReplyMasks does, over the masks of a constraint.

    `ends`: the tokens that may not come before `least` others did; where a constraint leaves nothing else, they may.
    """

    def __init__(self, ends: frozenset[int], least: int, vocab_size: int, inner: ReplyMasks | None) -> None:
        self._least, self._inner = least, inner
        bits = np.ones(-(-vocab_size // WORD) * WORD, np.uint8)
        bits[vocab_size:] = 0
        self._all: Mask = np.packbits(bits, bitorder="little").view(np.uint32)
        bits[sorted(ends)] = 0
        self._early: Mask = np.packbits(bits, bitorder="little").view(np.uint32)

    def commit(self, token: int) -> bool:
        """Take one more token of the reply; return True if the text is whole and the target has no end token."""
        return self._inner is not None and self._inner.commit(token)

    def mask(self, base: int, behind: Sequence[int] = ()) -> Mask | None:
        """Return the mask of the position behind so many committed tokens and those `behind`; None: any may come."""
        found = None if self._inner is None else self._inner.mask(base, behind)
        if base + len(behind) >= self._least:
            return found
        if found is None:
            return self._early
        both = found & self._early
        return both if both.any() else found

    def masks(self, base: int, behind: Sequence[int]) -> Masks | None:
        """Return the masks of the positions before each token `behind` and behind the last: shape (n + 1, words).

        None if any token may come at all of them.
        """
        if base >= self._least:
            return None if self._inner is None else self._inner.masks(base, behind)
        found = [self.mask(base, behind[:count]) for count in range(len(behind) + 1)]
        return np.stack([self._all if each is None or not each.any() else each for each in found])

    def fitting(self, base: int, tokens: Sequence[int]) -> int:
        """Return the number of tokens that can stand behind so many committed ones."""
        for count, token in enumerate(tokens):
            mask = self.mask(base, tokens[:count])
            if mask is not None and not has(mask, token):
                return count
        return len(tokens)

    def forced(self, base: int, behind: Sequence[int], most: int) -> list[int]:
        """Return the tokens, `most` of them, that come next because a constraint leaves nothing else."""
        return [] if self._inner is None else self._inner.forced(base, behind, most)
