"""Hold a distribution in the form that is cheapest to draw from: weights of the tokens left, not normalised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from engine.sampling.cuts import Tokens, Weights, quantile, total


class Candidates:
    """Hold the distribution of one token over a vocabulary of `len(candidates)` ids.

    `weights`, shape (n,), belong to the ids `tokens`, shape (n,) and ascending, or with None to the ids from 0 on; ids
    beyond have probability 0. `mass` is their sum, where it is known. `candidates[token]` is a probability. Raises
    DegenerateDistribution where the weights have no mass or are not numbers.

    Attributes: normaliser (log(sum(exp(logits))) of the row of logits that they were made of as it was; None if it
    is not known, or where the logits were changed before).
    """

    __slots__ = ("_mass", "_size", "_tokens", "_weights", "normaliser")

    def __init__(
        self,
        size: int,
        weights: Weights,
        tokens: Tokens | None = None,
        mass: float | None = None,
        normaliser: float | None = None,
    ) -> None:
        self._size = size
        self._weights = weights
        self._tokens = tokens
        self._mass = total(weights) if mass is None else mass
        self.normaliser = normaliser

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, token: int) -> float:
        place = token
        if self._tokens is not None:
            place = int(self._tokens.searchsorted(token))
            if place == len(self._tokens) or self._tokens[place] != token:
                return 0.0
        return float(self._weights[place]) / self._mass if place < len(self._weights) else 0.0

    @property
    def tokens(self) -> Tokens | None:
        """Return the ids that may have a probability above 0, or None: any may."""
        return self._tokens

    @property
    def highest(self) -> float:
        """Return the probability of the likeliest token."""
        return float(self._weights.max()) / self._mass

    def draw(self, u: float, quantile: Callable[[Weights, float], int] = quantile) -> int:
        """Return the token at quantile `u` in [0, 1), in the order of the ids. `quantile`: see Rows."""
        place = quantile(self._weights, u)
        return place if self._tokens is None else int(self._tokens[place])

    def at(self, tokens: Tokens | None) -> NDArray[np.float64]:
        """Return the probabilities of some ids, in their order; None: of all, shape (size,)."""
        if tokens is None:
            return self.dense()
        places = tokens if self._tokens is None else self._tokens.searchsorted(tokens)
        places = np.minimum(places, len(self._weights) - 1)
        known = (places if self._tokens is None else self._tokens[places]) == tokens
        return np.where(known, self._weights[places] / self._mass, 0.0)

    def best(self, count: int) -> list[tuple[int, float]]:
        """Return the `count` likeliest tokens with their probabilities, those above 0, the likeliest first."""
        weights = self._weights
        count = min(count, len(weights))
        places = np.argpartition(weights, len(weights) - count)[len(weights) - count :]
        places = places[np.argsort(-weights[places], kind="stable")]
        tokens = places if self._tokens is None else self._tokens[places]
        shares = weights[places] / self._mass
        return [(int(token), float(share)) for token, share in zip(tokens, shares, strict=True) if share > 0.0]

    def without(self, token: int) -> Candidates | None:
        """Return the distribution without one of its tokens, or None if there is no other."""
        place = token if self._tokens is None else int(self._tokens.searchsorted(token))
        weights = self._weights.copy()
        weights[place] = 0.0
        return Candidates(self._size, weights, self._tokens) if weights.any() else None

    def dense(self) -> NDArray[np.float64]:
        """Return the probabilities of all ids, shape (size,)."""
        probs = np.zeros(self._size)
        probs[slice(len(self._weights)) if self._tokens is None else self._tokens] = self._weights
        probs /= self._mass
        return probs


class Drawn(Sequence[NDArray[np.float64]]):
    """Hold the distributions of a draft's tokens: a sequence of arrays that are only made when they are asked for."""

    def __init__(self, candidates: Iterable[Candidates]) -> None:
        self.candidates = tuple(candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    @overload
    def __getitem__(self, index: int) -> NDArray[np.float64]: ...
    @overload
    def __getitem__(self, index: slice) -> Drawn: ...
    def __getitem__(self, index: int | slice) -> NDArray[np.float64] | Drawn:
        return Drawn(self.candidates[index]) if isinstance(index, slice) else self.candidates[index].dense()
