"""From logits to a distribution to a token, as pure functions.

Sources: top-k: Fan et al. 2018; top-p: Holtzman et al. 2020; locally typical: Meister et al. 2023; min-p: Nguyen et al.
2024; repetition penalty: Keskar et al. 2019 (CTRL), section 4.1.
"""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Sequence
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.candidates import Candidates, Weights, quantile, total
from engine.config import SamplingConfig
from engine.errors import DegenerateDistribution, TokenOutOfRange

Purpose = Literal["draft", "accept", "correction", "target"]

_PURPOSES: dict[Purpose, int] = {"draft": 1, "accept": 2, "correction": 3, "target": 4}
_FIRST_CANDIDATES = 1024
"""How many of the best tokens are sorted before a whole vocabulary is (top-p rarely needs more)."""
_SPREAD = 64
"""How many tokens share what top-p leaves out, at a first guess."""
_SAMPLED = 16
"""Every so many-th logit tells where the best ones of a large vocabulary begin."""
_LOWEST, _HIGHEST = -40.0, 70.0
"""Peaks between which no sum of exponentials in float32 overflows or loses what counts."""


def uniform(seed: int, position: int, purpose: Purpose) -> float:
    """A number in [0, 1) that depends on (seed, position, purpose) alone.

    Numbers of different keys are independent, so a token's draw does not depend on how many draws came before it.
    """
    key = struct.pack("<QqB", seed, position, _PURPOSES[purpose])
    bits = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")
    return (bits >> 11) * 2.0**-53


def sample(probs: NDArray[np.float64], u: float) -> int:
    """The token at quantile `u` in [0, 1) of a distribution of shape (vocab_size,). Never one of probability 0.

    `probs` need not sum to 1. Raises DegenerateDistribution where they have no mass or are not numbers.
    """
    return quantile(probs, u)


def best_token(logits: NDArray[np.float32]) -> int:
    """The token of the highest logit, the lowest id on ties. Raises DegenerateDistribution."""
    token = int(logits.argmax())
    _check_peak(float(logits[token]))
    return token


def log_normaliser(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """log(sum(exp(logits))) of each row. Shape (n, vocab_size) gives (n,). Raises DegenerateDistribution."""
    peak = logits.max(axis=-1)
    for value in peak:
        _check_peak(float(value))
    shifted = logits - peak[:, None]
    np.exp(shifted, out=shifted)
    result: NDArray[np.float32] = peak + np.log(shifted.sum(axis=-1))
    return result


def logprob(row: NDArray[np.float32], token: int) -> float:
    """Natural log-probability of a token by a row of shape (vocab_size,). Raises DegenerateDistribution."""
    peak = float(row[row.argmax()])
    _check_peak(peak)
    shift = 0.0 if _LOWEST < peak < _HIGHEST else peak
    weights = np.exp(row - shift if shift else row)
    # einsum adds several times as fast as sum does.
    return float(row[token]) - shift - log(np.einsum("i->", weights))


def top_tokens(logits: NDArray[np.float32], normaliser: float, count: int) -> tuple[tuple[int, float], ...]:
    """The `count` best (token, natural log-probability) of one row, best first."""
    count = min(count, len(logits))
    best = np.argpartition(logits, len(logits) - count)[-count:]
    ordered = best[np.argsort(-logits[best], kind="stable")]
    return tuple((int(token), float(logits[token]) - normaliser) for token in ordered)


def distribution(logits: NDArray[np.float32], config: SamplingConfig, history: Sequence[int]) -> NDArray[np.float64]:
    """The distribution that the next token is drawn from, after all processors.

    `logits`: shape (vocab_size,), not changed. `history`: all tokens before this one, for the penalties.
    Returns shape (vocab_size,), summing to 1. Raises DegenerateDistribution, TokenOutOfRange.
    """
    if config.penalised:
        logits = penalise(logits, config, history)
    if config.logit_bias or config.banned_tokens:
        logits = bias(logits, config)
    if config.greedy:
        probs = np.zeros(len(logits))
        probs[best_token(logits)] = 1.0
        return probs
    peak = float(logits.max())
    _check_peak(peak)
    candidates = _top_k(logits, config.top_k)
    chosen = logits if candidates is None else logits[candidates]
    kept = np.exp((chosen.astype(np.float64) - peak) / config.temperature)
    kept /= kept.sum()
    for limit, off, rule in (
        (config.typical, 1.0, _typical),
        (config.top_p, 1.0, _top_p),
        (config.min_p, 0.0, _min_p),
    ):
        if limit != off:
            kept = np.where(rule(kept, limit), kept, 0.0)
            kept /= kept.sum()
    if candidates is None:
        return kept
    probs = np.zeros(len(logits))
    probs[candidates] = kept
    return probs


def candidates(
    logits: NDArray[np.float32], config: SamplingConfig, history: Sequence[int], size: int | None = None
) -> Candidates:
    """What `distribution` gives, up to the rounding of float32, in the form that is cheapest to draw from.

    `size`: of the vocabulary that the token is for, where that is larger than the number of logits.
    """
    size = size or len(logits)
    if config.penalised:
        logits = penalise(logits, config, history)
    if config.logit_bias or config.banned_tokens:
        logits = bias(logits, config)
    best = best_token(logits)
    if config.greedy:
        return Candidates(size, np.ones(1), np.array([best]))
    if config.typical != 1.0:
        probs = distribution(logits, _shape_only(config), ())
        tokens = np.flatnonzero(probs)
        return Candidates(size, probs[tokens], tokens)
    peak = float(logits[best])
    mass: float | None = None
    if 0 < config.top_k < len(logits):
        tokens = _best(logits, config.top_k)
    elif config.top_p != 1.0:
        tokens, mass = _likely(_weights(logits, peak, config.temperature), config.top_p)
    elif config.min_p:
        margin = 0.001 - config.temperature * log(config.min_p)
        tokens = (logits >= peak - margin).nonzero()[0]
    else:
        return Candidates(size, _weights(logits, peak, config.temperature))
    weights = np.exp((logits[tokens].astype(np.float64) - peak) / config.temperature)
    kept = _cut(weights, config, mass)
    return Candidates(size, weights, tokens) if kept is None else Candidates(size, weights[kept], tokens[kept])


def _shape_only(config: SamplingConfig) -> SamplingConfig:
    """Without what changes the logits."""
    return SamplingConfig(
        config.temperature, config.top_k, top_p=config.top_p, min_p=config.min_p, typical=config.typical
    )


def _weights(logits: NDArray[np.float32], peak: float, temperature: float) -> NDArray[np.float32]:
    """Of each token, the best one's being 1."""
    weights = logits - np.float32(peak)
    if temperature != 1.0:
        weights *= np.float32(1.0 / temperature)
    np.exp(weights, out=weights)
    return weights


def _cut(weights: NDArray[np.float64], config: SamplingConfig, mass: float | None) -> NDArray[np.intp] | None:
    """Places of the weights that top-p and min-p keep, ascending; None: of all. The best one is 1.

    `mass`: the sum over the whole vocabulary, None where there is nothing but these.
    """
    if config.top_p != 1.0:
        falling = np.sort(weights)[::-1]  # Many times as fast as sorting places.
        sums = falling.cumsum()
        wanted = config.top_p * float(sums[-1] if mass is None else mass)
        count = min(int(sums.searchsorted(wanted, "left")) + 1, len(sums))
        kept = _from(weights, falling[count - 1], count)
        return kept[weights[kept] >= config.min_p] if config.min_p else kept
    return (weights >= config.min_p).nonzero()[0] if config.min_p else None


def _likely(weights: Weights, p: float) -> tuple[NDArray[np.intp], float]:
    """Ids, ascending, among which is the smallest set of best tokens whose mass reaches p; and the mass of all."""
    mass = total(weights)
    left_out = (1.0 - p) * mass
    tokens = (weights >= left_out / _SPREAD).nonzero()[0]
    if float(weights[tokens].sum(dtype=np.float64)) <= p * mass:
        # Tokens below this limit have less than what is left out together, whatever the distribution.
        tokens = (weights >= left_out / len(weights)).nonzero()[0]
    return tokens, mass


def _best(logits: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Ids of the k best logits, ascending; the lowest ids on ties."""
    count = len(logits)
    tokens = None
    if count > _SAMPLED * _FIRST_CANDIDATES and k < count // (2 * _SAMPLED):
        few = logits[::_SAMPLED]
        expected = len(few) - 4 - 2 * k // _SAMPLED
        tokens = (logits >= np.partition(few, expected)[expected]).nonzero()[0]
        if len(tokens) < k:
            tokens = None
    chosen = logits if tokens is None else logits[tokens]
    limit = np.partition(chosen, len(chosen) - k)[len(chosen) - k]
    places = _from(chosen, limit, k)
    return places if tokens is None else tokens[places]


def _from(values: Weights, limit: float, count: int) -> NDArray[np.intp]:
    """Places, ascending, of the `count` highest values, of which `limit` is the lowest; the first ones on ties."""
    places: NDArray[np.intp] = (values >= limit).nonzero()[0]
    if len(places) > count:
        above = (values > limit).nonzero()[0]
        equal = (values == limit).nonzero()[0][: count - len(above)]
        places = np.sort(np.concatenate([above, equal]))
    return places


def penalise(logits: NDArray[np.float32], config: SamplingConfig, history: Sequence[int]) -> NDArray[np.float32]:
    """A copy of the logits with the penalties for the tokens of the history's window."""
    counts = Counter(history[-config.penalty_window :] if config.penalty_window else history)
    result = logits.astype(np.float32, copy=True)
    if not counts:
        return result
    tokens = np.array(tuple(counts))
    values = result[tokens]
    if config.repeat_penalty != 1.0:
        values = np.where(values > 0, values / config.repeat_penalty, values * config.repeat_penalty)
    if config.presence_penalty or config.frequency_penalty:
        values = values - config.presence_penalty
        values -= config.frequency_penalty * np.array(tuple(counts.values()), dtype=np.float32)
    result[tokens] = values
    return result


def bias(logits: NDArray[np.float32], config: SamplingConfig) -> NDArray[np.float32]:
    """A copy of the logits with the logit bias added and the banned tokens out of reach. Raises TokenOutOfRange."""
    named = [*(token for token, _ in config.logit_bias), *config.banned_tokens]
    if named and max(named) >= len(logits):
        raise TokenOutOfRange(max(named), len(logits))
    result = logits.astype(np.float32, copy=True)
    for token, amount in config.logit_bias:
        result[token] += amount
    result[list(config.banned_tokens)] = -np.inf
    return result


def _check_peak(peak: float) -> None:
    if not np.isfinite(peak):
        raise DegenerateDistribution("its best logit is not a finite number")


def _top_k(logits: NDArray[np.float32], k: int) -> NDArray[np.intp] | None:
    if not 0 < k < len(logits):
        return None
    return np.sort(np.argpartition(logits, len(logits) - k)[-k:])


def _top_p(probs: NDArray[np.float64], p: float) -> NDArray[np.bool_]:
    """The smallest set of best tokens whose mass reaches p."""
    if len(probs) > 4 * _FIRST_CANDIDATES:
        best = np.argpartition(probs, len(probs) - _FIRST_CANDIDATES)[-_FIRST_CANDIDATES:]
        if float(probs[best].sum()) >= p:
            mask = np.zeros(len(probs), dtype=np.bool_)
            mask[best[_smallest_set(probs[best], -probs[best], p)]] = True
            return mask
    return _smallest_set(probs, -probs, p)


def _typical(probs: NDArray[np.float64], mass: float) -> NDArray[np.bool_]:
    """The smallest set of tokens, nearest to the expected information first, whose mass reaches `mass`."""
    with np.errstate(divide="ignore"):
        information = -np.log(probs)
    positive = probs > 0
    entropy = float((probs[positive] * information[positive]).sum())
    return _smallest_set(probs, np.abs(information - entropy), mass)


def _min_p(probs: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = probs >= share * probs.max()
    return mask


def _smallest_set(probs: NDArray[np.float64], rank: NDArray[np.float64], mass: float) -> NDArray[np.bool_]:
    """Tokens in ascending `rank` until their mass reaches `mass`, the one that crosses it included."""
    order = np.argsort(rank, kind="stable")
    reached = int(np.searchsorted(np.cumsum(probs[order]), mass, side="left"))
    mask = np.zeros(len(probs), dtype=np.bool_)
    mask[order[: reached + 1]] = True
    return mask
