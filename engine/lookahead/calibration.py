"""Calibrate a draft token's and an n-token forward's costs on this machine, with the fastest number of threads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from time import perf_counter

from engine.backends.base import Backend
from engine.backends.threads import Clock, Meter, choose_threads
from engine.cancel import CancelToken
from engine.config import DEFAULT_LOOKAHEAD, LoadConfig
from engine.drafting.vocabulary import LEAST, vocabulary_of
from engine.errors import BackendFailure, RewindNotSupported
from engine.lookahead.costs import MS, CostModel
from engine.system.machine import default_threads

Loaded = Mapping[str, tuple[Backend | None, LoadConfig | None]]
Free = Mapping[str, Backend]
"""Models by part (target, draft) whose number of threads may be chosen."""
NONE: Free = {}
BUDGET_S, _SHARE = 2.0, 0.2
"""Seconds, and the share of them for choosing the threads of each model, and for the draft."""
_NEAR = 2 * DEFAULT_LOOKAHEAD
"""Sizes that are measured in turns, so that a burst of disturbance does not meet all times of one."""
_STEPS = [2**power + side for power in range(CostModel.MOST.bit_length()) for side in (0, 1)]
SIZES = sorted(range(2, CostModel.MOST + 1), key=lambda n: (n > _NEAR + 1, n not in _STEPS, n))
"""Sizes in order of value: those of short drafts, and powers of two, behind which costs climb."""


def calibrate(
    target: Backend,
    draft: Backend | None,
    *,
    budget_s: float = BUDGET_S,
    cancel: CancelToken | None = None,
    clock: Clock = perf_counter,
    free: Free = NONE,
) -> CostModel:
    """Measure the target's verification forwards, and tokens of the draft, behind the cached tokens.

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
                times[1] = [meter.forward(1, _before(target, 1) - 1)]
            elif meter.room:
                end = clock() + budget_s * _SHARE
                draft_ms = _time_draft(backend, meter, clock, end)
    if times and target.rewind.kind != "none":
        with suppress(BackendFailure, RewindNotSupported), Meter(target, cancel, clock) as meter:
            sizes = [size for size in SIZES if size <= meter.room]
            groups = [sizes[first : first + _NEAR] * 2 for first in range(0, len(sizes), _NEAR)]
            for size in [size for group in [*groups, [1, *sizes]] for size in group]:
                expected = CostModel({known: _typical(found) for known, found in times.items()}).verify(size)
                before = _before(target, size)
                if clock() + (before + 1) * expected / MS > deadline:
                    break
                milliseconds = meter.forward(size, before)
                times.setdefault(size, []).append(milliseconds)
    return CostModel({size: _typical(found) for size, found in times.items()}, draft_ms)


def _time_draft(draft: Backend, meter: Meter, clock: Clock, end: float) -> float:
    """Return the milliseconds of a draft token, as its drafter asks for it."""
    if limited := draft.vocab_size >= LEAST and draft.want_rows(vocabulary_of(draft).bits):
        meter.forward(1)  # In this one it finds its output layer.
    try:
        return _typical([meter.forward(1) for turn in range(_NEAR) if turn < 2 or clock() < end])
    finally:
        if limited:
            draft.want_rows(None)


def _before(target: Backend, size: int) -> int:
    """Count the forwards of a size that come before the one that is timed.

    After another size a small model takes half as long again for one token. On a card llama.cpp runs a size that is
    new, records its graph with the second forward and plays that back from the third on, as in a reply.
    """
    return int(size == 1) if target.device == "cpu" else 2


def _typical(times: Collection[float]) -> float:
    """Return a low time, but not the lowest of many: disturbances make it longer."""
    return sorted(times)[len(times) // 2 // 2]


def free_models(loaded: Loaded) -> Free:
    """Return the models whose number of threads may be chosen: adjustable ones without a requested number."""
    given = ((part, backend, config) for part, (backend, config) in loaded.items() if backend is not None and config)
    return {part: backend for part, backend, config in given if backend.threads_adjustable and config.threads is None}
