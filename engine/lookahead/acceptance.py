"""The chance that a proposal is accepted: by its position in the draft, and by its calibrated confidence."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import exp, log
from typing import Any

from engine.config import MAX_LOOKAHEAD

_LEAST = 0.01  # No chance is taken to be closer to 0 or to 1 than this.


class Share:
    """A share of successes of which the last `memory` outcomes count; older ones fade."""

    def __init__(self, memory: float) -> None:
        self.kept, self.successes, self.trials = 1.0 - 1.0 / memory, 0.0, 0.0

    def add(self, successes: float, trials: float = 1.0) -> None:
        self.successes = self.successes * self.kept + successes
        self.trials = self.trials * self.kept + trials

    def mean(self, prior: float, weight: float) -> float:
        return (self.successes + weight * prior) / (self.trials + weight)


class AcceptanceModel:
    """Chances that the next proposal is accepted, given that all before it in the draft were.

    `parent`: the pair of a conversation, which only tells how far its mean is away from the pair's. `weight`: outcomes
    that what is known at first counts for; `memory`: that count at most. Attributes: mean (of all positions); gain
    (tokens that rounds gave over those that were expected: drafts that end where they are unsure give more).
    """

    MEMORY, LONG_MEMORY, WEIGHT = 48.0, 400.0, 12.0
    """The most outcomes that count in a conversation and of a pair; the weight of more general knowledge."""

    def __init__(
        self, prior: float = 0.7, weight: float = WEIGHT, parent: AcceptanceModel | None = None, memory: float = MEMORY
    ) -> None:
        self._prior, self._weight, self._parent = prior, weight, parent
        self._all, self._gain = Share(memory), Share(self.LONG_MEMORY)
        self.positions = [Share(memory) for _ in range(MAX_LOOKAHEAD)]
        self.bins = [Share(memory) for _ in range(2 * round(_odds(1.0)) + 1)]
        """Shares by the confidence's log-odds, rounded; those below 0 from the end on."""
        self.shares = [self._all, self._gain, *self.positions, *self.bins]
        self._settle()

    def at(self, position: int) -> float:
        """Return the chance of a proposal at this position (0: the first), before the draft has made it."""
        known, model = self._by_position, self._parent or self
        while len(known) <= position:
            own = model.positions[len(known)].mean(model.mean, self.WEIGHT)
            known.append(_probability(_odds(own) + self._shift))
        return known[position]

    def given(self, position: int, confidence: float) -> float:
        """Return the chance of a proposal that the draft gave this probability, which is believed until others tell."""
        place, model = round(_odds(confidence)), self._parent or self
        if place not in self._bin_odds:
            own = model.bins[place].mean(_probability(place), self.WEIGHT / 2.0)
            self._bin_odds[place] = _odds(own) - _odds(model.mean)
        return _probability(self._bin_odds[place] + _odds(self.at(position)))

    @property
    def is_known(self) -> bool:
        """True once the outcomes of the pair outweigh the initial assumption."""
        return self._all.trials > 2.0 * self.WEIGHT if self._parent is None else self._parent.is_known

    def observe(self, proposed: int, accepted: int, sure: Sequence[float] = (), expected: float = 0.0) -> None:
        """Learn from a round of which `expected` tokens were expected (0: nobody did)."""
        for position in range(min(proposed, accepted + 1, MAX_LOOKAHEAD)):  # Behind a rejection nothing was judged.
            right = float(position < accepted)
            self._all.add(right)
            if self._parent is None:
                self.positions[position].add(right)
                if position < len(sure):
                    self.bins[round(_odds(sure[position]))].add(right)
        if expected:
            self._gain.add(accepted + 1.0, expected)
        if self._parent is not None:
            self._parent.observe(proposed, accepted, sure, expected)
        self._settle()

    def fade(self) -> None:
        """Forget a little of this conversation, which goes on without this source."""
        self._all.add(0.0, 0.0)
        self._settle()

    def _settle(self) -> None:
        parent = self._parent
        self.mean: float = self._all.mean(self._prior if parent is None else parent.mean, self._weight)
        self.gain: float = self._gain.mean(1.0, self.WEIGHT) if parent is None else parent.gain
        self._shift = 0.0 if parent is None else _odds(self.mean) - _odds(parent.mean)
        self._by_position: list[float] = []
        self._bin_odds: dict[int, float] = {}

    def to_json(self) -> dict[str, Any]:
        return {"shares": [[share.successes, share.trials] for share in self.shares]}

    @classmethod
    def from_json(cls, data: Any) -> AcceptanceModel:
        """Restore a model from `to_json`, with little weight. Raises ValueError on anything else."""
        model = cls(memory=cls.LONG_MEMORY)
        with suppress(TypeError, KeyError, ValueError, OverflowError):
            for share, (successes, trials) in zip(model.shares, data["shares"], strict=True):
                less = min(1.0, cls.WEIGHT / (trials or cls.WEIGHT))
                share.successes, share.trials = successes * less, trials * less
            if all(0.0 <= share.successes <= MAX_LOOKAHEAD * share.trials for share in model.shares):
                model._settle()
                return model
        raise ValueError("not what an acceptance model wrote")


class ClaimModel(AcceptanceModel):
    """The worth of a source's own estimates, which are probabilities already: by size, a correction of them."""

    WEIGHT = 2.0

    def given(self, position: int, confidence: float) -> float:
        return self.bins[round(_odds(confidence))].mean(confidence, self.WEIGHT)


def _odds(probability: float) -> float:
    bounded = min(max(probability, _LEAST), 1.0 - _LEAST)
    return log(bounded / (1.0 - bounded))


def _probability(odds: float) -> float:
    return min(max(1.0 / (1.0 + exp(-odds)), _LEAST), 1.0 - _LEAST)
