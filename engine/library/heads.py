"""Judge which draft heads in a folder are for which target, and why the others are not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from engine.formats.draft_head import DraftHead, readable_states, why_not_for
from engine.formats.model_file import ModelFile
from engine.formats.vocabulary import Vocabulary
from engine.translatable import Translatable


@dataclass(frozen=True, slots=True)
class HeadFit:
    """Tell whether heads are for a target, and why or why not, in a sentence for a person.

    `source`: the file that holds them, which may be the target's own. `method`: the draft method that they are for.
    """

    source: ModelFile
    method: str
    fits: bool
    reason: str


def judge_heads(target: ModelFile, models: Iterable[ModelFile]) -> list[HeadFit]:
    """Return what was found of each head among the models, those that fit first, and of the target's own.

    Heads that cannot be used at all are left out: their own problem says why.
    """
    if not target.usable:
        return []
    found: list[HeadFit] = []
    for model in models:
        if model.head is None:
            continue
        if model.path == target.path:
            reason = Translatable("Its own layers for later tokens.")
            found.append(HeadFit(model, model.head.method, True, reason))
        elif model.role == "draft-head" and model.file_format == target.file_format:
            found.append(_judged(target, model, model.head))
    return sorted(found, key=lambda fit: (not fit.fits, fit.source.name.casefold(), str(fit.source.path)))


def _judged(target: ModelFile, model: ModelFile, head: DraftHead) -> HeadFit:
    readable = frozenset(range(target.depth + 1))
    if target.file_format == "gguf":
        readable = readable_states(target.architecture, target.depth)
    why = why_not_for(head, readable, target.depth, target.width)
    ours, theirs = target.vocabulary, model.vocabulary
    if head.tokens:  # A folder with a head brings no tokenizer.
        alike = ours is not None and ours.size == head.tokens
    else:
        alike = ours is not None and theirs is not None and same_tokens(ours, theirs)
    if why is None and not alike:
        why = Translatable("it has another vocabulary")
    if why is None:
        return HeadFit(model, head.method, True, Translatable("Same vocabulary and width."))
    return HeadFit(model, head.method, False, Translatable("It is not for this target: {why}.", why=why))


def same_tokens(target: Vocabulary, head: Vocabulary) -> bool:
    """Return whether two vocabularies are one but for padding: a head is made with its target's own."""
    ours, theirs = (np.trim_zeros(vocabulary.fingerprints, "b") for vocabulary in (target, head))
    return bool(np.array_equal(ours, theirs))
