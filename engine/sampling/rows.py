"""What drawing a token needs of one row of logits, behind one interface with two implementations.

`NumpyRows` works everywhere. A backend whose library was compiled with the functions of llama_cpp/kernels/rows.cpp
offers those (see native_rows), which are several times as fast. Up to the rounding of float32 both give the same.
"""

from __future__ import annotations

from math import isfinite, log
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.errors import DegenerateDistribution
from engine.translatable import Phrase

if TYPE_CHECKING:
    from engine.config import SamplingConfig
    from engine.sampling.native_draw import NativeSampler

Row = NDArray[np.float32]
Weights = NDArray[np.float32] | NDArray[np.float64]
Tokens = NDArray[np.intp]

_BLOCK = 128
"""Weights that are added up together before a cumulative sum is made: that one goes entry by entry, and is slow."""
_LARGE = 16_384
"""From this size on a sample of the logits tells where the best ones begin."""
_SAMPLED = 16
"""It is every so many-th one."""
_SPREAD = 64
"""How many tokens share what top-p leaves out, at a first guess."""
_LOWEST, _HIGHEST = -40.0, 70.0
"""Peaks between which no sum of exponentials in float32 overflows or loses what counts."""
NO_MASS = Phrase("its probabilities sum to zero or are not finite numbers")
NO_PEAK = Phrase("its best logit is not a finite number")


class Cuts(NamedTuple):
    """What changes a distribution and cuts it: see SamplingConfig. `top_k` 0, `top_p` 1 and `min_p` 0 cut nothing."""

    temperature: float
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0


class Choice(NamedTuple):
    """The tokens that may be drawn, ascending (None: all of the row), their weights and the sum of these.

    `normaliser`: log(sum(exp(logits))) of the whole row, where it came along.
    """

    weights: Weights
    tokens: Tokens | None
    mass: float
    normaliser: float | None


class Rows(Protocol):
    """Rows have shape (vocab_size,). All raise DegenerateDistribution where a best logit is no finite number."""

    def best(self, row: Row) -> tuple[int, float]:
        """The token of the highest logit, the lowest id on ties, and its natural log-probability."""

    def logprob(self, row: Row, token: int) -> float:
        """Natural log-probability of a token."""

    def choose(self, row: Row, cuts: Cuts) -> Choice:
        """The weights exp((logit - best) / temperature) of the tokens that top-k, then top-p and min-p leave."""

    def quantile(self, weights: Weights, u: float) -> int:
        """The first index at which the weights up to it exceed `u` of their sum; never one of weight 0.

        `u` in [0, 1). Raises DegenerateDistribution where they have no mass or are no numbers.
        """

    def sampler(self, sampling: SamplingConfig, seed: int, least: float = 0.0, top: int = 0) -> NativeSampler | None:
        """What draws and judges by these rules in one call, or None where nothing does (see NativeSampler)."""


class NumpyRows:
    """The rules as array operations."""

    def best(self, row: Row) -> tuple[int, float]:
        token = int(row.argmax())
        return token, self.logprob(row, token)

    def logprob(self, row: Row, token: int) -> float:
        value = peak_of(row)
        shift = 0.0 if _LOWEST < value < _HIGHEST else value
        weights = np.exp(row - shift if shift else row)
        # einsum adds several times as fast as sum does.
        return float(row[token]) - shift - log(np.einsum("i->", weights))

    def choose(self, row: Row, cuts: Cuts) -> Choice:
        peak = peak_of(row)
        mass: float | None = None
        if 0 < cuts.top_k < len(row):
            tokens = best_places(row, cuts.top_k)
        elif cuts.top_p != 1.0:
            tokens, mass = _likely(_weights(row, peak, cuts.temperature), cuts.top_p)
        elif cuts.min_p:
            margin = 0.001 - cuts.temperature * log(cuts.min_p)
            tokens = (row >= peak - margin).nonzero()[0]
        else:
            every = _weights(row, peak, cuts.temperature)
            return Choice(every, None, total(every), None)
        weights = np.exp((row[tokens].astype(np.float64) - peak) / cuts.temperature)
        kept = _cut(weights, cuts, mass)
        if kept is not None:
            weights, tokens = weights[kept], tokens[kept]
        return Choice(weights, tokens, total(weights), None)

    def quantile(self, weights: Weights, u: float) -> int:
        count = len(weights)
        if count <= 4 * _BLOCK:
            return _search(weights, u, relative=True)[0]
        whole = count - count % _BLOCK
        sums = np.einsum("ij->i", weights[:whole].reshape(-1, _BLOCK))
        if whole < count:
            sums = np.append(sums, weights[whole:].sum())
        block, wanted = _search(sums, u, relative=True)
        first = block * _BLOCK
        return first + _search(weights[first : first + _BLOCK], wanted, relative=False)[0]

    def sampler(self, sampling: SamplingConfig, seed: int, least: float = 0.0, top: int = 0) -> None:
        return None


class _InUse:
    """The implementation that all drawing goes through."""

    rows: Rows = NumpyRows()


def use(rows: Rows) -> Rows:
    """From now on draw with these; gives the ones before."""
    before = _InUse.rows
    _InUse.rows = rows
    return before


def rows_in_use() -> Rows:
    """What draws now."""
    return _InUse.rows


def peak_of(row: Row) -> float:
    """The highest logit. Raises DegenerateDistribution where it is no finite number, or any is no number."""
    # Finding its place is several times as fast as taking the maximum.
    return check_peak(float(row[row.argmax()]))


def check_peak(peak: float) -> float:
    """The highest logit, if it is a finite number. Raises DegenerateDistribution."""
    if not isfinite(peak):
        raise DegenerateDistribution(NO_PEAK)
    return peak


def total(weights: Weights) -> float:
    """Their sum. Raises DegenerateDistribution where that is 0 or no finite number."""
    # einsum adds several times as fast as sum does, in as many parts as a register has places.
    mass = float(np.einsum("i->", weights))
    if not 0.0 < mass < np.inf:
        raise DegenerateDistribution(NO_MASS)
    return mass


def _weights(row: Row, peak: float, temperature: float) -> NDArray[np.float32]:
    """Of each token, the best one's being 1."""
    weights = row - np.float32(peak)
    if temperature != 1.0:
        weights *= np.float32(1.0 / temperature)
    np.exp(weights, out=weights)
    return weights


def _cut(weights: NDArray[np.float64], cuts: Cuts, mass: float | None) -> Tokens | None:
    """Places of the weights that top-p and min-p keep, ascending; None: of all. The best one is 1.

    `mass`: the sum over the whole vocabulary, None where there is nothing but these.
    """
    if cuts.top_p != 1.0:
        falling = np.sort(weights)[::-1]  # Many times as fast as sorting places.
        sums = falling.cumsum()
        wanted = cuts.top_p * float(sums[-1] if mass is None else mass)
        count = min(int(sums.searchsorted(wanted, "left")) + 1, len(sums))
        kept = _from(weights, falling[count - 1], count)
        return kept[weights[kept] >= cuts.min_p] if cuts.min_p else kept
    return (weights >= cuts.min_p).nonzero()[0] if cuts.min_p else None


def _likely(weights: Weights, p: float) -> tuple[Tokens, float]:
    """Ids, ascending, among which is the smallest set of best tokens whose mass reaches p; and the mass of all."""
    mass = total(weights)
    left_out = (1.0 - p) * mass
    tokens = (weights >= left_out / _SPREAD).nonzero()[0]
    if float(weights[tokens].sum(dtype=np.float64)) <= p * mass:
        # Tokens below this limit have less than what is left out together, whatever the distribution.
        tokens = (weights >= left_out / len(weights)).nonzero()[0]
    return tokens, mass


def best_places(row: Row, k: int) -> Tokens:
    """Ids of the k best logits, ascending; the lowest ids on ties."""
    count = len(row)
    tokens = None
    if count > _LARGE and k < count // (2 * _SAMPLED):
        few = row[::_SAMPLED]
        expected = len(few) - 4 - 2 * k // _SAMPLED
        tokens = (row >= np.partition(few, expected)[expected]).nonzero()[0]
        if len(tokens) < k:
            tokens = None
    chosen = row if tokens is None else row[tokens]
    limit = np.partition(chosen, len(chosen) - k)[len(chosen) - k]
    places = _from(chosen, limit, k)
    return places if tokens is None else tokens[places]


def _from(values: Weights, limit: float, count: int) -> Tokens:
    """Places, ascending, of the `count` highest values, of which `limit` is the lowest; the first ones on ties."""
    places: Tokens = (values >= limit).nonzero()[0]
    if len(places) > count:
        above = (values > limit).nonzero()[0]
        tied = (values == limit).nonzero()[0]
        places = np.sort(np.concatenate((above, tied[: count - len(above)])))
    return places


def _search(weights: Weights, wanted: float, *, relative: bool) -> tuple[int, float]:
    """The first index whose cumulative sum is above `wanted`, and how far `wanted` lies above the sum before it."""
    sums = weights.cumsum(dtype=np.float64)
    if relative:
        if not 0.0 < sums[-1] < np.inf:
            raise DegenerateDistribution(NO_MASS)
        wanted *= float(sums[-1])
    place = int(sums.searchsorted(wanted, "right"))
    if place == len(weights):  # By rounding.
        place = int(np.flatnonzero(weights)[-1])
    return place, wanted - float(sums[place - 1]) if place else wanted
