"""Choose the quickest number of processor threads for a loaded model, by timing its forwards.

`choose_threads` does it once, on a quiet machine; a `ThreadFollower` goes on while replies are written, where other
programs, the window's own painting among them, take cores and give them back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import cycle, islice
from math import inf, log2
from statistics import fmean
from time import perf_counter
from typing import Self

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import DEFAULT_LOOKAHEAD, MAX_LOOKAHEAD
from engine.errors import BackendFailure, RewindNotSupported, TextNotEncodable
from engine.system.machine import OtherPrograms, default_threads, is_tiny, logical_cores, physical_cores

Clock = Callable[[], float]
_MS = 1000.0
_LONGEST = MAX_LOOKAHEAD + 1
"""Tokens of a forward that verifies the longest draft."""
_TEXT = "The committee met on a rainy Thursday to discuss the new bridge. Nobody had read the report: 214 pages."
"""Ordinary text: where a model sends tokens to different experts, one token over and over would be too cheap."""
FEWER_BELOW, MORE_BELOW, BUSY_CORES = 0.95, 0.85, 0.25
"""Shares of the usual time below which fewer or more threads are taken (whoever takes a core of more holds up all), and
the part of a core that other programs may take meanwhile."""
_MOST = 3
"""Numbers that are tried against the usual one, and passes through all: disturbances come in bursts."""


class Meter:
    """Times forwards behind the cached tokens, and restores the cache. `room`: the most tokens of one forward."""

    def __init__(self, backend: Backend, cancel: CancelToken, clock: Clock) -> None:
        self._backend, self._cancel, self.clock, self._base = backend, cancel, clock, backend.length
        try:
            found = backend.tokenizer.encode(_TEXT, add_special=False, parse_special=False)
        except TextNotEncodable:
            found = []
        inside = [token for token in found if 0 <= token < backend.vocab_size] or range(backend.vocab_size)
        self._tokens = list(islice(cycle(inside), _LONGEST))
        limits = {"window": backend.rewind.depth or 0, "none": int(not self._base)}
        left = backend.context_length - self._base
        self.room = min(_LONGEST, left, limits.get(backend.rewind.kind, left))

    def __enter__(self) -> Self:
        self._backend.watch(self._cancel)
        return self

    def __exit__(self, *_: object) -> None:
        self._backend.watch(None)
        try:
            self._backend.truncate(min(self._base, self._backend.length))
        except RewindNotSupported:
            self._backend.truncate(0)

    def forward(self, n: int, before: int = 0) -> float:
        """Return milliseconds of a forward of `n` tokens with n rows, which is taken back again.

        `before`: so many that are not timed come first.
        """
        for _ in range(before):
            self.forward(n)
        self._cancel.check("Measuring")
        self._backend.mark()
        began = self.clock()
        self._backend.forward(self._tokens[:n], n)
        milliseconds = _MS * (self.clock() - began)
        self._backend.truncate(self._base)
        return milliseconds


def candidates(usual: int) -> list[int]:
    """Return the numbers to try against the usual one, the next to it first: of 1, 2, half of the cores, all cores."""
    offered = {1, min(2, logical_cores()), max(1, physical_cores() // 2), physical_cores(), logical_cores()} - {usual}
    return sorted(offered, key=lambda count: (abs(log2(count / usual)), count))[:_MOST]


def choose_threads(backend: Backend, meter: Meter, budget_s: float, *, drafts: bool = False) -> int:
    """Leave the model with the number of threads that is clearly the quickest, for verification or for drafts.

    All are measured in turns, and the lowest times count. It is the usual one where the budget did not suffice, beside
    other programs, and for a tiny model. Raises Cancelled.
    """
    usual = best = default_threads(backend.weight_bytes)
    others, end, times = OtherPrograms(), meter.clock() + budget_s, dict[tuple[int, int], float]()
    sizes = [n for n in ((1,) if drafts else (1, DEFAULT_LOOKAHEAD + 1)) if n <= meter.room]
    left = candidates(usual) if sizes and not is_tiny(backend.weight_bytes) else []
    try:
        with suppress(BackendFailure, RewindNotSupported):
            for size in sizes * _MOST:
                for count in (usual, *left) if left else ():
                    if meter.clock() + times.get((count, size), times.get((usual, size), 0.0)) / _MS > end:
                        return usual
                    backend.set_threads(count)
                    times[count, size] = min(meter.forward(size), times.get((count, size), inf))
                left = [count for count in left if times[count, size] <= times[usual, size] / FEWER_BELOW]
            shares = {count: max(times[count, size] / times[usual, size] for size in sizes) for count in left}
            quick = [count for count in left if shares[count] < (MORE_BELOW if count > usual else FEWER_BELOW)]
            if quick and others.cores() <= BUSY_CORES:
                best = min(quick, key=shares.__getitem__)
    finally:
        backend.set_threads(best)
    return best


class ThreadFollower:
    """Compute with fewer threads while forwards are quicker so, as beside programs that take cores.

    Threads meet after every operation: one that another program holds up holds up all. Each forward's time is compared
    with the quickest one of its size, so that forwards of any size tell. `usual`: the number on a quiet machine, with
    which it begins; `busy`: tells that others take cores, where times alone cannot. `clock` counts seconds.

    Attributes: threads (to compute the next forward with).
    """

    TRY, SLOWED, BETTER = 6, 1.4, 0.85
    """Forwards that a number is judged by; times of the quickest ones at which fewer threads are tried; the share of
    the time of the number in use below which fewer are taken: clearly, since what was taken stays for a while, and
    beside others no two forwards take the same time."""
    CHECK_S, CHECK_SHARE, RISE = 1.0, 0.05, 1.003
    """Seconds between two checks of another number, at least, and the share of the time that they take at most; how a
    quickest time grows with each forward, as contexts do."""

    def __init__(self, usual: int, busy: Callable[[], bool] = lambda: False, clock: Clock = perf_counter) -> None:
        self.threads = self._usual = usual
        self._busy, self._clock = busy, clock
        self._quickest: dict[int, float] = {}
        self._shares: list[float] = []  # times of the quickest, of the last forwards with `threads`
        self._kept, self._level = usual, 0.0  # the number in use, and its mean share while another one is tried
        self._left: list[int] = []  # numbers still to be tried
        self._noticed, self._next_s, self._began_s = False, 0.0, 0.0

    def observe(self, size: int, ms: float) -> None:
        """Learn that a forward of `size` tokens took `ms` milliseconds with `threads`."""
        known = self._quickest.get(size, ms) * self.RISE
        if self.threads == self._usual and (self._kept == self._usual or size not in self._quickest):
            self._quickest[size] = min(known, ms)  # Not in a trial: what it is compared with was told by the old one.
        elif size not in self._quickest:
            return
        self._shares = [*self._shares[1 - self.TRY :], ms / self._quickest[size]]
        if self._usual == 1 or len(self._shares) < self.TRY:
            return
        if self.threads != self._kept or self._left:
            self._judge()
        elif self._is_due():
            if not self._noticed:  # Those before belong in part to a quieter moment.
                self._noticed, self._shares = True, []
                return
            self._noticed = False
            self._level, self._began_s = fmean(self._shares), self._clock()
            usual = self._usual
            self._left = [usual] if self._kept != usual else sorted({usual - 1, (usual + 1) // 2}, reverse=True)
            self._try()

    def _is_due(self) -> bool:
        """Return True if another number is to be tried: all threads at once where fewer are quicker than they were."""
        share, is_time = fmean(self._shares), self._clock() >= self._next_s
        if self._kept == self._usual:
            return is_time and (share > self.SLOWED or self._busy())
        return is_time or share < self.BETTER * self._level

    def _try(self) -> None:
        self.threads, self._shares = self._left.pop(0), []

    def _judge(self) -> None:
        """Keep the tried number if it is quicker, try the next one, or go back."""
        level, checks = fmean(self._shares), self.CHECK_SHARE
        if level < self._level * (1.0 if self.threads == self._usual else self.BETTER):
            self._kept, self._level, self._left = self.threads, level, []
            checks = self.CHECK_SHARE if self._busy() else 1.0  # Did what slowed the other number just end?
        if self._left:
            self._try()
            return
        now = self._clock()
        self._next_s = now + max(self.CHECK_S, (now - self._began_s) / checks)
        if self.threads != self._kept:
            self.threads, self._shares = self._kept, []
