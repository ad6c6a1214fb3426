"""How long forwards of a model take here, and on how many threads it is quickest: changed where that clearly pays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from math import inf, log2

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import DEFAULT_LOOKAHEAD, LoadConfig
from engine.errors import BackendFailure, RewindNotSupported, TextNotEncodable
from engine.lookahead.costs import MS, CostModel
from engine.system.machine import OtherPrograms, default_threads, is_tiny, logical_cores, physical_cores

_TEXT = "The committee met on a rainy Thursday to discuss the new bridge. Nobody had read the report: 214 pages."
"""Ordinary text: where a model sends tokens to different experts, one token over and over would be too cheap."""
FEWER_BELOW, MORE_BELOW = 0.95, 0.85
"""Shares of the usual time below which other threads are taken: whoever takes a core of more holds all of them up."""
BUSY_CORES = 0.25
"""Others that take more of a core than this hold up many threads more than few: nothing is chosen beside them."""
_MOST = 3
"""Numbers that are tried against the usual one, and passes through all: what disturbs comes in bursts."""


class Meter:
    """Times forwards behind what a cache holds; `room`: tokens that one may have and be taken back."""

    def __init__(self, backend: Backend, cancel: CancelToken, clock: Callable[[], float]) -> None:
        self._backend, self._cancel, self.clock, self._base = backend, cancel, clock, backend.length
        try:
            found = backend.tokenizer.encode(_TEXT, add_special=False, parse_special=False)
        except TextNotEncodable:
            found = []
        inside = [token for token in found if 0 <= token < backend.vocab_size] or range(backend.vocab_size)
        self._tokens = list(islice(cycle(inside), CostModel.MOST))
        limits = {"window": backend.rewind.depth or 0, "none": int(not self._base)}
        left = backend.context_length - self._base
        self.room = min(CostModel.MOST, left, limits.get(backend.rewind.kind, left))

    def forward(self, n: int) -> float:
        """Return milliseconds of a forward of `n` tokens with n rows, which is taken back again."""
        self._cancel.check("Measuring")
        self._backend.mark()
        began = self.clock()
        self._backend.forward(self._tokens[:n], n)
        milliseconds = MS * (self.clock() - began)
        self._backend.truncate(self._base)
        return milliseconds


@contextmanager
def taken_back(backend: Backend, cancel: CancelToken) -> Iterator[None]:
    """Let forwards heed `cancel`; afterwards the cache holds what it held, or nothing if it cannot go back."""
    base = backend.length
    backend.watch(cancel)
    try:
        yield
    finally:
        backend.watch(None)
        try:
            backend.truncate(min(base, backend.length))
        except RewindNotSupported:
            backend.truncate(0)


def free_models(*models: tuple[Backend | None, LoadConfig | None]) -> list[Backend]:
    """Return those whose number of threads may be chosen: they can change it, and nobody asked for one at loading."""
    given = ((backend, config) for backend, config in models if backend is not None and config is not None)
    return [backend for backend, config in given if backend.threads_adjustable and config.threads is None]


def is_count(value: object) -> bool:
    """Return whether a value that was kept can be a number of threads on this machine."""
    return type(value) is int and 1 <= value <= logical_cores()


def candidates(usual: int) -> tuple[int, ...]:
    """Return what is tried against the usual number, the next to it first: of 1, 2, half of the cores, all cores."""
    offered = {1, min(2, logical_cores()), max(1, physical_cores() // 2), physical_cores(), logical_cores()} - {usual}
    return tuple(sorted(offered, key=lambda count: (abs(log2(count / usual)), count))[:_MOST])


def choose_threads(backend: Backend, meter: Meter, budget_s: float, *, drafts: bool = False) -> int:
    """Leave the model with the number of threads that is clearly the quickest, or else the usual one.

    For plain decoding and the verification of a short draft, or for drafting. All are measured in turns, and the lowest
    times count; nothing is changed where the budget did not suffice for all passes, while other programs were at work,
    or for a tiny model (it gains less than it loses beside a busy program). Raises Cancelled.
    """
    usual = best = default_threads(backend.weight_bytes)
    others, sizes = OtherPrograms(), [n for n in ((1,) if drafts else (1, DEFAULT_LOOKAHEAD + 1)) if n <= meter.room]
    try:
        if sizes and not is_tiny(backend.weight_bytes):
            shares = _compare(backend, meter, sizes, usual, meter.clock() + budget_s)
            best = min(shares, key=shares.__getitem__) if shares and others.cores() <= BUSY_CORES else usual
    except (BackendFailure, RewindNotSupported):
        best = usual
    finally:
        backend.set_threads(best)
    return best


def _compare(backend: Backend, meter: Meter, sizes: Sequence[int], usual: int, end: float) -> dict[int, float]:
    """Return the share of the usual time that each number needs which is clearly quicker; none where it gets late."""
    left, times = list(candidates(usual)), dict[tuple[int, int], float]()
    for size in [size for _ in range(_MOST) for size in sizes]:
        for count in (usual, *left) if left else ():
            if meter.clock() + times.get((count, size), times.get((usual, size), 0.0)) / MS > end:
                return {}
            backend.set_threads(count)
            times[count, size] = min(meter.forward(size), times.get((count, size), inf))
        left = [count for count in left if times[count, size] <= times[usual, size] / FEWER_BELOW]
    shares = {count: max(times[count, size] / times[usual, size] for size in sizes) for count in left}
    return {count: share for count, share in shares.items() if share < (MORE_BELOW if count > usual else FEWER_BELOW)}
