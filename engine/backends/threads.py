"""Give a loaded model the number of processor threads that is quickest here, by timing forwards of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import cycle, islice
from math import inf, log2
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
"""Numbers that are tried against the usual one, and passes through all: what disturbs comes in bursts."""


class Meter:
    """Times forwards behind what a cache holds, which it holds again afterwards. `room`: tokens that one may have."""

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

    def forward(self, n: int) -> float:
        """Return milliseconds of a forward of `n` tokens with n rows, which is taken back again."""
        self._cancel.check("Measuring")
        self._backend.mark()
        began = self.clock()
        self._backend.forward(self._tokens[:n], n)
        milliseconds = _MS * (self.clock() - began)
        self._backend.truncate(self._base)
        return milliseconds


def candidates(usual: int) -> list[int]:
    """Return what is tried against the usual number, the next to it first: of 1, 2, half of the cores, all cores."""
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
