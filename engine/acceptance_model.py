"""How likely a proposal is to be accepted: by its position in the draft and by how sure the draft was of it.

A draft's confidence is no probability of being accepted (tokens of confidence 0.3 were accepted nine times of ten with
one pair): what it means is learned, for each pair and conversation, from what was accepted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from math import exp, log, sqrt
from typing import Any

from engine.config import MAX_LOOKAHEAD

_EDGES = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97)
"""Confidences between these count as alike."""
_LEAST, _MOST = 0.01, 0.99


class _Share:
    """A share of successes that forgets: the last `memory` outcomes count, older ones fade."""

    __slots__ = ("_kept", "successes", "trials")

    def __init__(self, memory: float) -> None:
        self._kept = 1.0 - 1.0 / memory
        self.successes = self.trials = 0.0

    def add(self, success: bool) -> None:
        """Note an outcome."""
        self.successes = self.successes * self._kept + success
        self.trials = self.trials * self._kept + 1.0

    def mean(self, prior: float, weight: float) -> float:
        """The share, with a prior that counts as `weight` trials."""
        return (self.successes + weight * prior) / (self.trials + weight)


class AcceptanceModel:
    """Probabilities that the next proposal is accepted, given that all before it in the draft were.

    `prior`: what is expected of a pair that nothing is known of; `weight`: how many outcomes it counts for.
    """

    MEMORY = 48.0

    def __init__(self, prior: float = 0.7, weight: float = 4.0) -> None:
        self._prior, self._weight = prior, weight
        self._all = _Share(self.MEMORY)
        self._positions = [_Share(self.MEMORY) for _ in range(MAX_LOOKAHEAD)]
        self._bins = [_Share(self.MEMORY) for _ in range(len(_EDGES) + 1)]

    def at(self, position: int) -> float:
        """Of a proposal at this position (0: the first), before the draft has made it."""
        return self._bounded(self._positions[position].mean(self._mean(), self._weight))

    def hopefully_at(self, position: int) -> float:
        """`at`, and half a standard deviation more: what little was seen rules out little."""
        mean = self.at(position)
        seen = self._positions[position].trials + self._weight
        return self._bounded(mean + 0.5 * sqrt(mean * (1.0 - mean) / seen))

    def given(self, position: int, confidence: float) -> float:
        """Of a proposal that the draft gave this probability."""
        mean = self._mean()
        of_bin = self._bins[bisect_right(_EDGES, confidence)].mean(mean, self._weight)
        odds = _odds(self._bounded(of_bin)) + _odds(self.at(position)) - _odds(self._bounded(mean))
        return self._bounded(1.0 / (1.0 + exp(-odds)))

    def observe(self, proposed: int, accepted: int, confidences: Sequence[float] = ()) -> None:
        """Learn from a round. What stands behind the first rejection was not judged, and tells nothing."""
        for position in range(min(proposed, accepted + 1, MAX_LOOKAHEAD)):
            success = position < accepted
            self._all.add(success)
            self._positions[position].add(success)
            if position < len(confidences):
                self._bins[bisect_right(_EDGES, confidences[position])].add(success)

    def _mean(self) -> float:
        return self._all.mean(self._prior, self._weight)

    @staticmethod
    def _bounded(probability: float) -> float:
        return min(max(probability, _LEAST), _MOST)

    def to_json(self) -> dict[str, Any]:
        """What was learned, as JSON can hold it."""
        shares = [self._all, *self._positions, *self._bins]
        return {"shares": [[round(share.successes, 4), round(share.trials, 4)] for share in shares]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AcceptanceModel:
        """What an earlier conversation learned, to begin with. Raises ValueError on anything else."""
        model = cls()
        shares = [model._all, *model._positions, *model._bins]
        try:
            pairs = [(float(successes), float(trials)) for successes, trials in data["shares"]]
        except (KeyError, TypeError) as error:
            raise ValueError("not what an acceptance model wrote") from error
        if len(pairs) != len(shares) or any(not 0.0 <= good <= trials <= cls.MEMORY for good, trials in pairs):
            raise ValueError("not what an acceptance model wrote")
        for share, (successes, trials) in zip(shares, pairs, strict=True):
            share.successes, share.trials = successes, trials
        return model


def _odds(probability: float) -> float:
    return log(probability / (1.0 - probability))
