"""From logits to a distribution to a token, as pure functions.

Sources: top-k: Fan et al. 2018; top-p: Holtzman et al. 2020; locally typical: Meister et al. 2023; min-p: Nguyen et al.
2024; repetition penalty: Keskar et al. 2019 (CTRL), section 4.1.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.config import SamplingConfig
from engine.errors import TokenOutOfRange
from engine.sampling.candidates import Candidates
from engine.sampling.history import counts
from engine.sampling.rows import Cuts, best_places, check_peak, peak_of, rows_in_use

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
    return rows_in_use().quantile(probs, u)


def best_token(logits: NDArray[np.float32]) -> int:
    """The token of the highest logit, the lowest id on ties. Raises DegenerateDistribution."""
    token = int(logits.argmax())
    check_peak(float(logits[token]))
    return token


def best_with_logprob(row: NDArray[np.float32]) -> tuple[int, float]:
    """The best token of a row of shape (vocab_size,) and its natural log-probability. Raises DegenerateDistribution."""
    return rows_in_use().best(row)


def log_normaliser(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """log(sum(exp(logits))) of each row. Shape (n, vocab_size) gives (n,). Raises DegenerateDistribution."""
    peak = np.array([peak_of(row) for row in logits], dtype=np.float32)
    shifted = logits - peak[:, None]
    np.exp(shifted, out=shifted)
    result: NDArray[np.float32] = peak + np.log(shifted.sum(axis=-1))
    return result


def logprob(row: NDArray[np.float32], token: int, found: Candidates | None = None) -> float:
    """Natural log-probability of a token by a row of shape (vocab_size,). Raises DegenerateDistribution.

    `found`: candidates that were made of this row; they may know what all tokens have in common.
    """
    if found is None or found.normaliser is None:
        return rows_in_use().logprob(row, token)
    return float(row[token]) - found.normaliser


def top_tokens(logits: NDArray[np.float32], normaliser: float, count: int) -> tuple[tuple[int, float], ...]:
    """The `count` best (token, natural log-probability) of one row, best first, lower ids first among equals."""
    best = best_places(logits, min(count, len(logits)))
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
    peak = peak_of(logits)
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
    size, row = size or len(logits), logits
    if config.penalised:
        logits = penalise(logits, config, history)
    if config.logit_bias or config.banned_tokens:
        logits = bias(logits, config)
    if config.greedy:
        return Candidates(size, np.ones(1), np.array([best_token(logits)]))
    if config.typical != 1.0:
        probs = distribution(logits, _shape_only(config), ())
        tokens = np.flatnonzero(probs)
        return Candidates(size, probs[tokens], tokens)
    cuts = Cuts(config.temperature, config.top_k, config.top_p, config.min_p)
    weights, chosen, mass, normaliser = rows_in_use().choose(logits, cuts)
    return Candidates(size, weights, chosen, mass, normaliser if logits is row else None)


def _shape_only(config: SamplingConfig) -> SamplingConfig:
    """Without what changes the logits."""
    return SamplingConfig(
        config.temperature, config.top_k, top_p=config.top_p, min_p=config.min_p, typical=config.typical
    )


def penalise(logits: NDArray[np.float32], config: SamplingConfig, history: Sequence[int]) -> NDArray[np.float32]:
    """A copy of the logits with the penalties for the tokens of the history's window."""
    tokens, numbers = counts(history, config.penalty_window)
    result = logits.astype(np.float32, copy=True)
    if not len(tokens):
        return result
    values = result[tokens]
    if config.repeat_penalty != 1.0:
        values = np.where(values > 0, values / config.repeat_penalty, values * config.repeat_penalty)
    if config.presence_penalty or config.frequency_penalty:
        values = values - config.presence_penalty
        values -= config.frequency_penalty * numbers
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
