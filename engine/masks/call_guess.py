"""Guess the next tokens of a call that a reply makes by itself: names, keys and braces, from the tools' schemas.

Nothing is masked: what is guessed is proposed, and judged as any draft is. So it costs no model pass and bends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from engine.backends.base import Tokenizer
from engine.errors import EngineError
from engine.masks.reply_masks import ReplyMasks
from engine.masks.vocabulary import has_vocabulary, vocabulary_of
from engine.sampling.masking import has

CallKind = Literal["marked", "bare"]
"""The form of a call: that of the model's family, or plain JSON."""
_LONGEST_START = 48
"""Tokens of a call that may be written before it is noticed."""
_MOST_CALLS = 8


class CallGuess:
    """Follow the calls of one reply.

    `make`: returns the masks of a call that is written in this way; `ends`: the tokens that end a reply. Attribute:
    missed, whether nothing was guessed since the target's vocabulary would have had to be read first (`prepare`).
    """

    def __init__(
        self, make: Callable[[CallKind], ReplyMasks], tokenizer: Tokenizer, vocab_size: int, ends: frozenset[int]
    ) -> None:
        self.missed = False
        self._make, self._ends = make, ends
        self._vocabulary = tokenizer, vocab_size, ends
        self._left = _MOST_CALLS
        self._masks: ReplyMasks | None = None
        self._known = self._held = 0
        """Tokens of the reply that were seen, and those of the call that its masks hold."""

    def prepare(self) -> None:
        """Read the vocabulary for the calls of later replies: it takes a moment, which no reply should wait for."""
        vocabulary_of(*self._vocabulary)

    def leave(self) -> None:
        """Leave the call: the reply is in none now."""
        self._masks = None

    def next(self, reply: Sequence[int], kind: CallKind, most: int) -> list[int]:
        """Return the tokens, `most` at most, that must come next in the call that the reply is in."""
        if self._masks is None and not has_vocabulary(*self._vocabulary):
            self.missed = True
            return []
        try:
            return [token for token in self._next(reply, kind, most) if token not in self._ends]
        except EngineError:  # A schema may say what no grammar can, and a guess is no duty.
            self._masks, self._left = None, 0
            return []

    def _next(self, reply: Sequence[int], kind: CallKind, most: int) -> list[int]:
        new, self._known = reply[self._known :], len(reply)
        if self._masks is None:
            if not self._left:
                return []
            self._left -= 1
            self._masks = self._make(kind)
            new, self._held = _beginning(self._masks, reply[-_LONGEST_START:]), 0
        for token in new:
            self._masks.commit(token)
        self._held += len(new)
        return self._masks.forced(self._held, (), most) if self._held else []


def _beginning(masks: ReplyMasks, tokens: Sequence[int]) -> Sequence[int]:
    """Return the last tokens that are the beginning of a call, as many as can be; () where none are."""
    first = masks.mask(0)
    for place, token in enumerate(tokens):
        if first is not None and has(first, token) and masks.fitting(0, tokens[place:]) == len(tokens) - place:
            return tokens[place:]
    return ()
