"""Draft from a person's own texts: any kept chat or file may be repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from engine.cancel import CancelToken
from engine.config import MAX_LOOKAHEAD
from engine.corpus.corpus import Corpus, Passage
from engine.drafting.base import Draft, DrafterContext, GoesOn, cautious_cost
from engine.drafting.ngram import NgramDrafter, NgramOptions, Odds
from engine.methods import OWN_TEXTS

_TEXT = NgramOptions(allowance=2.0, allowance_share=0.01)
_FAR = NgramOptions(alone=(-1.5, 0.25), agreed=(0.0, 0.4), split=(-2.5, 0.2))
"""A match in so many texts says less than one in the present text."""


class OwnTextsDrafter(NgramDrafter):
    """Propose from an index of the present text, or from a corpus where its continuation is likelier.

    A passage of the corpus is found by the last tokens of the text, four at least, and followed while it holds. How
    likely its next token is depends on the length of the match, and on whether all places agree; each kind is corrected
    by every token, proposed or not. What wrong drafts cost is bounded as in an index. A draft's `source` tells what it
    came from.
    """

    name = OWN_TEXTS.name

    def __init__(
        self,
        corpus: Corpus,
        vocab_size: int,
        *,
        stop_tokens: frozenset[int] = frozenset(),
        cost: Callable[[int], float] = cautious_cost,
    ) -> None:
        self._corpus, self._vocab_size = corpus, vocab_size
        super().__init__(_TEXT, stop_tokens=stop_tokens, cost=cost)

    def _reset(self) -> None:
        super()._reset()
        self._far: Passage | None = None
        self._far_odds = Odds(_FAR)

    def begin(self, prompt_tokens: Sequence[int], cancel: CancelToken) -> None:
        super().begin(prompt_tokens, cancel)
        self._far = self._corpus.search(self._index.tokens)

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        draft = super().propose(n, goes_on)
        return draft if self._goes_by_corpus else draft._replace(source=NgramDrafter.name)

    @property
    def _goes_by_corpus(self) -> bool:
        """True if the corpus has a continuation, and the present text none likelier."""
        far, match = self._far, self._match
        if far is None:
            return False
        return match is None or self._far_chance(far) > self._odds.chance(self._evidence, match.length)

    def _far_chance(self, far: Passage, ahead: int = 0) -> float:
        return self._far_odds.chance(far.evidence, far.length + ahead)

    def _coming(self, drafted: Sequence[int]) -> Iterator[tuple[int, float]]:
        far = self._far
        if far is None or not self._goes_by_corpus:
            yield from super()._coming(drafted)
            return
        for ahead, token in enumerate(far.passage(MAX_LOOKAHEAD)):
            if token >= self._vocab_size:  # The file was changed by somebody.
                return
            yield token, self._far_chance(far, ahead)

    def _catch_up(self) -> None:
        unread = bool(self._unread)
        super()._catch_up()
        if unread:
            self._far = self._corpus.search(self._index.tokens)

    def _learn(self, token: int) -> None:
        super()._learn(token)
        if self._far is not None:
            self._far_odds.learn(self._far.evidence, self._far.length, self._far.coming[0] == token)

    def _follow(self, token: int) -> None:
        super()._follow(token)
        self._far = (self._far and self._far.follow(token)) or self._corpus.search(self._index.tokens)


def make_drafter(context: DrafterContext) -> NgramDrafter:
    """Make the drafter of the corpus that is attached to the target."""
    return OwnTextsDrafter(
        context.source.texts or Corpus(), context.target.vocab_size, stop_tokens=context.stop_tokens, cost=context.cost
    )
