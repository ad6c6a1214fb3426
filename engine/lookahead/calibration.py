"""What a draft token and a target forward of n tokens cost on this machine, and how many threads do them quickest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import cycle, islice
from math import inf, log2
from time import perf_counter
from typing import Self

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import DEFAULT_LOOKAHEAD, LoadConfig
from engine.errors import BackendFailure, RewindNotSupported, TextNotEncodable
from engine.lookahead.costs import MS, CostModel
from engine.system.machine import OtherPrograms, default_threads, is_tiny, logical_cores, physical_cores

Clock = Callable[[], float]
Loaded = Mapping[str, tuple[Backend | None, LoadConfig | None]]
Free = Mapping[str, Backend]
"""By part (target, draft): models with how they were loaded; those whose number of threads may be chosen."""
NONE: Free = {}
BUDGET_S, _SHARE = 2.0, 0.2
"""Seconds, and the share of them for choosing the threads of each model, and for the draft."""
_NEAR = 2 * DEFAULT_LOOKAHEAD
"""So many sizes are measured in turns, so that a burst of what disturbs does not meet all times of one."""
_STEPS = [2**power + side for power in range(CostModel.MOST.bit_length()) for side in (0, 1)]
SIZES = sorted(range(2, CostModel.MOST + 1), key=lambda n: (n > _NEAR + 1, n not in _STEPS, n))
"""Sizes in the order of what they are worth: of short drafts, and at powers of two, behind which costs climb."""
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
        self._tokens = list(islice(cycle(inside), CostModel.MOST))
        limits = {"window": backend.rewind.depth or 0, "none": int(not self._base)}
        left = backend.context_length - self._base
        self.room = min(CostModel.MOST, left, limits.get(backend.rewind.kind, left))

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
        milliseconds = MS * (self.clock() - began)
        self._backend.truncate(self._base)
        return milliseconds


def calibrate(
    target: Backend,
    draft: Backend | None,
    *,
    budget_s: float = BUDGET_S,
    cancel: CancelToken | None = None,
    clock: Clock = perf_counter,
    free: Free = NONE,
) -> CostModel:
    """Measure forwards of the target, as verification asks for them, and tokens of the draft, behind what caches hold.

    The budget begins behind the first forward of each model, which may have to fetch the weights from disk; a size that
    is not expected to fit into it is not begun, but for 1. The models in `free` are first given the number of threads
    that is the quickest. Raises Cancelled; BackendFailure or RewindNotSupported where not even one token works.
    """
    cancel, deadline = cancel or CancelToken(), clock() + budget_s
    times, draft_ms = dict[int, list[float]](), None
    for backend in (target, draft) if draft is not None else (target,):
        with Meter(backend, cancel, clock) as meter:
            if backend in free.values():
                backend.set_threads(default_threads(backend.weight_bytes))
            if meter.room:
                deadline += meter.forward(1) / MS
            if backend in free.values():
                choose_threads(backend, meter, budget_s * _SHARE, drafts=backend is draft)
            if meter.room and backend is target:
                times[1] = [meter.forward(1)]
            elif meter.room:
                end = clock() + budget_s * _SHARE
                draft_ms = _typical([meter.forward(1) for turn in range(_NEAR) if turn < 2 or clock() < end])
    if times and target.rewind.kind != "none":
        with suppress(BackendFailure, RewindNotSupported), Meter(target, cancel, clock) as meter:
            sizes = [size for size in SIZES if size <= meter.room]
            groups = [sizes[first : first + _NEAR] * 2 for first in range(0, len(sizes), _NEAR)]
            for size in [size for group in [*groups, [1, *sizes]] for size in group]:
                expected = CostModel({known: _typical(found) for known, found in times.items()}).verify(size)
                if clock() + (2 if size == 1 else 1) * expected / MS > deadline:
                    break
                if size == 1:  # After another size a small model takes half as long again.
                    meter.forward(1)
                milliseconds = meter.forward(size)
                times.setdefault(size, []).append(milliseconds)
    return CostModel({size: _typical(found) for size, found in times.items()}, draft_ms)


def _typical(times: Collection[float]) -> float:
    """Return a low one, but not the lowest of many: what disturbs makes it longer."""
    return sorted(times)[len(times) // 2 // 2]


def free_models(loaded: Loaded) -> Free:
    """Return those whose number of threads may be chosen: they can change it, and nobody asked for one at loading."""
    given = ((part, backend, config) for part, (backend, config) in loaded.items() if backend is not None and config)
    return {part: backend for part, backend, config in given if backend.threads_adjustable and config.threads is None}


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
                    if meter.clock() + times.get((count, size), times.get((usual, size), 0.0)) / MS > end:
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
