"""May these two models be paired, and if not, why: in words for a person.

The rule is llama.cpp's (the same kind of vocabulary, the same begin and end tokens, the same token texts but for a
few special ones) without its bound on the sizes: families pad their vocabularies differently, and padding is never
proposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.backends.base import Backend
from engine.errors import VocabularyMismatch
from engine.vocabulary import Vocabulary, vocabulary_of_backend

if TYPE_CHECKING:
    from engine.library import ModelFile

_FIRST_COMPARED = 5
"""Ids below are special tokens, which variants of a model rename."""
_MAX_SURPLUS = 128
"""So many tokens one of the two may have beyond the other: variants add special tokens at the end."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Whether a draft can draft for a target, and why or why not, in a sentence for a person.

    `fits`: they share a vocabulary. `through_text`: they do not, but proposals can be translated through text, which
    is slower.
    """

    fits: bool
    reason: str
    through_text: bool = False

    @property
    def usable(self) -> bool:
        """Whether the two can be paired at all."""
        return self.fits or self.through_text


def judge_pair(target: ModelFile, draft: ModelFile) -> Fit:
    """Whether `draft` can draft for `target`, from what a scan found out about the two."""
    for model in (target, draft):
        if model.problem is not None or not model.usable:
            return Fit(False, f"{model.name} cannot be used: {model.problem}")
        if model.vocabulary is None:
            return Fit(False, f"{model.name} has no vocabulary of its own.")
    if target.vocabulary is None or draft.vocabulary is None:
        return Fit(False, "One of the two has no vocabulary of its own.")
    reason = check_vocabularies(target.vocabulary, draft.vocabulary)
    if reason is not None:
        return Fit(False, reason)
    if draft.size_bytes >= target.size_bytes:
        return Fit(True, "Same vocabulary, but the draft is not smaller than the target: no speedup.")
    if draft.size_bytes * 1.5 > target.size_bytes:
        return Fit(True, "Same vocabulary, but the draft is hardly smaller than the target: little or no speedup.")
    return Fit(True, f"Same vocabulary; the target is {_times(target, draft)} as large as the draft.")


def check_vocabularies(target: Vocabulary, draft: Vocabulary) -> str | None:
    """Why the tokens of `draft` do not stand for the same text in `target`, or None if they do."""
    if target.digest == draft.digest:
        return None
    if target.kind != draft.kind and target.kind and draft.kind:
        return (
            f"Their tokenizers are of different kinds ({target.kind} and {draft.kind}), "
            "so they do not share a vocabulary."
        )
    return _check_texts(target, draft) or _check_ends(target, draft)


def judge_backends(target: Backend, draft: Backend) -> VocabularyMismatch | None:
    """The error that pairing these two loaded models deserves, or None if they fit."""
    reason = check_vocabularies(vocabulary_of_backend(target), vocabulary_of_backend(draft))
    return None if reason is None else VocabularyMismatch(target.name, draft.name, reason)


def _check_texts(target: Vocabulary, draft: Vocabulary) -> str | None:
    sizes = f"The target has {target.size:,} tokens and the draft {draft.size:,}"
    common = min(target.size, draft.size)
    longer = target if target.size > draft.size else draft
    surplus = int(np.count_nonzero(longer.fingerprints[common:]))
    ours, theirs = target.fingerprints[:common], draft.fingerprints[:common]
    both = (ours != 0) & (theirs != 0)
    both[:_FIRST_COMPARED] = False
    compared = int(np.count_nonzero(both))
    differing = np.flatnonzero(both & (ours != theirs))
    if len(differing) > compared // 2:
        return f"They do not share a vocabulary: most of their tokens stand for different texts. {sizes}."
    if surplus > _MAX_SURPLUS:
        return f"They do not share a vocabulary. {sizes}."
    if len(differing):
        return (
            f"They do not share a vocabulary: {len(differing):,} of {compared:,} tokens stand for "
            f"different texts, the first of them token {differing[0]}."
        )
    fewest = min(int(np.count_nonzero(ours)), int(np.count_nonzero(theirs)))
    if common > _FIRST_COMPARED and compared <= max(0, fewest - _FIRST_COMPARED) // 2:
        return f"They do not share a vocabulary: they have too few tokens in common. {sizes}."
    return None


def _check_ends(target: Vocabulary, draft: Vocabulary) -> str | None:
    """A draft that reads the same text with another beginning would draft from another history."""
    for name, ours, theirs in (
        ("begin", target.begin_id, draft.begin_id),
        ("end", target.end_id, draft.end_id),
    ):
        if ours != theirs:
            target_has = "none" if ours is None else f"token {ours}"
            draft_has = "none" if theirs is None else f"token {theirs}"
            return f"Their {name} tokens differ: the target uses {target_has}, the draft {draft_has}."
    return None


def _times(target: ModelFile, draft: ModelFile) -> str:
    ratio = target.size_bytes / max(draft.size_bytes, 1)
    return f"{ratio:.0f} times" if ratio >= 10 else f"{ratio:.1f} times"
