"""Sample from rows of logits, and judge whole drafts, behind one interface with two implementations.

`NumpyRows` is the reference and works everywhere. A library that was compiled with the functions of
llama_cpp/kernels/rows.cpp offers those (see native_rows), which are several times as fast. Up to the rounding of
float32 both give the same. A backend says which one draws from its logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.config import SamplingConfig
from engine.sampling import cuts
from engine.sampling.candidates import Candidates
from engine.sampling.cuts import Choice, Row, Weights, peak_of
from engine.sampling.masking import Mask, Masks

_LOWEST, _HIGHEST = -40.0, 70.0
"""Peaks between which a sum of exponentials in float32 neither overflows nor loses precision."""

Top = tuple[tuple[int, float], ...]
"""The best (token, natural log-probability) of a row, best first, lower ids first among equals."""


class Proposal(NamedTuple):
    """Hold a drafted token, the distribution that it was drawn from (None: no draw), and its own log-probability."""

    token: int
    probs: Candidates | None
    logprob: float


class Judged(NamedTuple):
    """Hold the judged tokens of a round, the number of proposals among them, and log-probabilities.

    `top`: of each token's row, where it was asked for.
    """

    tokens: list[int]
    kept: int
    logprobs: list[float]
    top: list[Top]


class Sampler(Protocol):
    """Draw and judge by fixed rules and a seed, in one call each. For one model and one thread at a time."""

    def reseed(self, seed: int) -> None:
        """Draw by another seed from now on."""

    def propose(
        self,
        rows: NDArray[np.float32],
        count: int,
        size: int,
        position: int,
        history: Sequence[int] = (),
        behind: Sequence[int] = (),
        *,
        mask: Mask | None = None,
    ) -> Proposal | None:
        """Return the draft's token at `position` of the reply, or None if the model is not sure enough.

        `rows`: shape (1, n), of which the first `count` logits count. `size`: of the vocabulary that the token is for.
        For the penalties: `history`, and `behind` it the rest of the tokens before this one: from one call to the
        next the same list may only grow at its end. `mask`: the tokens that may come, None: any.
        Raises DegenerateDistribution, TokenOutOfRange.
        """

    def certain(self, token: int, size: int) -> Proposal:
        """Return the proposal of a token beside which none may come: nothing is drawn. `size`: as in `propose`."""

    def judge(
        self,
        rows: NDArray[np.float32],
        part: range,
        proposed: Sequence[int],
        records: bytes | None,
        position: int,
        history: Sequence[int] = (),
        *,
        masks: Masks | None = None,
    ) -> Judged:
        """Judge a part of the rows, up to the first token that is no proposal.

        `proposed`: the tokens that belong to the rows from 0 on; `records`: where their distributions are (see
        `records_of`), or None if a proposal is kept if the target draws the same. `position`: of row 0's token in
        the reply. `history`: for the penalties, the tokens before row 0's. `masks`: of the tokens that may come, one
        for each row from 0 on. Raises DegenerateDistribution with the position, TokenOutOfRange.
        """


class Rows(Protocol):
    """Define functions of rows, shape (vocab_size,). All raise DegenerateDistribution if a best logit is not finite."""

    def best(self, row: Row) -> tuple[int, float]:
        """Return the token of the highest logit, the lowest id on ties, and its natural log-probability."""

    def logprob(self, row: Row, token: int) -> float:
        """Return the natural log-probability of a token."""

    def choose(self, row: Row, sampling: SamplingConfig) -> Choice:
        """Return the weights of the tokens that the temperature and the cuts of `sampling` leave.

        Weights are exp((logit - best) / temperature). The penalties and the bias are not looked at.
        """

    def quantile(self, weights: Weights, u: float) -> int:
        """Return the first index at which the weights up to it exceed `u` of their sum; never one of weight 0.

        `u` in [0, 1). Raises DegenerateDistribution if they have no mass or are no numbers.
        """

    def sampler(self, sampling: SamplingConfig, seed: int, least: float = 0.0, top: int = 0) -> Sampler | None:
        """Return the compiled sampler for these rules, or None.

        `least`: a draft's token is not proposed where the likeliest one's probability is below it. `top`: how many of
        each judged row's best tokens are wanted.
        """


class NumpyRows:
    """Apply the rules as array operations (see engine.sampling.cuts)."""

    def best(self, row: Row) -> tuple[int, float]:
        token = int(row.argmax())
        return token, self.logprob(row, token)

    def logprob(self, row: Row, token: int) -> float:
        value = peak_of(row)
        shift = 0.0 if _LOWEST < value < _HIGHEST else value
        weights = np.exp(row - shift if shift else row)
        # einsum adds several times as fast as sum does.
        return float(row[token]) - shift - log(np.einsum("i->", weights))

    def choose(self, row: Row, sampling: SamplingConfig) -> Choice:
        return cuts.choose(row, sampling)

    def quantile(self, weights: Weights, u: float) -> int:
        return cuts.quantile(weights, u)

    def sampler(self, sampling: SamplingConfig, seed: int, least: float = 0.0, top: int = 0) -> None:
        return None


NUMPY: Rows = NumpyRows()
"""The default source of draws."""
