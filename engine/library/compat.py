"""Judge the pairing of two models, with the method and the reason in words for the user.

The rule for one vocabulary is llama.cpp's (the same kind, the same token texts but for a few special ones) without its
bound on the sizes: families pad their vocabularies differently, and padding is never proposed. The begin and end
tokens may differ: the draft reads the target's tokens unchanged, and every proposal is verified.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from engine.backends.base import Backend
from engine.formats.text_table import TextTable
from engine.formats.vocabulary import Vocabulary, make_vocabulary
from engine.library.heads import judge_heads
from engine.translatable import Translatable

if TYPE_CHECKING:
    from engine.library.scan import ModelFile

_FIRST_COMPARED = 5
"""Ids below are special tokens, which variants of a model rename."""
_MAX_SURPLUS = 128
"""The most tokens that one of the two may have beyond the other: variants add special tokens at the end."""
_ALIKE = frozenset({"SentencePiece", "Unigram"})
"""Kinds that write the texts of their tokens in the same way."""
_HARDLY = 1.5
_LITTLE = 4.0
_BEST_RATIOS = (10.0, 40.0)
"""The best ratios of a target's size to its draft's. A larger draft costs more than its better guesses save: at a
tenth, four draft tokens already cost a good third of a target pass. A much smaller one is seldom right."""
_TOO_SMALL = 150.0
_MOST_JUDGED = 4096


@dataclass(frozen=True, slots=True)
class Fit:
    """Judge a draft for a target, with the reason in a sentence or two for a person.

    `fits`: they share a vocabulary. `through_text`: they do not, but proposals can be translated through text, which
    is slower. `head`: the draft is heads for this draft method; '': it is a model.
    """

    fits: bool
    reason: str
    through_text: bool = False
    head: str = ""

    @property
    def usable(self) -> bool:
        """Return True if the two can be paired at all."""
        return self.fits or self.through_text


_judged: dict[tuple[object, ...], Fit] = {}
"""Judgments of pairs of vocabularies. A folder of models has few of them, and every two of its models are compared."""


def judge_pair(target: ModelFile, draft: ModelFile) -> Fit:
    """Judge `draft` for `target`, from the scan's facts of the two; it may be heads."""
    for head in judge_heads(target, [draft]):
        return Fit(head.fits, head.reason, head=head.method)
    for model in (target, draft):
        if not model.usable:
            return Fit(
                False,
                Translatable(
                    "{name} cannot be used: {problem}",
                    name=model.name,
                    problem=model.problem or Translatable("it does not generate text."),
                ),
            )
    if target.vocabulary is None or draft.vocabulary is None:
        bare = target if target.vocabulary is None else draft
        return Fit(False, Translatable("{name} has no vocabulary of its own.", name=bare.name))
    fit = judge_vocabularies(target.vocabulary, draft.vocabulary)
    if not fit.usable:
        return fit
    expected = _expectation(target, draft, fit)
    return Fit(fit.fits, Translatable("{reason} {expected}", reason=fit.reason, expected=expected), fit.through_text)


def judge_backends(target: Backend, draft: Backend) -> Fit:
    """Return True if these two loaded models can be paired: by the headers of their files, or by their tokenizers.

    Where only one is of a GGUF file, their tokenizers answer for each token, which takes a second.
    """
    if target.vocabulary is not None and draft.vocabulary is not None:
        return judge_vocabularies(target.vocabulary.texts_only, draft.vocabulary.texts_only)
    return judge_vocabularies(vocabulary_of_backend(target), vocabulary_of_backend(draft))


def judge_vocabularies(target: Vocabulary, draft: Vocabulary) -> Fit:
    """Return True if models of these vocabularies can be paired: directly, through text, or not at all."""
    key = (*_identity(target), *_identity(draft))
    fit = _judged.get(key)
    if fit is None:
        if len(_judged) >= _MOST_JUDGED:
            _judged.clear()
        fit = _judged[key] = _judge_vocabularies(target, draft)
    return fit


def _identity(vocabulary: Vocabulary) -> tuple[object, ...]:
    return vocabulary.digest, vocabulary.kind, vocabulary.size, vocabulary.begin_id, vocabulary.end_id


def _judge_vocabularies(target: Vocabulary, draft: Vocabulary) -> Fit:
    if not target.fingerprints.any():
        return Fit(False, Translatable("The target's tokens have no text, so proposals cannot be translated."))
    if not draft.fingerprints.any():
        return Fit(False, Translatable("The draft's tokens have no text, so proposals cannot be translated."))
    difference = check_vocabularies(target, draft)
    if difference is None:
        return Fit(True, Translatable("Same vocabulary{though}.", though=_other_beginning(target, draft)))
    reason = Translatable(
        "They have different tokenizers ({target} and {draft}): {difference}, so proposals are translated "
        "through text, which is slower.",
        target=_described(target),
        draft=_described(draft),
        difference=difference,
    )
    return Fit(False, reason, through_text=True)


def check_vocabularies(target: Vocabulary, draft: Vocabulary) -> str | None:
    """Explain, as a clause, that tokens of `draft` stand for other text in `target`; None if they do not."""
    if target.digest == draft.digest:
        return None
    kinds = {target.kind, draft.kind} - {""}
    if len(kinds) > 1 and kinds != _ALIKE:
        return Translatable("they have different types")
    return _check_texts(target, draft)


def _check_texts(target: Vocabulary, draft: Vocabulary) -> str | None:
    common = min(target.size, draft.size)
    longer = target if target.size > draft.size else draft
    surplus = int(np.count_nonzero(longer.fingerprints[common:]))
    ours, theirs = target.fingerprints[:common], draft.fingerprints[:common]
    both = (ours != 0) & (theirs != 0)
    both[:_FIRST_COMPARED] = False
    compared = int(np.count_nonzero(both))
    differing = np.flatnonzero(both & (ours != theirs))
    if len(differing) > compared // 2:
        return Translatable("most of their tokens stand for different texts")
    if len(differing):
        return Translatable(
            "{differing:,} of {compared:,} tokens stand for different texts, the first of them {first}",
            differing=len(differing),
            compared=compared,
            first=int(differing[0]),
        )
    if surplus > _MAX_SURPLUS:
        if longer is target:
            return Translatable("the target has {surplus:,} more tokens", surplus=surplus)
        return Translatable("the draft has {surplus:,} more tokens", surplus=surplus)
    fewest = min(int(np.count_nonzero(ours)), int(np.count_nonzero(theirs)))
    if common > _FIRST_COMPARED and compared <= max(0, fewest - _FIRST_COMPARED) // 2:
        return Translatable("they have too few tokens in common")
    return None


def _other_beginning(target: Vocabulary, draft: Vocabulary) -> str:
    """Return a note if the draft misses a begin token that it is used to, or sees another one."""
    if draft.begin_id in (None, target.begin_id):
        return ""
    if target.begin_id is None:
        return Translatable(", but the draft expects begin token {used} and gets none", used=draft.begin_id)
    return Translatable(
        ", but the draft expects begin token {used} and gets token {given}", used=draft.begin_id, given=target.begin_id
    )


def _described(vocabulary: Vocabulary) -> str:
    if not vocabulary.kind:
        return Translatable("{count:,} tokens", count=vocabulary.size)
    return Translatable("{kind} with {count:,} tokens", kind=vocabulary.kind, count=vocabulary.size)


def _expectation(target: ModelFile, draft: ModelFile, fit: Fit) -> str:
    """Describe the speedup that the sizes promise, in a sentence."""
    if draft.path == target.path:
        return Translatable("The draft is the target itself: no speedup.")
    ratio = _cost_ratio(target, draft)
    if ratio <= 1.0:
        return Translatable("The draft is not smaller than the target: no speedup.")
    if ratio < _HARDLY:
        return Translatable("The draft is hardly smaller than the target: little or no speedup.")
    times = Translatable("{ratio:.0f}", ratio=ratio) if ratio >= 10 else Translatable("{ratio:.1f}", ratio=ratio)
    promise = Translatable("a speedup is likely") if fit.fits else Translatable("a speedup is possible")
    if ratio < _LITTLE:
        promise = Translatable("a small speedup at best")
    elif _skill_ratio(target, draft) > _TOO_SMALL:
        promise = Translatable("the draft may be too small to guess well")
    return Translatable("The target is {times} times as large as the draft: {promise}.", times=times, promise=promise)


# Ranking ------------------------------------------------------------------------------------------------------------


def rank_drafts(target: ModelFile, candidates: Sequence[ModelFile]) -> list[tuple[ModelFile, Fit]]:
    """Return all candidates with their judgments, the best draft for `target` first.

    First heads, then smaller models with the target's vocabulary, then smaller ones through text; then the other usable
    ones, and last the unusable ones. Within each group the order follows the size (see `_BEST_RATIOS`), the family, the
    tuning of both for chats, and the quantisation. The order of the candidates does not matter.
    """

    def key(judged: tuple[ModelFile, Fit]) -> tuple[object, ...]:
        draft, fit = judged
        smaller = draft.size_bytes < target.size_bytes or fit.head != ""
        return (
            not fit.usable,
            not smaller,
            fit.through_text,
            not fit.head,
            round(_handicap(target, draft), 6),
            draft.size_bytes,
            draft.name.casefold(),
            str(draft.path),
        )

    return sorted(((draft, judge_pair(target, draft)) for draft in candidates), key=key)


def _handicap(target: ModelFile, draft: ModelFile) -> float:
    """Return the distance of a draft from the ideal size, 0 for the best. One unit is a factor of e in size."""
    least, most = _BEST_RATIOS
    too_large = max(0.0, math.log(least / _cost_ratio(target, draft)))
    too_small = max(0.0, math.log(_skill_ratio(target, draft) / most))
    related = _family(target.name) == _family(draft.name)
    strange = 0.0 if related else 0.25 if target.architecture == draft.architecture else 0.5
    untuned = 0.0 if target.has_chat_template == draft.has_chat_template else 0.7
    return too_large + too_small + strange + untuned + _coarseness(draft.quantisation)


def _cost_ratio(target: ModelFile, draft: ModelFile) -> float:
    """Return the ratio of the bytes that a pass of target and draft reads."""
    return max(target.size_bytes, 1) / max(draft.size_bytes, 1)


def _skill_ratio(target: ModelFile, draft: ModelFile) -> float:
    """Return the ratio of their numbers of weights.

    Quantisation takes little of that, so parameters count where they are known.
    """
    if target.parameters and draft.parameters:
        return target.parameters / draft.parameters
    return _cost_ratio(target, draft)


@lru_cache(maxsize=4096)
def _family(name: str) -> str:
    """Return the first word of a name, without a size at its end.

    It is `qwen2.5` for Qwen2.5-0.5B and `stories` for stories260K.
    """
    word = re.split(r"[-_\s:]", name.casefold(), maxsplit=1)[0]
    return re.sub(r"(?<=[a-z])\d+(\.\d+)?[kmb]$", "", word)


@lru_cache(maxsize=256)
def _coarseness(quantisation: str) -> float:
    """Return 0 for weights of 4 to 8 bits, quick and nearly as good; more for full ones, most for fewer bits."""
    number = re.search(r"(?:Q|FP|NF|INT)(\d+)", quantisation.upper())
    bits = 16 if number is None else int(number[1])
    return 1.0 if bits < 4 else 0.0 if bits <= 8 else 0.3


def vocabulary_of_backend(backend: Backend) -> Vocabulary:
    """Return the vocabulary of a loaded model, by its tokenizer. Control tokens count as padding."""
    tokenizer = backend.tokenizer
    prints = TextTable.of([tokenizer.piece(token) for token in range(backend.vocab_size)]).fingerprints()
    around = tokenizer.encode("", add_special=True, parse_special=False)
    begin = around[0] if around and tokenizer.bos_token else None
    return make_vocabulary("", begin, around[-1] if len(around) > (begin is not None) else None, prints)
