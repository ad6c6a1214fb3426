"""Find a model's uncertain tokens: by the probability that the target gave each token of a reply."""

from __future__ import annotations

from bisect import bisect_left
from math import exp
from typing import Literal

from app.state.chat.trace import TokenTrace

Doubt = Literal["", "unsure", "more unsure", "most unsure"]
DOUBTS: tuple[Doubt, ...] = ("most unsure", "more unsure", "unsure", "")
BOUNDS = (0.05, 0.2, 0.5)
"""Probabilities below which a token is most unsure, more unsure, unsure."""
MOST = 10
"""Places that are listed."""


def doubt_of(trace: TokenTrace, index: int) -> Doubt:
    """Measure the target's doubt about a token; none for one that nobody drew."""
    if trace.origin(index) == "forced":
        return ""
    return DOUBTS[bisect_left(BOUNDS, exp(min(trace.logprob_of(index), 0.0)) + 1e-6)]


def least_sure(trace: TokenTrace) -> list[int]:
    """Return the tokens of which the target was least sure, at most MOST, the least sure first."""
    found = [index for index in range(len(trace)) if trace.text_of(index).strip() and doubt_of(trace, index)]
    return sorted(found, key=trace.logprob_of)[:MOST]
