"""From logits to a distribution to a token, as pure functions.

Sources: top-k: Fan et al. 2018; top-p: Holtzman et al. 2020; locally typical: Meister et al. 2023; min-p: Nguyen et al.
2024; repetition penalty: Keskar et al. 2019 (CTRL), section 4.1.
"""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.config import SamplingConfig
from engine.errors import DegenerateDistribution, TokenOutOfRange

Purpose = Literal["draft", "accept", "correction", "target"]

_PURPOSES: dict[Purpose, int] = {"draft": 1, "accept": 2, "correction": 3, "target": 4}
_FIRST_CANDIDATES = 1024
"""How many of the best tokens are sorted before a whole vocabulary is (top-p rarely needs more)."""


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
    cumulative = np.cumsum(probs)
    if not 0.0 < cumulative[-1] < np.inf:
        raise DegenerateDistribution("its probabilities have no mass, or are not finite numbers")
    token = int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))
    if token < len(probs):
        return token
    return int(np.flatnonzero(probs)[-1])


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


def penalise(logits: NDArray[np.float32], config: SamplingConfig, history: Sequence[int]) -> NDArray[np.float32]:
    """A copy of the logits with the penalties for the tokens of the history's window."""
    window = history[-config.penalty_window :] if config.penalty_window else history
    counts = Counter(window)
    result = logits.astype(np.float32, copy=True)
    if not counts:
        return result
    tokens = np.fromiter(counts.keys(), dtype=np.int64)
    times = np.fromiter(counts.values(), dtype=np.float32)
    values = result[tokens]
    values = np.where(values > 0, values / config.repeat_penalty, values * config.repeat_penalty)
    result[tokens] = values - config.presence_penalty - config.frequency_penalty * times
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
