"""Apply the cuts of engine/sampling_rules.def as array operations: the reference for the compiled ones.

Sources: top-n-sigma: Tang et al. 2024; top-k: Fan et al. 2018; top-p: Holtzman et al. 2020; locally typical: Meister et
al. 2023; min-p: Nguyen et al. 2024.
"""

from __future__ import annotations

from math import isfinite, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.config import SamplingConfig
from engine.errors import DegenerateDistribution
from engine.translatable import Translatable

Row = NDArray[np.float32]
Weights = NDArray[np.float32] | NDArray[np.float64]
Tokens = NDArray[np.intp]
Number = type[np.float32] | type[np.float64]

_BLOCK = 128
"""Weights that are added up together before a cumulative sum is made: that one goes entry by entry, and is slow."""
_LARGE = 16_384
"""From this size on a sample of the logits shows the threshold of the best ones."""
_SAMPLED = 16
"""It is every so many-th one."""
_SPREAD = 64
"""The number of tokens that share the mass outside top-p, at a first guess."""
NO_MASS = Translatable("its probabilities sum to zero or are not finite numbers")
NO_PEAK = Translatable("its best logit is not a finite number")


class Choice(NamedTuple):
    """Hold the tokens that may be drawn, ascending (None: all of the row), their weights and the sum of these.

    `normaliser`: log(sum(exp(logits))) of the whole row, where it came along.
    """

    weights: Weights
    tokens: Tokens | None
    mass: float
    normaliser: float | None


def choose(row: Row, sampling: SamplingConfig, number: Number = np.float32) -> Choice:
    """Return the weights exp((logit - best) / temperature) of the tokens that the cuts leave, applied in their order.

    `number`: of the weights where nothing is cut; others are always float64. Raises DegenerateDistribution.
    """
    peak = peak_of(row)
    tokens: Tokens | None = None
    mass: float | None = None
    if sampling.top_n_sigma:
        tokens = _top_n_sigma(row, peak, sampling.top_n_sigma)
    left = row if tokens is None else row[tokens]
    if 0 < sampling.top_k < len(left):
        places = best_places(left, sampling.top_k)
        tokens = places if tokens is None else tokens[places]
    elif tokens is None and sampling.typical == 1.0:  # That one looks at all tokens; for the others a few are enough.
        if sampling.top_p != 1.0:
            tokens, mass = _likely(_weights(row, peak, sampling.temperature, number), sampling.top_p)
        elif sampling.min_p:
            tokens = (row >= peak + sampling.temperature * log(sampling.min_p) - 0.001).nonzero()[0]
        else:
            every = _weights(row, peak, sampling.temperature, number)
            return Choice(every, None, total(every), None)
    weights = np.exp(((row if tokens is None else row[tokens]).astype(np.float64) - peak) / sampling.temperature)
    if sampling.typical != 1.0:
        weights, tokens = _keep(_typical(weights, sampling.typical), weights, tokens)
    if sampling.top_p != 1.0:
        weights, tokens = _keep(_top_p(weights, sampling.top_p, mass), weights, tokens)
    if sampling.min_p:
        weights, tokens = _keep(_min_p(weights, sampling.min_p), weights, tokens)
    return Choice(weights, tokens, total(weights), None)


def _keep(
    places: Tokens, weights: NDArray[np.float64], tokens: Tokens | None
) -> tuple[NDArray[np.float64], Tokens | None]:
    return weights[places], places if tokens is None else tokens[places]


# The rules: which places each one keeps, ascending ------------------------------------------------------------------


def _top_n_sigma(row: Row, peak: float, deviations: float) -> Tokens:
    """Return the places of the logits within this many standard deviations of the best one.

    Impossible tokens do not count.
    """
    sigma = row[row > -np.inf].std(dtype=np.float64)
    places: Tokens = (row >= peak - deviations * sigma).nonzero()[0]
    return places


def _typical(weights: NDArray[np.float64], share: float) -> Tokens:
    """Return the smallest set of tokens, nearest to the expected information first, that has this share of the mass."""
    everything = float(weights.sum())
    with np.errstate(divide="ignore"):
        information = -np.log(weights)
    possible = weights > 0
    expected = float((weights[possible] * information[possible]).sum()) / everything
    order = np.argsort(np.abs(information - expected), kind="stable")
    reached = int(weights[order].cumsum().searchsorted(share * everything, "left"))
    return np.sort(order[: reached + 1])


def _top_p(weights: NDArray[np.float64], share: float, mass: float | None) -> Tokens:
    """Return the smallest set of best tokens that has this share of the mass: that of these, where `mass` is None."""
    falling = np.sort(weights)[::-1]  # Many times as fast as sorting places.
    sums = falling.cumsum()
    wanted = share * float(sums[-1] if mass is None else mass)
    count = min(int(sums.searchsorted(wanted, "left")) + 1, len(sums))
    return _from(weights, falling[count - 1], count)


def _min_p(weights: NDArray[np.float64], share: float) -> Tokens:
    """Return the tokens that have this share of the best one's probability."""
    places: Tokens = (weights >= share * weights.max()).nonzero()[0]
    return places


def best_places(row: Row, k: int) -> Tokens:
    """Return ids of the k best logits, ascending; the lowest ids on ties."""
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
    """Return ascending places of the `count` highest values, the lowest of which is `limit`; the first ones on ties."""
    places: Tokens = (values >= limit).nonzero()[0]
    if len(places) > count:
        above = (values > limit).nonzero()[0]
        tied = (values == limit).nonzero()[0]
        places = np.sort(np.concatenate((above, tied[: count - len(above)])))
    return places


def _likely(weights: Weights, p: float) -> tuple[Tokens, float]:
    """Return ascending ids that include the smallest set of best tokens whose mass reaches p; and the mass of all."""
    mass = total(weights)
    left_out = (1.0 - p) * mass
    tokens = (weights >= left_out / _SPREAD).nonzero()[0]
    if float(weights[tokens].sum(dtype=np.float64)) <= p * mass:
        # Tokens below this limit have less than what is left out together, whatever the distribution.
        tokens = (weights >= left_out / len(weights)).nonzero()[0]
    return tokens, mass


# Numbers ------------------------------------------------------------------------------------------------------------


def peak_of(row: Row) -> float:
    """Return the highest logit. Raises DegenerateDistribution if it is infinite, or any is not a number."""
    # Finding its place is several times as fast as taking the maximum.
    return check_peak(float(row[row.argmax()]))


def check_peak(peak: float) -> float:
    """Return the highest logit, if it is a finite number. Raises DegenerateDistribution."""
    if not isfinite(peak):
        raise DegenerateDistribution(NO_PEAK)
    return peak


def total(weights: Weights) -> float:
    """Return the sum of the weights. Raises DegenerateDistribution if that is 0 or no finite number."""
    # einsum adds several times as fast as sum does, in as many parts as a register has places.
    mass = float(np.einsum("i->", weights))
    if not 0.0 < mass < np.inf:
        raise DegenerateDistribution(NO_MASS)
    return mass


def _weights(row: Row, peak: float, temperature: float, number: Number) -> Weights:
    """Return the weight of each token, the best one's being 1."""
    weights: Weights = np.subtract(row, number(peak), dtype=number)
    if temperature != 1.0:
        weights *= number(1.0 / temperature)
    return np.exp(weights, out=weights)


def quantile(weights: Weights, u: float) -> int:
    """Return the first index at which the weights up to it exceed `u` of their sum (see Rows.quantile)."""
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


def _search(weights: Weights, wanted: float, *, relative: bool) -> tuple[int, float]:
    """Return the first index whose cumulative sum exceeds `wanted`, and the excess of `wanted` over the sum before."""
    sums = weights.cumsum(dtype=np.float64)
    if relative:
        if not 0.0 < sums[-1] < np.inf:
            raise DegenerateDistribution(NO_MASS)
        wanted *= float(sums[-1])
    place = int(sums.searchsorted(wanted, "right"))
    if place == len(weights):  # By rounding.
        place = int(np.flatnonzero(weights)[-1])
    return place, wanted - float(sums[place - 1]) if place else wanted
