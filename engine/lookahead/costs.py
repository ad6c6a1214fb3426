"""Costs of a round on this machine: a draft token, a target forward of n tokens with n rows, and the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from math import exp, log, sqrt
from sys import float_info
from typing import Any, Self

import numpy as np

from engine.config import MAX_LOOKAHEAD
from engine.drafting.base import cautious_cost
from engine.methods import DRAFT_MODEL

MS = 1000.0


class CostModel:
    """Predict the times of the next round's parts, in milliseconds, from a calibration and every round since.

    A measured size keeps its time (costs climb in steps), others are interpolated. A common factor covers what slows
    all sizes: it takes half of the common part of three residuals, log(measured / expected), in a row; if the next
    other size contradicts, the change is moved to the size that caused it. A size observed between others takes half of
    the common part of three of its own; or all of two that show it became much cheaper.

    `verify_ms`: times by size (1..MOST), `draft_ms`: of one draft token; without them only ratios of the predictions
    are meaningful. `rest`: ms of a round's other work: a plain one, one with proposals. `drafts`: ms of one token, by
    source; `reads`: of one token of a prompt. `disturbed`: measured beside other programs; `seen`: the sizes that are
    not derived from other circumstances. Raises ValueError.
    """

    MOST = MAX_LOOKAHEAD + 1
    UNKNOWN_DRAFT = 0.2  # a draft token, before one was timed, in times of a target token
    UNKNOWN_READ = 0.2  # a token of a prompt, in times of a draft token

    def __init__(self, verify_ms: Mapping[int, float] | None = None, draft_ms: float | None = None) -> None:
        known = dict(verify_ms or {})
        times = [*known.values(), 1.0 if draft_ms is None else draft_ms]
        if not all(map(_is_time, times)) or not all(1 <= size <= self.MOST for size in known):
            raise ValueError(f"no costs: {verify_ms}, {draft_ms}")
        self._own = {size: float(ms) for size, ms in sorted(known.items())}  # at a common factor of 1, as the table
        self._table: list[float] = []  # by size (0 unused), measured or not; empty: to be made anew
        self._first: dict[int, float] = {}  # a first time, as `_own`, which a second one is to confirm
        self._residuals: dict[int, tuple[float, float]] = {}  # by size, the last two
        self._common, self._last = 1.0, (0.0, 0.0)
        self._mover, self._moved = 0, 0.0  # the size observed last, and how far it moved the common factor
        self.drafts = {} if draft_ms is None else {DRAFT_MODEL.name: draft_ms}
        self.reads: dict[str, float] = {}
        self._drafts_last: dict[str, tuple[float, float]] = {}
        self.rest = [0.0, 0.0]
        self.disturbed, self.seen = False, set(known)

    def as_guess(self, *, disturbed: bool = False) -> Self:
        """Return a copy for other circumstances, in which each size is still to be seen."""
        copy = deepcopy(self)
        copy.disturbed, copy.seen = disturbed, set()
        return copy

    def verify(self, n: int) -> float:
        """Return the expected milliseconds of a target forward of `n` (1..MOST) tokens with n rows; above 0."""
        own = self._own.get(n)
        return ((self._table or self._fill())[n] if own is None else own) * self._common

    def draft(self, source: str = DRAFT_MODEL.name) -> float:
        """Return the expected milliseconds of one more token of a source; above 0."""
        return self.drafts.get(source) or self.verify(1) * self.UNKNOWN_DRAFT

    def read(self, source: str = DRAFT_MODEL.name) -> float:
        """Return the expected milliseconds in which a source reads one token of a prompt; above 0."""
        return self.reads.get(source) or self.draft(source) * self.UNKNOWN_READ

    def knows(self, n: int) -> bool:
        """Return True if a forward of `n` tokens was measured."""
        return n in self._own

    @property
    def knows_draft(self) -> bool:
        """True if a token of the draft model was measured."""
        return DRAFT_MODEL.name in self.drafts

    def _fill(self) -> list[float]:
        known = self._own or {1: 1.0}
        first, largest = min(known), max(known)
        half = max(size for size in known if size <= max(largest / 2, first))
        scale = known[first] / cautious_cost(first)
        growth = (known[largest] - known[half]) / (largest - half) if largest > half else scale
        pace = min(scale, known[largest] / cautious_cost(largest)) / 2.0
        last = known[largest] + (self.MOST - largest) * max(pace / 2.0, min(growth, pace))
        points = {n: scale * cautious_cost(n) for n in range(first)} | known | {self.MOST: last}
        rising = np.maximum.accumulate(list(points.values()))
        self._table = np.interp(range(self.MOST + 1), list(points), rising).tolist()
        return self._table

    def observe_verify(self, n: int, ms: float) -> None:
        """Learn that a target forward of `n` tokens took `ms` milliseconds. What is no time is passed over."""
        if not 1 <= n <= self.MOST or not _is_time(ms):
            return
        self.seen.add(n)
        if n not in self._own:
            known = min(ms, 2.0 * self.verify(n)) if self._own else ms
            self._first[n] = ms / self._common
            self._own = dict(sorted({**self._own, n: known / self._common}.items()))
            self._table = []
            return
        residual, another = log(ms / self.verify(n)), n != self._mover
        if another:  # Was what moved the common factor a change of the other size alone?
            back = _in_common(-residual, self._moved)
            self._common *= exp(-back)
            self._move(self._mover, back)
            self._mover, self._moved, residual = n, 0.0, residual + back
        if n in self._first:
            self._own[n], self._table = min(ms / self._common, self._first.pop(n)), []
            return
        step = _in_common(residual, *self._last) / 2.0
        self._common *= exp(step)
        self._moved += step
        own, before = residual - step, self._residuals.get(n, (0.0, 0.0))
        if another or not self._moved:
            cheaper = _in_common(own, before[1])
            self._move(n, cheaper if cheaper < -log(2.0) / 2.0 else _in_common(own, *before) / 2.0)
        self._last, self._residuals[n] = (self._last[1], residual), (before[1], own)

    def _move(self, n: int, by: float) -> None:
        if by:
            self._own[n] *= exp(by)
            self._table = []

    def observe_draft(self, tokens: int, ms: float, source: str = DRAFT_MODEL.name) -> None:
        """Learn that drafting `tokens` tokens took `ms` milliseconds in all. What is no time is passed over."""
        if tokens < 1 or not _is_time(ms):
            return
        residual = log(ms / tokens / self.drafts.setdefault(source, ms / tokens))
        last = self._drafts_last.get(source, (0.0, 0.0))
        self.drafts[source] *= exp(_in_common(residual, *last) / 2.0)
        self._drafts_last[source] = last[1], residual

    def observe_read(self, tokens: int, ms: float, source: str = DRAFT_MODEL.name) -> None:
        """Learn that a source read `tokens` tokens in `ms` milliseconds. What is no time is passed over."""
        if tokens > 0 and _is_time(ms):
            self.reads[source] = (self.reads.get(source, ms / tokens) + ms / tokens) / 2.0

    def observe_rest(self, proposed: int, ms: float) -> None:
        """Learn the time of a round of so many proposals besides drafting and verifying."""
        known = self.rest[proposed > 0] or ms
        self.rest[proposed > 0] = (known + min(ms, 2.0 * known)) / 2.0

    @property
    def measured(self) -> dict[int, float]:
        """The times of the measured sizes as they are expected now, smallest size first."""
        return {size: own * self._common for size, own in self._own.items()}

    def to_json(self) -> dict[str, Any]:
        """Return the costs, for `from_json`: {"format", "verify_ms": {"1": …}, "draft_ms": … | null}."""
        draft = self.drafts.get(DRAFT_MODEL.name)
        return {"format": 1, "verify_ms": {str(n): ms for n, ms in self.measured.items()}, "draft_ms": draft}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Make the model that `to_json` described. Raises ValueError where `data` is something else."""
        if not isinstance(data, dict) or data.get("format") != 1 or not isinstance(data.get("verify_ms"), dict):
            raise ValueError("not the costs of a pair")
        return cls({int(size): ms for size, ms in data["verify_ms"].items()}, data.get("draft_ms"))


def measured_cost(forwards_by_size: Sequence[int], target_ms_by_size: Sequence[float]) -> Callable[[int], float]:
    """Return the cost of a verification, from forwards of n tokens at n - 1 and their time (or cautious_cost)."""
    pairs = enumerate(zip(forwards_by_size, target_ms_by_size, strict=True), 1)
    costs = CostModel({size: milliseconds / count for size, (count, milliseconds) in pairs if count > 2})
    return (lambda n: costs.verify(n) / costs.verify(1)) if costs.knows(1) else cautious_cost


def _is_time(value: object) -> bool:
    """Return True if times and rates of this many milliseconds can be reckoned with, sums of them too."""
    longest = sqrt(float_info.max)
    return isinstance(value, int | float) and not isinstance(value, bool) and 1.0 / longest < value < longest


def _in_common(*residuals: float) -> float:
    """Return the least of residuals of one direction; 0 if they disagree."""
    return max(min(residuals), 0.0) or min(max(residuals), 0.0)
