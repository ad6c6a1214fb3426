"""Draft from a text that the caller expects: the reply may be that text with some changes."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from math import exp
from typing import Literal

from engine.config import MAX_LOOKAHEAD
from engine.drafting.base import Draft, DrafterContext, GoesOn, cautious_cost
from engine.drafting.ngram import NgramDrafter, NgramOptions
from engine.methods import PREDICTION

Footing = Literal["begun", "resumed", "split", "guessed"]

_OPTIONS = NgramOptions(allowance=3.0, allowance_share=0.01, most_allowance=16.0)
"""A prediction that is all wrong costs this much; one that holds has soon saved enough for drafts of any length."""
_ODDS: dict[Footing, tuple[float, float]] = {
    "begun": (1.5, 0.3),
    "resumed": (0.0, 0.5),
    "split": (-1.0, 0.5),
    "guessed": (-0.4, 0.4),
}
"""For each footing the log-odds that the next token is right, as (of no token, more for each that was right)."""
_SURE = 12
"""Tokens that were right in a row, from which the odds know no difference."""
_LEARNING_RATE = 0.5
_FAR, _LONG_ENOUGH = 48, 3
"""Beyond so many tokens from a break the text is found again by a match of this length at least."""
_LOOKED_AT = 48
"""Places of a token that are looked at, those nearest to the break."""


class PredictionDrafter(NgramDrafter):
    """Propose the next tokens of a predicted text, and where the reply has left it, those of an index of the text.

    The reply is expected to begin as the prediction does. Where it goes another way, one token in place of another is
    guessed at first; then each token is looked for in the prediction, near the break or by a longer match, and the
    longest match goes on, the nearest of equals: so a replaced, inserted or deleted passage is passed by. How likely
    the next token is depends on the footing (the text has held since its beginning; since one match, or one of several;
    or it is guessed) and on how many tokens were right since; it is learned with each token, proposed or not. What
    wrong drafts cost is bounded as in an index. A draft's `source` tells what it came from.
    """

    name = PREDICTION.name

    def __init__(
        self,
        prediction: Sequence[int],
        *,
        stop_tokens: frozenset[int] = frozenset(),
        cost: Callable[[int], float] = cautious_cost,
    ) -> None:
        self._prediction = tuple(prediction)
        self._behind: dict[int, list[int]] = {}
        """The places behind each token of the prediction."""
        for place, token in enumerate(self._prediction, 1):
            self._behind.setdefault(token, []).append(place)
        super().__init__(_OPTIONS, stop_tokens=stop_tokens, cost=cost)

    def _reset(self) -> None:
        super()._reset()
        self._log_odds = {footing: start for footing, (start, _) in _ODDS.items()}
        self._end: deque[int] = deque(maxlen=_SURE)
        """The last tokens of the reply."""
        self._place: int | None = 0
        """The next place in the prediction; None: lost."""
        self._footing: Footing = "begun"
        self._right = 0
        """Tokens that were right since the prediction was found (again), with those of the match."""
        self._break, self._since = 0, 0
        """The place where the prediction was left last, and the number of tokens since."""

    def propose(self, n: int, goes_on: GoesOn | None = None) -> Draft:
        draft = super().propose(n, goes_on)
        return draft if self._predicts else draft._replace(source=NgramDrafter.name)

    @property
    def _predicts(self) -> bool:
        """True if the prediction goes on, and nothing else is likelier."""
        place, match = self._place, self._match
        if place is None or place >= len(self._prediction):
            return False
        if match is None or self._index.tokens[match.places[0]] == self._prediction[place]:
            return True
        return self._chance(self._right) >= self._odds.chance(self._evidence, match.length)

    def _chance(self, right: int) -> float:
        log_odds = self._log_odds[self._footing] + _ODDS[self._footing][1] * min(right, _SURE)
        return 1.0 / (1.0 + exp(-log_odds))

    def _coming(self, drafted: Sequence[int]) -> Iterator[tuple[int, float]]:
        place = self._place
        if place is None or not self._predicts:
            yield from super()._coming(drafted)
            return
        for ahead, token in enumerate(self._prediction[place : place + MAX_LOOKAHEAD]):
            yield token, self._chance(self._right + ahead)

    def _catch_up(self) -> None:
        unread = self._unread
        super()._catch_up()
        for token in unread:
            self._go_on(token)

    def _follow(self, token: int) -> None:
        super()._follow(token)
        self._go_on(token)

    def _go_on(self, token: int) -> None:
        """Follow the prediction with a token of the reply, or look for it again."""
        place, self._since = self._place, self._since + 1
        self._end.append(token)
        if place is not None:
            right = place < len(self._prediction) and self._prediction[place] == token
            if place < len(self._prediction):
                self._log_odds[self._footing] += _LEARNING_RATE * (float(right) - self._chance(self._right))
            if right:
                self._place, self._right = place + 1, self._right + 1
                return
            if self._footing != "guessed" or self._right:
                self._break, self._since = place, 1
        self._place, self._right = None, 0
        if not self._find_again(token) and self._since == 1 and self._break + 1 < len(self._prediction):
            self._place, self._footing = self._break + 1, "guessed"

    def _find_again(self, token: int) -> bool:
        """Go on behind the longest match of the reply's end, if there is one; of equals the nearest to the break."""
        places = self._behind.get(token, ())
        middle = bisect_left(places, self._break)
        candidates = places[max(middle - _LOOKED_AT // 4, 0) : middle + _LOOKED_AT]
        found = [(self._match_before(place), -abs(place - self._break), place) for place in candidates]
        found = [each for each in found if each[0] >= _LONG_ENOUGH or -each[1] <= _FAR]
        if found:
            length, _, self._place = max(found)
            self._right = length
            self._footing = "split" if sum(each[0] == length for each in found) > 1 else "resumed"
        return bool(found)

    def _match_before(self, place: int) -> int:
        """Count the tokens before a place of the prediction that end the text too, at most as many as matter."""
        length, most = 0, min(place, len(self._end))
        while length < most and self._prediction[place - length - 1] == self._end[-length - 1]:
            length += 1
        return length


def make_drafter(context: DrafterContext) -> PredictionDrafter:
    """Make the drafter of a request's prediction, in the tokens that the target would write."""
    prediction, target = context.request.prediction, context.target
    if isinstance(prediction, str):
        prediction = tuple(target.tokenizer.encode(prediction, add_special=False, parse_special=False))
    return PredictionDrafter(prediction[: target.context_length], stop_tokens=context.stop_tokens, cost=context.cost)
