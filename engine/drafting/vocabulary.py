"""Choose the tokens that a draft model proposes: its output layer is computed for these alone."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from engine.backends.base import Backend

ROWS = 16
"""Rows of the output layer that are computed together, or not at all (kernels/wanted.h)."""
COMMON, SHARE, LEAST = 20_480, 8, 81_920
"""Tokens that are always computed, and the part of a large vocabulary that they are: tokenizers number the first
merges, which are common, first. And tokens of a vocabulary from which on a part of it is worth it."""
_MOST_ADDED = 1_024
"""Groups of rows beside those, the ones that were seen last."""
_MEMORY, _MOST_MISSED = 64.0, 0.15
"""Tokens of the text that count, and the share of them that may be new before all tokens are computed again."""


class DraftVocabulary:
    """Select the rows of an output layer of `size` rows, as bits: common tokens and those of the text.

    The others have probability 0 in the draft, and the acceptance rule keeps the target's distribution as it is
    (FR-Spec, arXiv 2502.14856). Attributes: bits (uint64, a bit for ROWS rows), changed in place.
    """

    def __init__(self, size: int, always: Iterable[int] = ()) -> None:
        groups = -(-size // ROWS)
        self._size, self._common = size, max(COMMON, size // SHARE) // ROWS
        self._wanted = np.zeros(-(-groups // 64) * 64, dtype=np.uint8)
        self._wanted[: self._common] = 1
        self._always = {token // ROWS for token in always}
        self._wanted[list(self._always)] = 1
        self._added: dict[int, None] = {}
        self._missed = 0.0
        self.bits: NDArray[np.uint64] = np.packbits(self._wanted, bitorder="little").view(np.uint64)

    @property
    def pays(self) -> bool:
        """True if few of the last tokens of the text were new."""
        return self._missed < _MOST_MISSED

    def note(self, tokens: Iterable[int], *, judged: bool = True) -> None:
        """Take in tokens of the text. `judged`: that they were new counts."""
        added, changed = self._added, False
        for token in tokens:
            group = token // ROWS
            known = group < self._common or group in added or group in self._always or token >= self._size
            if judged:
                self._missed += (float(not known) - self._missed) / _MEMORY
            if known and group not in added:
                continue
            added.pop(group, None)
            added[group] = None
            self._wanted[group] = 1
            changed = changed or not known
            if len(added) > _MOST_ADDED:
                oldest = next(iter(added))
                del added[oldest]
                self._wanted[oldest] = 0
        if changed:
            self.bits[:] = np.packbits(self._wanted, bitorder="little").view(np.uint64)


_of_models: weakref.WeakKeyDictionary[Backend, DraftVocabulary] = weakref.WeakKeyDictionary()


def vocabulary_of(draft: Backend) -> DraftVocabulary:
    """Return the vocabulary learned from the texts so far for a loaded draft."""
    if draft not in _of_models:
        _of_models[draft] = DraftVocabulary(draft.vocab_size, draft.eos_token_ids)
    return _of_models[draft]


def choose_rows(draft: Backend, new: Iterable[int], *, judged: bool) -> None:
    """Add tokens of the text, and update the computed rows of the output layer (see `note`)."""
    chosen = vocabulary_of(draft)
    chosen.note(new, judged=judged)
    draft.want_rows(chosen.bits if chosen.pays else None)
