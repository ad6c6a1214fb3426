"""On how many threads a model computes quickest here: measured, and changed only where that clearly pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import log2
from typing import NamedTuple

from engine.backends.base import Backend
from engine.config import LoadConfig
from engine.errors import BackendFailure, RewindNotSupported
from engine.lookahead.costs import cautious_cost
from engine.lookahead.meter import Meter
from engine.system.machine import OtherPrograms, default_threads, is_tiny, logical_cores, physical_cores

FEWER_BELOW = 0.95
"""Fewer threads than usual are taken where they need less than this share of the usual time."""
MORE_BELOW = 0.85
"""More threads are taken below this share: whoever takes one of their cores holds all of them up."""
BUSY_CORES = 0.25
"""Others that take more of a core than this hold up many threads more than few: nothing is chosen beside them."""

_MOST_CANDIDATES = 4
_PASSES = 3
_LASTING_S = 0.2
"""Passes go on for as long as this: what disturbs comes in bursts, and systems count busy cores in steps of 10 ms."""
_VISIT_RUNS, _VISIT_MS = 3, 10.0
"""A visit to a count has several runs where they are short: the first one pays for the change of threads."""
_HOPELESS = 1.05
"""Once a count needs more than this share of the usual time, it is not tried further."""


class Work(NamedTuple):
    """Something to be quick at. `tokens` of a forward; `run` gives milliseconds."""

    tokens: int
    run: Callable[[], float]


def free_models(*models: tuple[Backend | None, LoadConfig | None]) -> list[Backend]:
    """Those whose number of threads may be chosen: they can change it, and nobody asked for a number at loading."""
    return [
        backend
        for backend, config in models
        if backend is not None and backend.threads_adjustable and config is not None and config.threads is None
    ]


def usual_threads(backend: Backend) -> int:
    """The number where nothing is measured (see default_threads)."""
    return default_threads(backend.weight_bytes)


def candidates(usual: int) -> tuple[int, ...]:
    """Numbers of threads to be tried against the usual one: three at most, those next to it first.

    Of 1, 2, half of the physical cores, all of them, and all logical ones. (A tiny model has none, see default_threads:
    what it gains on a quiet machine is nothing to what it loses beside a busy program.)
    """
    offered = {1, min(2, logical_cores()), max(1, physical_cores() // 2), physical_cores(), logical_cores()} - {usual}
    nearest = sorted(offered, key=lambda count: (abs(log2(count / usual)), count))
    return tuple(nearest[: _MOST_CANDIDATES - 1])


def verifying(meter: Meter) -> list[Work]:
    """The work of a target: plain decoding, and the verification of a short draft."""
    return [Work(n, partial(meter.forward, n)) for n in (1, 5) if n <= meter.room]


def drafting(meter: Meter) -> list[Work]:
    """The work of a draft: a token behind a token."""
    return [Work(1, lambda: min(meter.in_a_row(3, 0.0)))] if meter.room else []


def choose_threads(
    backend: Backend,
    work: Sequence[Work],
    budget_s: float,
    *,
    clock: Callable[[], float],
) -> int:
    """Leave the model with the number of threads that is clearly the quickest at this work, or else the usual one.

    `clock` counts seconds. All numbers are measured in turns, and of each the lowest time of each kind of work counts.
    Another number than the usual one is taken where it is no slower at any work, and quicker in the (geometric) mean by
    what FEWER_BELOW and MORE_BELOW ask for; never where the budget did not suffice for three passes, or while other
    programs were at work. Raises Cancelled.
    """
    usual = usual_threads(backend)
    trial = _Trial(backend, work, usual, clock, clock() + budget_s)
    others, best = OtherPrograms(), usual
    try:
        best = trial.run()
        if others.cores() > BUSY_CORES:
            best = usual
    except (BackendFailure, RewindNotSupported):
        best = usual
    finally:
        backend.set_threads(best)
    return best


class _Trial:
    """The times of each number of threads at each work."""

    def __init__(
        self, backend: Backend, work: Sequence[Work], usual: int, clock: Callable[[], float], deadline: float
    ) -> None:
        self._backend = backend
        self._work = work
        self._usual = usual
        self._clock = clock
        self._deadline = deadline
        self._left = [] if is_tiny(backend.weight_bytes) or not work else list(candidates(usual))
        self._times: dict[tuple[int, int], float] = {}
        """By number of threads and tokens of the work, the lowest."""

    def run(self) -> int:
        """The number to be taken; the usual one where the budget ends first."""
        lasting = min(self._clock() + _LASTING_S, self._deadline)
        passes = 0
        while self._left and (passes < _PASSES or self._clock() < lasting):
            if not self._pass():
                break
            passes += 1
        return self._best() if passes >= _PASSES else self._usual

    def _pass(self) -> bool:
        """Every number that is left at every work. Whether the budget sufficed."""
        for work in self._work:
            for count in (self._usual, *self._left):
                if self._clock() + self._expected(count, work.tokens) / 1000.0 > self._deadline:
                    return False
                self._visit(count, work)
            self._left = [count for count in self._left if self._ratio(count, work) <= _HOPELESS]
        return True

    def _visit(self, count: int, work: Work) -> None:
        self._backend.set_threads(count)
        spent, place = 0.0, (count, work.tokens)
        for _ in range(_VISIT_RUNS):
            milliseconds = work.run()
            self._times[place] = min(milliseconds, self._times.get(place, milliseconds))
            spent += milliseconds
            if spent > _VISIT_MS:
                break

    def _expected(self, count: int, tokens: int) -> float:
        """Milliseconds of the work, by what is known of it, or of one token; 0 where nothing is."""
        one = self._times.get((count, 1), self._times.get((self._usual, 1), 0.0))
        return self._times.get((count, tokens), one * cautious_cost(tokens))

    def _ratio(self, count: int, work: Work) -> float:
        return self._times[count, work.tokens] / max(self._times[self._usual, work.tokens], 1e-9)

    def _best(self) -> int:
        best, lowest = self._usual, 1.0
        for count in self._left:
            ratios = [self._ratio(count, work) for work in self._work]
            mean = 1.0
            for ratio in ratios:
                mean *= ratio ** (1.0 / len(ratios))
            enough = MORE_BELOW if count > self._usual else FEWER_BELOW
            if max(ratios) <= 1.0 and mean < enough and mean < lowest:
                best, lowest = count, mean
        return best
