"""What a round costs here: the time of a draft token, and of a target forward of n tokens with n rows."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import exp, log
from typing import Any, Self

from engine.config import MAX_LOOKAHEAD

_FORMAT = 1
_CAUTIOUS_COSTS = ((1, 1.0), (2, 1.85), (3, 2.1), (4, 2.45), (5, 2.9), (9, 4.6), (17, 8.5), (33, 15.8))
"""Measured: 0.5 B weights in Q8_0 on two cores with llama.cpp's own products; our kernels cost far less."""
_UNKNOWN_DRAFT = 0.2
"""Times of one target token that a draft token is taken to cost before one was timed."""
QUICK_MS = 3.0
"""Where a plain token takes less, what else is done in a round is felt, and so is a change of size."""

_LONGEST_MS = 1e9

# Residuals are logarithms of measured / expected.
_NOISE = 0.15
"""Residuals up to here are noise and drift; beyond, somebody took the core, or the cost has changed."""
_FOLLOW, _FOLLOW_CHANGE = 0.25, 0.5
"""How much of an ordinary residual, and of one that has been confirmed, the common factor takes."""
_STRAY = 0.025
"""How much it takes of a residual beyond the noise that nothing confirms yet: so much, whatever its size."""
_OWN_SHARE = 0.125
"""What the value of a size takes, in shares of what the common factor takes."""
_OWN_CHANGE = 0.6
"""How much of a confirmed residual a size takes that has changed alone."""
_OFTEN = 3
"""So many observations of a size in a row must be beyond the noise before it has changed alone."""
_SURELY_LOWER = 0.3
"""One that is as low as that is enough: nothing is faster by chance."""
_YOUNG = 4
"""Observations until a size's own value is settled."""
_FIRST_AT_MOST = 2.0
"""A size's first observation counts at most as so many times what was expected, and as a quarter of it at least."""
_STALE = 0.02
"""How far measured values may move before those that lie between are worked out again."""


def cautious_cost(n: int) -> float:
    """What a verification of `n` tokens costs with Q8_0 weights on a processor, in times of one token.

    With llama.cpp's own products, not those of llama_cpp/kernels, so dearer than most others. Between the measured
    sizes, a line.
    """
    low, high = next((pair for pair in pairwise(_CAUTIOUS_COSTS) if n <= pair[1][0]), _CAUTIOUS_COSTS[-2:])
    return low[1] + (high[1] - low[1]) * (n - low[0]) / (high[0] - low[0])


class CostModel:
    """Expected times of the next round's parts, in milliseconds: started from a calibration, kept right by each round.

    *Sizes.* The cost climbs in steps and is not even monotone, so measured sizes count as they are. One between two
    measured ones has the cost per token that lies between theirs, but costs no less than the smaller one and no more
    than the dearer one. Beyond the largest, costs grow at the pace measured up to there, within half and five
    quarters of what `cautious_cost` says; below the smallest, and with one size only, they have its proportions.

    *Time.* What slows all sizes (a hot or shared processor, a longer context) is a common factor that every
    observation moves, quickly; the value of its own size moves slowly beside it. A residual beyond the noise moves
    almost nothing until it is confirmed: by the two observations before it, then the common factor takes it; or by
    other sizes that cost what they did, then its own size changes alone (after three such observations of it, or a
    single very low one, since nothing is faster by chance). Where one size alone moved the common factor and the next
    other size says that nothing has changed, the change is handed over to the size that it came from.

    With nothing known the times are those of `cautious_cost`, and only their proportions mean anything. `verify_ms`
    are times by size (1..MOST), `draft_ms` of one draft token. Raises ValueError where they are not positive numbers.
    """

    MOST = MAX_LOOKAHEAD + 1

    def __init__(self, verify_ms: Mapping[int, float] | None = None, draft_ms: float | None = None) -> None:
        for size, milliseconds in (verify_ms or {}).items():
            if not 1 <= size <= self.MOST or not _is_time(milliseconds):
                raise ValueError(f"no cost of a size: {size!r}: {milliseconds!r}")
        if draft_ms is not None and not _is_time(draft_ms):
            raise ValueError(f"no cost of a draft token: {draft_ms!r}")
        self._own = dict(sorted((size, float(milliseconds)) for size, milliseconds in (verify_ms or {}).items()))
        """By size, the time at a common factor of 1."""
        self._seen = dict.fromkeys(self._own, _YOUNG)
        """By size, how often it was observed, up to _YOUNG."""
        self._common = 1.0
        self._mover, self._moved = 0, 0.0
        """The size observed last, and how far it moved the common factor since another one was observed."""
        self._last = (0.0, 0.0)
        """The residuals of the last two observations of any size."""
        self._beyond: dict[int, int] = {}
        """By size, how many of its last observations were beyond the noise: above 0 too high, below 0 too low."""
        self._waiting: tuple[int, float] | None = None
        """A size and its residual, which wait for what the next size costs."""
        self._table: list[float] = []
        """By size (0 unused), the time at a common factor of 1, measured or not; empty: to be made anew."""
        self._stale = 0.0
        self._draft = None if draft_ms is None else float(draft_ms)
        self._draft_last = (0.0, 0.0)

    # Asked before a round -------------------------------------------------------------------------------------------

    def verify(self, n: int) -> float:
        """Expected milliseconds of a target forward of `n` (1..MOST) tokens with n rows; above 0."""
        own = self._own.get(n)
        return ((self._table or self._fill())[n] if own is None else own) * self._common

    def draft(self) -> float:
        """Expected milliseconds of one more draft token; above 0."""
        return self.verify(1) * _UNKNOWN_DRAFT if self._draft is None else self._draft

    def knows(self, n: int) -> bool:
        """Whether a forward of `n` tokens was measured."""
        return n in self._own

    @property
    def knows_draft(self) -> bool:
        """Whether a draft token was measured."""
        return self._draft is not None

    def _fill(self) -> list[float]:
        """Make the table: what is measured, and what lies between and beyond."""
        known = list(self._own.items())
        self._stale = 0.0
        if not known:
            self._table = [cautious_cost(max(n, 1)) for n in range(self.MOST + 1)]
            return self._table
        first, first_ms = known[0]
        table = [first_ms / cautious_cost(first) * cautious_cost(max(n, 1)) for n in range(first)]
        for low, high in pairwise(known):
            table.extend(_between(n, low, high) for n in range(low[0], high[0]))
        table.extend(_beyond(n, known) for n in range(known[-1][0], self.MOST + 1))
        self._table = table
        return table

    # Told after a round ---------------------------------------------------------------------------------------------

    def observe_verify(self, n: int, ms: float) -> None:
        """A target forward of `n` tokens took `ms` milliseconds. Passed over where that is no time (0, infinite)."""
        if not 1 <= n <= self.MOST or not _is_time(ms):
            return
        residual = log(ms / self.verify(n))
        seen = self._seen.get(n, 0)
        self._seen[n] = min(seen + 1, _YOUNG)
        if not seen:
            self._start(n, ms, residual)
            return
        if n != self._mover and seen == _YOUNG:
            residual = self._hand_over(n, residual)
        self._confirm(n, residual)
        if seen < _YOUNG:
            # Of few observations the low ones are right.
            self._move(n, residual * (0.7 if residual < 0.0 else 1.0 / (seen + 1)))
        else:
            self._follow(n, residual)
        self._last = self._last[1], residual

    def _start(self, n: int, ms: float, residual: float) -> None:
        """The first observation of a size. If it is dear that may be chance, so half of it waits for the next."""
        if self._own:
            limit = log(_FIRST_AT_MOST)
            counted = residual / 2.0 if residual > 2.0 * _NOISE else residual
            ms = self.verify(n) * exp(max(-2.0 * limit, min(counted, limit)))
        self._own[n] = ms / self._common
        self._own = dict(sorted(self._own.items()))
        self._table = []

    def _hand_over(self, n: int, residual: float) -> float:
        """Another size than before: was what moved the common factor a change of that size alone? What is left of it.

        A residual against the move says so, as far as the move goes.
        """
        mover, moved = self._mover, self._moved
        self._mover, self._moved = n, 0.0
        against = min(abs(residual), abs(moved))
        if abs(residual) <= _NOISE or against <= _NOISE or residual * moved > 0.0:
            return residual
        if moved < 0.0:
            against = -against
        self._common *= exp(-against)
        self._move(mover, against)
        return residual + against

    def _confirm(self, n: int, residual: float) -> None:
        """What waits becomes its size's own change if this other size costs what it did."""
        if self._waiting is None or self._waiting[0] == n:
            return
        size, waiting = self._waiting
        self._waiting = None
        if residual * waiting <= 0.0 or abs(residual) < min(_NOISE, abs(waiting) / 2.0):
            self._move(size, waiting * _OWN_CHANGE)

    def _follow(self, n: int, residual: float) -> None:
        """An observation of a size that has a settled value."""
        share = _share(residual, self._last)
        self._common *= exp(share)
        self._moved += share
        self._move(n, share * _OWN_SHARE)
        sign = 0 if abs(residual) <= _NOISE else 1 if residual > 0.0 else -1
        before = self._beyond.get(n, 0)
        often = 0 if not sign else before + sign if before * sign > 0 else sign
        self._beyond[n] = often
        if sign and abs(share) > _STRAY:
            self._waiting = None
        elif abs(often) >= _OFTEN or residual < -_SURELY_LOWER:
            self._waiting = n, residual

    def _move(self, n: int, by: float) -> None:
        self._own[n] *= exp(by)
        self._stale += abs(by)
        if self._stale > _STALE:
            self._table = []

    def observe_draft(self, tokens: int, ms: float) -> None:
        """Drafting `tokens` tokens took `ms` milliseconds in all. None, and a time that is none, are passed over."""
        if tokens < 1 or not _is_time(ms):
            return
        each = ms / tokens
        if self._draft is None:
            self._draft = each
            return
        residual = log(each / self._draft)
        self._draft *= exp(_share(residual, self._draft_last))
        self._draft_last = self._draft_last[1], residual

    # Kept -----------------------------------------------------------------------------------------------------------

    @property
    def measured(self) -> dict[int, float]:
        """The times of the measured sizes as they are expected now, smallest size first."""
        return {size: own * self._common for size, own in self._own.items()}

    def to_json(self) -> dict[str, Any]:
        """What is known, for `from_json`: {"format", "verify_ms": {"1": …}, "draft_ms": … | null}."""
        times = {str(size): milliseconds for size, milliseconds in self.measured.items()}
        return {"format": _FORMAT, "verify_ms": times, "draft_ms": self._draft}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The model that `to_json` described. Raises ValueError where `data` is something else."""
        if not isinstance(data, dict) or data.get("format") != _FORMAT or not isinstance(data.get("verify_ms"), dict):
            raise ValueError("not the costs of a pair")
        verify_ms = {int(size): milliseconds for size, milliseconds in data["verify_ms"].items()}
        return cls(verify_ms, data.get("draft_ms"))


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.0 < value < _LONGEST_MS


def _share(residual: float, last: tuple[float, float]) -> float:
    """How far a residual moves an estimate, after the `last` two before it."""
    if -_NOISE <= residual <= _NOISE:
        return residual * _FOLLOW
    if residual > 0.0:
        confirmed = min(residual, *last)
        return confirmed * _FOLLOW_CHANGE if confirmed > _NOISE else _STRAY
    confirmed = max(residual, *last)
    return confirmed * _FOLLOW_CHANGE if confirmed < -_NOISE else -_STRAY


def _between(n: int, low: tuple[int, float], high: tuple[int, float]) -> float:
    """The time of a size from `low` on and below `high`, by the cost per token of those two (size, time)."""
    share = (n - low[0]) / (high[0] - low[0])
    per_token = (1.0 - share) * low[1] / low[0] + share * high[1] / high[0]
    return max(low[1], min(n * per_token, max(low[1], high[1])))


def _beyond(n: int, known: list[tuple[int, float]]) -> float:
    """The time of a size from the largest of the `known` (size, time) on.

    The pace is that since half the largest size: from one size to the next it would be that of a step, or of a plain.
    """
    largest, largest_ms = known[-1]
    usual = largest_ms * (cautious_cost(n) / cautious_cost(largest) - 1.0)
    if len(known) == 1:
        return largest_ms + usual
    size, milliseconds = max(pair for pair in known[:-1] if pair[0] <= max(largest / 2.0, known[0][0]))
    growth = (n - largest) * (largest_ms - milliseconds) / (largest - size)
    return largest_ms + max(usual / 2.0, min(growth, usual * 1.25))
