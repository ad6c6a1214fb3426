"""What a draft token and a target forward of n tokens cost on this machine: measured once a pair, then remembered.

The file on disk is a convenience: missing, damaged or unwritable, it costs one more calibration.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import BackendFailure, RewindNotSupported
from engine.formats.gguf.parts import split_parts
from engine.lookahead.costs import QUICK_MS, CostModel
from engine.lookahead.meter import Meter, taken_back, typical
from engine.lookahead.threads import choose_threads, drafting, usual_threads, verifying
from engine.system.cache_files import cache_folder, forget_oldest, read_file, write_file
from engine.system.machine import describe_machine, physical_cores

SIZES = (2, 4, 5, 3, 9, 8, 6, 7, 17, 16, 33, 12, 10, 11, 13, 14, 15, 24, 20, 28)
"""Sizes behind 1 in the order of what it is worth to know them: short drafts, then steps, then what is between."""
DEFAULT_BUDGET_S = 2.0

_VERSION = 4
"""Counts up when the measurement changes so that what is remembered no longer holds."""
_TIMES = 2
_TOGETHER = 4
"""So many sizes are measured in turns, so that a burst of what disturbs does not meet all times of one."""
_DEARER, _LOOKS = 1.08, 4
"""A size that seems to be so many times as dear as a larger one is measured again, so often at most: costs do fall
with the size here and there, but what disturbs is more common, and a size that looks dear would never be tried."""
_TIMES_OF_ONE = 3
_MORE_PASSES = 3
"""Through all sizes, where the budget is not used up: what disturbs comes in bursts."""
_DRAFT_TOKENS = 9
_DRAFT_SHARE = 0.2
"""Part of the budget that the draft may take, beyond two tokens."""
_TARGET_THREADS_SHARE, _DRAFT_THREADS_SHARE = 0.25, 0.15
"""Parts of the budget in which numbers of threads may be tried."""
_MOST_THREADS = 512
_MOST_REMEMBERED = 256
_SAVE_EVERY_S = 30.0

_Times = dict[int, list[float]]
"""Milliseconds of forwards, by their size."""


def calibrate(
    target: Backend,
    draft: Backend | None,
    *,
    budget_s: float = DEFAULT_BUDGET_S,
    cancel: CancelToken | None = None,
    clock: Callable[[], float] = perf_counter,
    free: Collection[Backend] = (),
) -> CostModel:
    """Measure forwards of the target, as verification asks for them, and tokens of the draft.

    The budget, in seconds, begins behind the first forward of each model, which may have to fetch the weights from
    disk; a size that is not expected to fit into it is not begun, but for 1. Each is measured twice or more, of which a
    low time counts: nothing is faster by chance. The caches may be in use: it is measured behind what they hold, and
    taken back. Where a cache cannot be taken back at all, only one token on an empty cache is measured; where there is
    no room, nothing. The models in `free` are first given the number of threads that is the quickest for them (see
    engine.lookahead.threads), within the same budget.
    Raises Cancelled, within one forward; BackendFailure or RewindNotSupported where not even one token works.
    """
    cancel = cancel or CancelToken()
    meter = Meter(target, cancel, clock)
    with taken_back(target, cancel):
        times, deadline = _measure_one(meter, target, budget_s, choose=target in free)
    draft_ms = None
    if draft is not None:
        with taken_back(draft, cancel):
            draft_ms, spent = _measure_draft(Meter(draft, cancel, clock), draft, budget_s, choose=draft in free)
        deadline += spent
    if times and target.rewind.kind != "none":
        with taken_back(target, cancel):
            _measure_sizes(meter, times, deadline)
    return CostModel(_costs(times), draft_ms)


def _measure_one(meter: Meter, target: Backend, budget_s: float, *, choose: bool) -> tuple[_Times, float]:
    """Times of one token, by size, and the end of the budget by the clock. No time where there is no room.

    `choose`: the number of threads first.
    """
    if choose:
        target.set_threads(usual_threads(target))
    if meter.room < 1:
        return {}, meter.clock()
    meter.forward(1)
    deadline = meter.clock() + budget_s
    if choose:
        choose_threads(target, verifying(meter), budget_s * _TARGET_THREADS_SHARE, clock=meter.clock)
    times = [meter.forward(1)]
    while len(times) < _TIMES_OF_ONE and meter.clock() + times[-1] / 1000.0 <= deadline:
        times.append(meter.forward(1))
    return {1: times}, deadline


def _measure_sizes(meter: Meter, times: _Times, deadline: float) -> None:
    """Add times of larger sizes to `times`, and more of all, until the deadline, or until a forward fails."""

    def measure(size: int) -> bool:
        """Whether the size could still be measured.

        A forward of another size than the one before costs a small model more, by half; plain decoding never changes
        its size, so a single token is timed behind another one.
        """
        expected = CostModel(_costs(times)).verify(size)
        if meter.clock() + expected / 1000.0 > deadline:
            return False
        if size == 1 and expected < QUICK_MS:
            meter.forward(1)
        milliseconds = meter.forward(size)
        times.setdefault(size, []).append(milliseconds)
        return True

    with suppress(BackendFailure, RewindNotSupported):
        for first in range(0, len(SIZES), _TOGETHER):
            together = [size for size in SIZES[first : first + _TOGETHER] if size <= meter.room]
            for _ in range(_TIMES):
                together = [size for size in together if measure(size)]
            for _ in range(_LOOKS):
                for size in _doubtful(times):
                    measure(size)
        for _ in range(_MORE_PASSES):
            for size in sorted(times):
                if not measure(size):
                    return


def _doubtful(times: _Times) -> list[int]:
    """The sizes that seem to be clearly dearer than a larger one, but for those that were looked at often already."""
    found, cheapest = [], inf
    for size in sorted(times, reverse=True):
        milliseconds = typical(times[size])
        if milliseconds > cheapest * _DEARER and len(times[size]) < _TIMES + _LOOKS:
            found.append(size)
        cheapest = min(cheapest, milliseconds)
    return found


def _measure_draft(meter: Meter, draft: Backend, budget_s: float, *, choose: bool) -> tuple[float | None, float]:
    """The time of a draft token, None where there is no room; and the seconds that the first one took.

    `choose`: the number of threads first.
    """
    if choose:
        draft.set_threads(usual_threads(draft))
    if meter.room < 1:
        return None, 0.0
    first = None
    if choose:
        first = meter.in_a_row(1, 0.0)[0]
        choose_threads(draft, drafting(meter), budget_s * _DRAFT_THREADS_SHARE, clock=meter.clock)
    times = meter.in_a_row(1 + _DRAFT_TOKENS, budget_s * _DRAFT_SHARE)
    rest = times[1:] or times
    return typical(rest), (times[0] if first is None else first) / 1000.0


def _costs(times: _Times) -> dict[int, float]:
    return {size: typical(found) for size, found in times.items()}


# Remembered ---------------------------------------------------------------------------------------------------------


def costs_for(
    target: Backend,
    draft: Backend | None,
    key: str | None,
    *,
    budget_s: float = DEFAULT_BUDGET_S,
    cancel: CancelToken | None = None,
    free: Collection[Backend] = (),
) -> CostModel:
    """The costs that are remembered under `key`, or else measured now and remembered (not where `key` is None).

    With the costs go the numbers of threads of the models in `free`, which they are given. Raises what `calibrate`
    raises.
    """
    costs = None if key is None else recall(key, target, draft, free)
    if costs is None:
        costs = calibrate(target, draft, budget_s=budget_s, cancel=cancel, free=free)
        if key is not None:
            remember(key, costs, threads=chosen_threads(target, draft, free))
    return costs


def recall(key: str, target: Backend, draft: Backend | None, free: Collection[Backend]) -> CostModel | None:
    """The costs that are remembered, the models in `free` being given their numbers of threads; None without both."""
    costs = remembered(key)
    known = _read_threads(_read(key))
    wanted = {name: backend for name, backend in (("target", target), ("draft", draft)) if backend in free}
    if costs is None or not wanted.keys() <= known.keys():
        return None
    for name, backend in wanted.items():
        if backend is not None:
            backend.set_threads(known[name])
    return costs


def chosen_threads(target: Backend, draft: Backend | None, free: Collection[Backend]) -> dict[str, int]:
    """How many threads those of the models have that are in `free`: {"target": …, "draft": …}."""
    both = ("target", target), ("draft", draft)
    return {name: backend.threads for name, backend in both if backend is not None and backend in free}


def costs_key(
    target: Backend,
    target_config: LoadConfig | None,
    draft: Backend | None = None,
    draft_config: LoadConfig | None = None,
) -> str | None:
    """Names this machine, its libraries, and both models as they are now and as they were loaded.

    The configurations are those that the models were opened with, their paths resolved. Of threads it is the number
    that was asked for: one that was chosen is remembered with the costs. None where a model has none
    (it was given as it is), or its files have gone.
    """
    machine = describe_machine()
    facts: list[object] = [_VERSION, machine["processor"], machine["cores"], physical_cores(), machine["libraries"]]
    facts.append(machine["outrider"])  # Its products come with it.
    for backend, config in ((target, target_config), (draft, draft_config)):
        if backend is None:
            facts.append(None)
            continue
        try:
            files = None if config is None else _files(Path(config.path))
        except OSError:
            files = None
        if config is None or files is None:
            return None
        settings: tuple[object, ...] = (config.gpu_layers, config.dtype)
        if config.cache_type is not None:
            settings += (config.cache_type,)
        facts.append((files, config.threads, backend.context_length, backend.device, settings))
    return hashlib.blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


def costs_place(key: str) -> Path:
    """The file for what is remembered under a key. It may not exist."""
    return cache_folder() / "costs" / f"{key}.json"


def remembered(key: str) -> CostModel | None:
    """The costs that are remembered; None where there are none that can be read."""
    try:
        return CostModel.from_json(_read(key))
    except ValueError:
        return None


def remembered_acceptance(key: str) -> dict[str, Any]:
    """What is remembered of what was accepted, as `remember` was given it; empty where nothing is."""
    data = _read(key)
    found = data.get("acceptance") if isinstance(data, dict) else None
    return found if isinstance(found, dict) else {}


def remember(
    key: str,
    costs: CostModel,
    acceptance: Mapping[str, Any] | None = None,
    threads: Mapping[str, int] | None = None,
) -> None:
    """Remember costs, if anything was measured, forgetting the oldest pairs. Does nothing where it cannot write.

    `acceptance` (JSON can hold it) and `threads` (see chosen_threads) are kept beside them; None: what was kept before.
    """
    if not costs.measured:
        return
    path = costs_place(key)
    known = remembered_acceptance(key) if acceptance is None else dict(acceptance)
    chosen = _read_threads(_read(key)) if threads is None else dict(threads)
    content = costs.to_json() | ({"acceptance": known} if known else {}) | ({"threads": chosen} if chosen else {})
    try:
        write_file(path, json.dumps(content).encode())
        forget_oldest(path.parent, ".json", _MOST_REMEMBERED)
    except OSError:
        return


def _read_threads(data: object) -> dict[str, int]:
    """Of what stands in the file, the numbers of threads."""
    found = data.get("threads") if isinstance(data, dict) else None
    if not isinstance(found, dict):
        return {}
    return {name: n for name, n in found.items() if type(n) is int and 1 <= n <= _MOST_THREADS}


def _read(key: str) -> object:
    """What stands in the file; None where it cannot be read."""
    try:
        return json.loads(read_file(costs_place(key)))
    except (OSError, ValueError, RecursionError):
        return None


class CostKeeper:
    """Writes what was learned of a pair back, at the end of a reply and not too often.

    `key` None: nothing is remembered. `clock` counts seconds. `acceptance` gives what is kept beside the costs.
    """

    def __init__(
        self,
        key: str | None,
        costs: CostModel,
        clock: Callable[[], float] = monotonic,
        *,
        acceptance: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self._key = key
        self._costs = costs
        self._clock = clock
        self._acceptance = acceptance
        self._saved_at = clock()
        self._saved = costs.to_json(), acceptance()

    def save(self, *, at_once: bool = False) -> None:
        """Write it, if it has changed and 30 s have passed since the last time (or `at_once`: before closing)."""
        now = self._clock()
        if self._key is None or (not at_once and now - self._saved_at < _SAVE_EVERY_S):
            return
        content = self._costs.to_json(), self._acceptance()
        if content != self._saved:
            remember(self._key, self._costs, content[1])
            self._saved_at, self._saved = now, content


def _files(path: Path) -> list[tuple[str, int, int]]:
    """The files of a model: absolute path, size and time of the last change. Raises OSError."""
    if path.is_dir():
        parts = [entry for entry in path.iterdir() if entry.suffix in (".safetensors", ".json") and entry.is_file()]
    else:
        parts = list(split_parts(path))
    found = [(os.fspath(part.absolute()), part.stat()) for part in parts]
    return sorted((name, status.st_size, status.st_mtime_ns) for name, status in found)
