"""Turn logits into a distribution and that into a token, as pure functions.

Source of the repetition penalty: Keskar et al. 2019 (CTRL), section 4.1; of the cuts: see engine.sampling.cuts.
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
from engine.sampling.cuts import best_places, check_peak, choose, peak_of, quantile
from engine.sampling.history import counts
from engine.sampling.masking import Mask, masked
from engine.sampling.rows import NUMPY, Rows

Purpose = Literal["draft", "accept", "correction", "target"]

_PURPOSES: dict[Purpose, int] = {"draft": 1, "accept": 2, "correction": 3, "target": 4}


def uniform(seed: int, position: int, purpose: Purpose, branch: int = 0) -> float:
    """Return a number in [0, 1) that depends on (seed, position, purpose, branch) alone.

    Numbers of different keys are independent, so a token's draw does not depend on how many draws came before it.
    `branch`: where there are several tokens for one position, which of them.
    """
    key = struct.pack("<QqB", seed, position, _PURPOSES[purpose])
    if branch:
        key += struct.pack("<Q", branch)
    bits = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")
    return (bits >> 11) * 2.0**-53


def round_seed(seed: int, number: int) -> int:
    """Return the seed for the draft's draws in one round, a whole number below 2^64.

    A position that is drafted again, in a later round, gets another number: what was proposed and dropped there may
    have had a say in how many tokens are proposed now.
    """
    key = struct.pack("<QQ", seed, number)
    return int.from_bytes(hashlib.blake2b(key, digest_size=8, person=b"round").digest(), "little")


def sample(probs: NDArray[np.float64], u: float) -> int:
    """Return the token at quantile `u` in [0, 1) of a distribution of shape (vocab_size,). Never one of probability 0.

    `probs` need not sum to 1. Raises DegenerateDistribution if they have no mass or are not numbers.
    """
    return quantile(probs, u)


def best_token(logits: NDArray[np.float32]) -> int:
    """Return the token of the highest logit, the lowest id on ties. Raises DegenerateDistribution."""
    token = int(logits.argmax())
    check_peak(float(logits[token]))
    return token


def log_normaliser(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """log(sum(exp(logits))) of each row. Shape (n, vocab_size) gives (n,). Raises DegenerateDistribution."""
    peak = np.array([peak_of(row) for row in logits], dtype=np.float32)
    shifted = logits - peak[:, None]
    np.exp(shifted, out=shifted)
    result: NDArray[np.float32] = peak + np.log(shifted.sum(axis=-1))
    return result


def logprob(row: NDArray[np.float32], token: int, found: Candidates | None = None, rows: Rows = NUMPY) -> float:
    """Return the natural log-probability of a token by a row of shape (vocab_size,). Raises DegenerateDistribution.

    `found`: candidates that were made of this row; they may know what all tokens have in common.
    """
    if found is None or found.normaliser is None:
        return rows.logprob(row, token)
    return float(row[token]) - found.normaliser


def top_tokens(logits: NDArray[np.float32], normaliser: float, count: int) -> tuple[tuple[int, float], ...]:
    """Return the `count` best (token, natural log-probability) of one row, best first, lower ids first among equals."""
    best = best_places(logits, min(count, len(logits)))
    ordered = best[np.argsort(-logits[best], kind="stable")]
    return tuple((int(token), float(logits[token]) - normaliser) for token in ordered)


def distribution(logits: NDArray[np.float32], config: SamplingConfig, history: Sequence[int]) -> NDArray[np.float64]:
    """Return the distribution that the next token is drawn from, after all processors.

    `logits`: shape (vocab_size,), not changed. `history`: all tokens before this one, for the penalties.
    Returns shape (vocab_size,), summing to 1. Raises DegenerateDistribution, TokenOutOfRange.
    """
    logits = _reshaped(logits, config, history)
    probs = np.zeros(len(logits))
    if config.greedy:
        probs[best_token(logits)] = 1.0
        return probs
    weights, tokens, mass, _ = choose(logits, config, np.float64)
    probs[slice(None) if tokens is None else tokens] = weights
    probs /= mass
    return probs


def candidates(
    logits: NDArray[np.float32],
    config: SamplingConfig,
    history: Sequence[int],
    size: int | None = None,
    rows: Rows = NUMPY,
    mask: Mask | None = None,
) -> Candidates:
    """Compute `distribution`, up to the rounding of float32, in the form that is cheapest to draw from.

    `size`: of the vocabulary that the token is for, where that is larger than the number of logits. `mask`: the tokens
    that may come (see engine.sampling.masking).
    """
    size, row = size or len(logits), logits
    logits = _reshaped(logits, config, history)
    if mask is not None:
        logits = masked(logits, mask)
    if config.greedy:
        return Candidates(size, np.ones(1), np.array([best_token(logits)]))
    weights, chosen, mass, normaliser = rows.choose(logits, config)
    return Candidates(size, weights, chosen, mass, normaliser if logits is row else None)


def _reshaped(logits: NDArray[np.float32], config: SamplingConfig, history: Sequence[int]) -> NDArray[np.float32]:
    """Return the logits after penalties, bias and bans."""
    if config.penalised:
        logits = penalise(logits, config, history)
    if config.logit_bias or config.banned_tokens:
        logits = bias(logits, config)
    return logits


def penalise(logits: NDArray[np.float32], config: SamplingConfig, history: Sequence[int]) -> NDArray[np.float32]:
    """Return a copy of the logits with the penalties for the tokens of the history's window."""
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
    """Return a copy of the logits with the logit bias added and the banned tokens out of reach.

    Raises TokenOutOfRange.
    """
    named = [*(token for token, _ in config.logit_bias), *config.banned_tokens]
    if named and max(named) >= len(logits):
        raise TokenOutOfRange(max(named), len(logits))
    result = logits.astype(np.float32, copy=True)
    for token, amount in config.logit_bias:
        result[token] += amount
    result[list(config.banned_tokens)] = -np.inf
    return result
