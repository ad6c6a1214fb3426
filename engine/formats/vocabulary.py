"""Compare two models' vocabularies for pairing: the tokens, compactly, from a file or from a loaded model."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.formats.text_table import TextTable


@dataclass(frozen=True)
class Vocabulary:
    """Hold the tokens of a model, in the form in which two models are compared.

    `kind`: the tokenizer's name in words, '' where only a loaded model is known. `begin_id`, `end_id`: the tokens that
    the tokenizer itself puts before and behind a text, None if it puts none. `fingerprints`: uint32, shape (size,),
    equal where the token texts are equal, 0 for padding. `digest`: equal for vocabularies that are equal but for the
    padding behind them. Of a GGUF file, `control`: the tokens that add nothing to a text; `special`: all that may have
    a meaning of their own, so that nobody need ask for each of a hundred thousand.
    """

    kind: str
    size: int
    begin_id: int | None
    end_id: int | None
    digest: str
    fingerprints: NDArray[np.uint32] = field(repr=False, compare=False)
    control: tuple[int, ...] = field(default=(), repr=False, compare=False)
    special: tuple[int, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def texts_only(self) -> Vocabulary:
        """Return it with its control tokens as padding: the draft of a variant may call its own otherwise."""
        prints = self.fingerprints.copy()
        prints[list(self.control)] = 0
        return make_vocabulary(self.kind, self.begin_id, self.end_id, prints)


def vocabulary_from_tokens(
    kind: str, texts: Mapping[int, bytes], begin: int | None, end: int | None, size: int = 0
) -> Vocabulary:
    """Return the vocabulary of these tokens: texts by id, in the form in which a GGUF file has them.

    Ids left out are padding.

    `kind`: the tokenizer's name in words, as in Vocabulary. `size`: how many ids there are, where more than the texts.
    """
    prints = np.zeros(max(size, max(texts, default=-1) + 1), np.uint32)
    prints[np.fromiter(texts, np.int64)] = TextTable.of(list(texts.values())).fingerprints()
    return make_vocabulary(kind, begin, end, prints)


def make_vocabulary(kind: str, begin: int | None, end: int | None, prints: NDArray[np.uint32]) -> Vocabulary:
    """Return the vocabulary with these fingerprints, one for each token id; 0 is padding."""
    prints.setflags(write=False)
    summary = hashlib.blake2b(f"{kind} {begin} {end}".encode(), digest_size=16)
    used = np.flatnonzero(prints)
    summary.update(prints[: used[-1] + 1 if len(used) else 0].tobytes())
    return Vocabulary(kind, len(prints), begin, end, summary.hexdigest(), prints)
