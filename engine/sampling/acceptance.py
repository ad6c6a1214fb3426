"""Define the acceptance rules, as pure functions over arrays and given random numbers.

Source: Leviathan, Kalman and Matias, "Fast Inference from Transformers via Speculative Decoding" (2023), section 2.3,
and Chen et al., "Accelerating Large Language Model Decoding with Speculative Sampling" (2023), algorithm 2. For the
rule for several proposals at one position: Miao et al., "SpecInfer" (2023), algorithm 2, with the draws without
replacement of Jeon et al., "Recursive Speculative Decoding" (2024), section 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.errors import DegenerateDistribution, TokenOutOfRange
from engine.translatable import Translatable

Distribution = NDArray[np.float64]


class Probabilities(Protocol):
    """Define a token's probability by index: an array of shape (vocab_size,), or a stand-in for one."""

    def __len__(self) -> int: ...
    def __getitem__(self, token: int, /) -> Any: ...


def accept(token: int, draft_probs: Probabilities, target_probs: Probabilities, u: float) -> bool:
    """Return True if a token drawn from `draft_probs` is kept.

    Both have shape (vocab_size,) and sum to 1; `u` is uniform in [0, 1). Kept with probability
    min(1, target / draft). A token that the draft gives no probability is rejected, as is one that the target
    gives none. Raises TokenOutOfRange.
    """
    if not 0 <= token < len(draft_probs):
        raise TokenOutOfRange(token, len(draft_probs))
    drafted = float(draft_probs[token])
    return drafted > 0.0 and u < float(target_probs[token]) / drafted


def residual_distribution(target_probs: Distribution, draft_probs: Distribution) -> Distribution:
    """Return the distribution of the correction after a rejection: max(0, target - draft), normalised.

    Shape (vocab_size,). Where it has no mass (the two are equal up to rounding) the target's own is given.
    Raises DegenerateDistribution if one of the two is not made of numbers.
    """
    residual = np.maximum(target_probs - draft_probs, 0.0)
    mass = float(residual.sum())
    if not np.isfinite(mass):
        raise DegenerateDistribution(Translatable("a probability is not a finite number"))
    return residual / mass if mass > 0.0 else np.array(target_probs, dtype=np.float64)


def accept_sibling(
    siblings: Iterable[tuple[int | None, Distribution, float]], target_probs: Distribution
) -> tuple[int | None, Distribution]:
    """Return the accepted token of those proposed at one position, or None, and the residual.

    A sibling is its index in the arrays (None: the target gives it no probability), the distribution that it was drawn
    from, given those before it, and its own uniform number in [0, 1). All distributions have the shape of
    `target_probs`, (n,); drawn without replacement, each is that of the first without the tokens before, normalised. A
    sibling is verified against the residual: the target's distribution after the rejections before it. If none is
    accepted, the correction is drawn from the residual. Tokens are thus distributed as the target's own.
    Raises DegenerateDistribution.
    """
    left = target_probs
    for index, (token, draft_probs, u) in enumerate(siblings):
        drafted = 0.0 if token is None else float(draft_probs[token])
        if token is not None and drafted > 0.0 and u < float(left[token]) / drafted:
            return index, left
        left = residual_distribution(left, draft_probs)
    return None, left
