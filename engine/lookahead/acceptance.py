"""How likely a proposal is to be accepted: by its position in the draft and by how sure the draft was of it.

A draft's confidence is no probability of being accepted (tokens of confidence 0.3 were accepted nine times of ten with
one pair): what it means is learned, for each pair and conversation, from what was accepted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import exp, log
from typing import Any

from engine.config import MAX_LOOKAHEAD

_EDGES = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
"""Confidences between these count as alike."""
_LEAST, _MOST = 0.01, 0.99


class _Share:
    """A share of successes that forgets: the last `memory` outcomes count, older ones fade."""

    __slots__ = ("kept", "successes", "trials")

    def __init__(self, memory: float) -> None:
        self.kept = 1.0 - 1.0 / memory
        self.successes = self.trials = 0.0

    def add(self, success: bool) -> None:
        """Note an outcome."""
        self.successes = self.successes * self.kept + success
        self.trials = self.trials * self.kept + 1.0

    def mean(self, prior: float, weight: float) -> float:
        """The share, with a prior that counts as `weight` trials."""
        return (self.successes + weight * prior) / (self.trials + weight)


class AcceptanceModel:
    """Probabilities that the next proposal is accepted, given that all before it in the draft were.

    `parent`: what is known of the pair from all its replies, to begin with; without, `prior` is what is expected of a
    pair that nothing is known of. `weight`: how many outcomes either counts for; `pooled`: how many the mean of all
    counts for where one position, or one confidence, is asked about; `memory`: how many count at most.
    Attributes: mean (of all positions).
    """

    MEMORY, LONG_MEMORY = 64.0, 400.0
    POOLED, LONG_POOLED = 12.0, 48.0
    """The second of each is for a pair, whose replies are many and of different texts."""
    REMEMBERED = 16.0
    """Outcomes that count at most of what an earlier run has learned."""

    def __init__(
        self,
        prior: float = 0.7,
        weight: float = 4.0,
        *,
        parent: AcceptanceModel | None = None,
        pooled: float = POOLED,
        memory: float = MEMORY,
    ) -> None:
        self._prior, self._weight, self._pooled, self._parent = prior, weight, pooled, parent
        self._all = _Share(memory)
        self._positions = [_Share(memory) for _ in range(MAX_LOOKAHEAD)]
        self._bins = [_Share(memory) for _ in range(len(_EDGES) + 1)]
        self.mean = prior
        self._shift = 0.0
        """How far the mean's odds lie from the parent's."""
        self._by_position: list[float] = []
        self._position_odds: list[float] = []
        self._bin_odds: dict[int, float] = {}
        """Of each confidence, how far its odds lie from the mean's."""
        self._settle()

    @classmethod
    def of_pair(cls) -> AcceptanceModel:
        """For what is to be learned from all replies of a pair; what is known of it to begin with is nothing."""
        return cls(pooled=cls.LONG_POOLED, memory=cls.LONG_MEMORY)

    def at(self, position: int) -> float:
        """Of a proposal at this position (0: the first), before the draft has made it."""
        known = self._by_position
        while len(known) <= position:
            place = len(known)
            expected = self.mean if self._parent is None else self._moved(self._parent.at(place))
            known.append(_bounded(self._positions[place].mean(expected, self._pooled)))
        return known[position]

    def given(self, position: int, confidence: float) -> float:
        """Of a proposal that the draft gave this probability."""
        bins, positions = self._bin_odds, self._position_odds
        place = bisect_right(_EDGES, confidence)
        if place not in bins:
            bins[place] = _odds(_bounded(self.of_bin(place))) - _odds(_bounded(self.mean))
        while len(positions) <= position:
            positions.append(_odds(self.at(len(positions))))
        return _bounded(_probability(bins[place] + positions[position]))

    def observe(self, proposed: int, accepted: int, confidences: Sequence[float] = (), *, settle: bool = True) -> None:
        """Learn from a round. What stands behind the first rejection was not judged, and tells nothing.

        Without `settle` it is noted, and counts in what is said from the next round on that is settled.
        """
        known = len(confidences)
        for position in range(min(proposed, accepted + 1, MAX_LOOKAHEAD)):
            shares = [self._all, self._positions[position]]
            if position < known:
                shares.append(self._bins[bisect_right(_EDGES, confidences[position])])
            for share in shares:  # Without a call for each: this is done in every round.
                share.successes = share.successes * share.kept + (position < accepted)
                share.trials = share.trials * share.kept + 1.0
        if self._parent is not None:
            self._parent.observe(proposed, accepted, confidences, settle=settle)
        if settle:
            self._settle()

    def _settle(self) -> None:
        parent = self._parent
        self.mean = self._all.mean(self._prior if parent is None else parent.mean, self._weight)
        self._shift = 0.0 if parent is None else _odds(_bounded(self.mean)) - _odds(_bounded(parent.mean))
        self._by_position, self._position_odds, self._bin_odds = [], [], {}

    def _moved(self, probability: float) -> float:
        """What the parent says, as far away as the mean is from the parent's."""
        return _probability(_odds(_bounded(probability)) + self._shift)

    def of_bin(self, index: int) -> float:
        """Of a proposal whose confidence lies in this bin, whatever its position."""
        expected = self.mean if self._parent is None else self._moved(self._parent.of_bin(index))
        return self._bins[index].mean(expected, self._pooled)

    def to_json(self) -> dict[str, Any]:
        """What was learned, as JSON can hold it."""
        return {"shares": [[round(share.successes, 4), round(share.trials, 4)] for share in self._shares()]}

    @classmethod
    def from_json(cls, data: object) -> AcceptanceModel:
        """What an earlier run learned, to begin with; it counts little. Raises ValueError on anything else."""
        model = cls(pooled=cls.LONG_POOLED, memory=cls.LONG_MEMORY)
        shares = model._shares()
        try:
            pairs = [(float(successes), float(trials)) for successes, trials in data["shares"]]  # type: ignore[index]
        except (KeyError, TypeError) as error:
            raise ValueError("not what an acceptance model wrote") from error
        if len(pairs) != len(shares) or any(not 0.0 <= good <= trials <= cls.LONG_MEMORY for good, trials in pairs):
            raise ValueError("not what an acceptance model wrote")
        for share, (successes, trials) in zip(shares, pairs, strict=True):
            less = min(1.0, cls.REMEMBERED / trials) if trials else 1.0
            share.successes, share.trials = successes * less, trials * less
        model._settle()
        return model

    def _shares(self) -> list[_Share]:
        return [self._all, *self._positions, *self._bins]


class ClaimModel:
    """What a source's own estimates are worth, which are probabilities already: by size, a correction of them.

    `weight`: how many outcomes an estimate counts for.
    """

    MEMORY = 48.0

    def __init__(self, weight: float = 4.0) -> None:
        self._weight = weight
        self._bins = [_Share(self.MEMORY) for _ in range(len(_EDGES) + 1)]

    def given(self, claim: float) -> float:
        """The probability that a proposal is accepted of which the source says `claim`."""
        return _bounded(self._bins[bisect_right(_EDGES, claim)].mean(claim, self._weight))

    def observe(self, accepted: int, claims: Sequence[float]) -> None:
        """Learn from a round whose proposals had these estimates."""
        for position, claim in enumerate(claims[: accepted + 1]):
            self._bins[bisect_right(_EDGES, claim)].add(position < accepted)


def _bounded(probability: float) -> float:
    return min(max(probability, _LEAST), _MOST)


def _odds(probability: float) -> float:
    return log(probability / (1.0 - probability))


def _probability(odds: float) -> float:
    return 1.0 / (1.0 + exp(-odds))
