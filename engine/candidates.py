"""A distribution in the form that is cheapest to draw from: weights of the tokens that are left, not normalised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from engine.errors import DegenerateDistribution

Weights = NDArray[np.float32] | NDArray[np.float64]

_BLOCK = 128
"""Weights that are added up together before a cumulative sum is made: that one goes entry by entry, and is slow."""


class Candidates:
    """The distribution of one token over a vocabulary of `len(candidates)` ids.

    `weights`, shape (n,), belong to the ids `tokens`, shape (n,) and ascending, or with None to the ids from 0 on; ids
    beyond have probability 0. `candidates[token]` is a probability. Raises DegenerateDistribution where the weights
    have no mass or are not numbers.
    """

    __slots__ = ("_mass", "_size", "_tokens", "_weights")

    def __init__(self, size: int, weights: Weights, tokens: NDArray[np.intp] | None = None) -> None:
        self._size = size
        self._weights = weights
        self._tokens = tokens
        self._mass = total(weights)

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
    def tokens(self) -> NDArray[np.intp] | None:
        """The ids that may have a probability above 0, or None: any may."""
        return self._tokens

    @property
    def highest(self) -> float:
        """The probability of the likeliest token."""
        return float(self._weights.max()) / self._mass

    def draw(self, u: float) -> int:
        """The token at quantile `u` in [0, 1), in the order of the ids."""
        place = quantile(self._weights, u)
        return place if self._tokens is None else int(self._tokens[place])

    def at(self, tokens: NDArray[np.intp] | None) -> NDArray[np.float64]:
        """The probabilities of some ids, in their order; None: of all, shape (size,)."""
        if tokens is None:
            return self.dense()
        places = tokens if self._tokens is None else self._tokens.searchsorted(tokens)
        places = np.minimum(places, len(self._weights) - 1)
        known = (places if self._tokens is None else self._tokens[places]) == tokens
        return np.where(known, self._weights[places] / self._mass, 0.0)

    def dense(self) -> NDArray[np.float64]:
        """The probabilities of all ids, shape (size,)."""
        probs = np.zeros(self._size)
        probs[slice(len(self._weights)) if self._tokens is None else self._tokens] = self._weights
        probs /= self._mass
        return probs


class Drawn(Sequence[NDArray[np.float64]]):
    """The distributions of a draft's tokens: a sequence of arrays that are only made when they are asked for."""

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


def total(weights: Weights) -> float:
    """Their sum. Raises DegenerateDistribution where that is 0 or no finite number."""
    # einsum adds several times as fast as sum does, in as many parts as a register has places.
    mass = float(np.einsum("i->", weights))
    if not 0.0 < mass < np.inf:
        raise DegenerateDistribution("its probabilities have no mass, or are not finite numbers")
    return mass


def quantile(weights: Weights, u: float) -> int:
    """The first index at which the weights up to it exceed `u` of their sum; never one of weight 0.

    Shape (n,), not normalised; `u` in [0, 1). Raises DegenerateDistribution where they have no mass or are no numbers.
    """
    first, count = 0, len(weights)
    wanted = u
    if count > 4 * _BLOCK:
        whole = count - count % _BLOCK
        sums = np.einsum("ij->i", weights[:whole].reshape(-1, _BLOCK))
        if whole < count:
            sums = np.append(sums, weights[whole:].sum())
        first, wanted = _search(sums, u, relative=True)
        first, count = first * _BLOCK, _BLOCK
        place, _ = _search(weights[first : first + count], wanted, relative=False)
        return first + place
    return _search(weights, u, relative=True)[0]


def _search(weights: Weights, wanted: float, *, relative: bool) -> tuple[int, float]:
    """The first index whose cumulative sum is above `wanted`, and how far `wanted` lies above the sum before it."""
    sums = weights.cumsum(dtype=np.float64)
    if relative:
        if not 0.0 < sums[-1] < np.inf:
            raise DegenerateDistribution("its probabilities have no mass, or are not finite numbers")
        wanted *= float(sums[-1])
    place = int(sums.searchsorted(wanted, "right"))
    if place == len(weights):  # By rounding.
        place = int(np.flatnonzero(weights)[-1])
    return place, wanted - float(sums[place - 1]) if place else wanted
