"""Choose the number of a tree's tokens beside its first path: as many as are worth their verification.

A node is worth the probability that it is reached and accepted (Li et al., "EAGLE-2", 2024, arXiv:2406.16858, section
4.1), by what became of such nodes so far; it costs what one token more in the verification costs, and what its time
would bring elsewhere is what it must bring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul
from typing import Protocol

from engine.checks import MOST_WIDTH
from engine.config import MAX_LOOKAHEAD

_AHEAD = 8
"""Tokens of the first path that are thought through behind a node."""
_HALF = 1.0 / 2.0
"""The probability of a first token beside which a second one is worth most."""


class Chances(Protocol):
    """Estimate chances that proposals are accepted, from earlier outcomes (see engine.lookahead.acceptance)."""

    def at(self, position: int) -> float:
        """Return the chance of the first path's token at a position, before the draft has made it."""

    def given(self, position: int, confidence: float) -> float:
        """Return the chance of a token to which the draft gave this probability."""

    def observe(self, proposed: int, accepted: int, sure: Sequence[float] = ()) -> None:
        """Learn the outcome of proposals with these probabilities."""


class TreePrices:
    """Price a round's time, and choose by it. Tokens beside the first path are leaves.

    `siblings`: returns, by a source's name, the chances of a token whose earlier siblings were all rejected, by the
    draft's share for it of the probability that those left.
    """

    def __init__(self, siblings: Callable[[str], Chances]) -> None:
        self._of_source = siblings
        self.promising = False
        """True if a token beside the first path may be worth its cost in this round."""

    def begin(
        self, rate: float, verify: Callable[[int], float], draft_ms: float, path: Chances, source: str, length: int
    ) -> None:
        """Begin a round in which each millisecond must bring `rate` tokens; 0: no trees in this round.

        `verify`: milliseconds of a verification of so many tokens; `draft_ms`: of one level; `length`: of the first
        path, as it is planned.
        """
        self._rate, self._verify, self._draft_ms = rate, verify, draft_ms
        self._path, self._sibling_chances, self._reach = path, self._of_source(source), 1.0
        best = _HALF * self._sibling_chances.given(0, _HALF)
        self.promising = rate > 0.0 and any(best > cost for cost in self._costs(1 + length))

    def _costs(self, held: int) -> list[float]:
        """Return the least worth of each of one, two, … tokens beside `held` ones, in tokens."""
        more = range(1, min(MOST_WIDTH, MAX_LOOKAHEAD + 2 - held))
        return [self._rate * (self._verify(held + count) - self._verify(held)) / count for count in more]

    def siblings(self, depth: int, nodes: int, shares: Sequence[float]) -> int:
        """Count the tokens beside the next one of the first path, which is at this depth (0: the first).

        `nodes`: of the tree so far. `shares`: the draft's probabilities of the likeliest tokens, best first.
        """
        first = self._path.given(depth, shares[0])
        missed, left = self._reach * (1.0 - first), 1.0 - shares[0]
        self._reach *= first
        worths = list[float]()
        for share in shares[1:]:
            chance = self._sibling_chances.given(0, _part(share, left))
            worths.append(missed * chance)
            missed, left = missed * (1.0 - chance), left - share
        behind = range(depth + 1, min(depth + 1 + _AHEAD, MAX_LOOKAHEAD))
        path = accumulate(map(self._path.at, behind), mul, initial=self._reach)
        later = [worth for worth in [*path][1:] if worth > self._rate * self._draft_ms]
        held = 2 + nodes
        pool = sorted([*worths, *later], reverse=True)[: max(MAX_LOOKAHEAD + 1 - held, 0)]
        gains, begun = accumulate(pool, initial=0.0), self._verify(min(held, MAX_LOOKAHEAD + 1))
        nets = (
            [gain - self._rate * (self._verify(held + more) - begun) for more, gain in enumerate(gains)]
            if pool
            else [0.0]
        )
        best = max(range(len(nets)), key=nets.__getitem__)
        return 0 if not best else sum(worth >= pool[best - 1] for worth in worths)

    def learn(self, shares: Sequence[float], accepted: int | None) -> None:
        """Learn from a place where the first path was rejected: the siblings' probabilities, and which was accepted.

        `shares`: the draft's probabilities of all that stand there, the first one's too; `accepted`: 1 for the second
        one, …; None: none.
        """
        left = 1.0 - shares[0]
        for rank, share in enumerate(shares[1:], 1):
            self._sibling_chances.observe(1, int(rank == accepted), (_part(share, left),))
            left -= share
            if rank == accepted:
                break


def _part(share: float, left: float) -> float:
    """Return a token's share of the probability that those before it left."""
    return min(share / left, 1.0) if left > 0.0 else 1.0
