"""What a draft token and a target forward of n tokens cost on this machine: measured once a pair, then remembered.

The file on disk is a convenience: missing, damaged or unwritable, it costs one more calibration.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

from engine.backends.base import Backend
from engine.cancel import CancelToken
from engine.config import DEFAULT_LOOKAHEAD, LoadConfig
from engine.errors import BackendFailure, RewindNotSupported
from engine.formats.gguf.parts import split_parts
from engine.lookahead.costs import MS, CostModel
from engine.lookahead.threads import Meter, choose_threads, is_count, taken_back
from engine.system.cache_files import cache_folder, forget_oldest, read_file, write_file
from engine.system.machine import default_threads, describe_machine, physical_cores

DEFAULT_BUDGET_S = 2.0
_SHARE = 0.2
"""Part of the budget in which numbers of threads may be tried for a model, and part that the draft may take."""
_NEAR = 2 * DEFAULT_LOOKAHEAD
"""So many sizes are measured in turns, so that a burst of what disturbs does not meet all times of one."""
_STEPS = [2**power + side for power in range(CostModel.MOST.bit_length()) for side in (0, 1)]
SIZES = sorted(range(2, CostModel.MOST + 1), key=lambda n: (n > _NEAR + 1, n not in _STEPS, n))
"""Sizes in the order of what they are worth: of short drafts, and at powers of two, behind which costs climb."""
_MOST_REMEMBERED = 256


def calibrate(
    target: Backend,
    draft: Backend | None,
    *,
    budget_s: float = DEFAULT_BUDGET_S,
    cancel: CancelToken | None = None,
    clock: Callable[[], float] = perf_counter,
    free: Collection[Backend] = (),
) -> CostModel:
    """Measure forwards of the target, as verification asks for them, and tokens of the draft, behind what caches hold.

    The budget begins behind the first forward of each model, which may have to fetch the weights from disk; a size that
    is not expected to fit into it is not begun, but for 1. The models in `free` are first given the number of threads
    that is the quickest. Raises Cancelled; BackendFailure or RewindNotSupported where not even one token works.
    """
    cancel, deadline = cancel or CancelToken(), clock() + budget_s
    times, draft_ms = dict[int, list[float]](), None
    for backend in (target, draft) if draft is not None else (target,):
        meter = Meter(backend, cancel, clock)
        with taken_back(backend, cancel):
            if backend in free:
                backend.set_threads(default_threads(backend.weight_bytes))
            if meter.room:
                deadline += meter.forward(1) / MS
            if backend in free:
                choose_threads(backend, meter, budget_s * _SHARE, drafts=backend is draft)
            if meter.room and backend is target:
                times[1] = [meter.forward(1)]
            elif meter.room:
                end = clock() + budget_s * _SHARE
                draft_ms = _typical([meter.forward(1) for turn in range(_NEAR) if turn < 2 or clock() < end])
    if times and target.rewind.kind != "none":
        with taken_back(target, cancel), suppress(BackendFailure, RewindNotSupported):
            _measure_sizes(Meter(target, cancel, clock), times, deadline)
    return CostModel({size: _typical(found) for size, found in times.items()}, draft_ms)


def _measure_sizes(meter: Meter, times: dict[int, list[float]], deadline: float) -> None:
    """Add times of larger sizes to `times`, and more of all, until the deadline."""
    sizes = [size for size in SIZES if size <= meter.room]
    groups = [sizes[first : first + _NEAR] * 2 for first in range(0, len(sizes), _NEAR)]
    for size in [size for group in [*groups, [1, *sizes]] for size in group]:
        expected = CostModel({known: _typical(found) for known, found in times.items()}).verify(size)
        if meter.clock() + (2 if size == 1 else 1) * expected / MS > deadline:
            return
        if size == 1:  # After another size a small model takes half as long again, and plain decoding has only one.
            meter.forward(1)
        milliseconds = meter.forward(size)
        times.setdefault(size, []).append(milliseconds)


def _typical(times: Collection[float]) -> float:
    """Return a low one, but not the lowest of many: what disturbs makes it longer."""
    return sorted(times)[len(times) // 2 // 2]


def costs_for(
    target: Backend, draft: Backend | None, key: str | None, *, free: Collection[Backend] = (), **options: Any
) -> CostModel:
    """Return the costs that are remembered under `key`, or else calibrate and remember them (not where it is None)."""
    costs = None if key is None else recall(key, target, draft, free)
    if costs is None:
        costs = calibrate(target, draft, free=free, **options)
        if key is not None:
            remember(key, costs, threads=chosen_threads(target, draft, free))
    return costs


def recall(key: str, target: Backend, draft: Backend | None, free: Collection[Backend]) -> CostModel | None:
    """Return the remembered costs, giving the models in `free` their numbers of threads; None without both."""
    costs, known, wanted = remembered(key), remembered_part(key, "threads"), chosen_threads(target, draft, free)
    if costs is None or not all(is_count(known.get(name)) for name in wanted):
        return None
    for name, backend in (("target", target), ("draft", draft)):
        if name in wanted and backend is not None:
            backend.set_threads(known[name])
    return costs


def chosen_threads(target: Backend, draft: Backend | None, free: Collection[Backend]) -> dict[str, int]:
    """Return how many threads those of the models have that are in `free`: {"target": …, "draft": …}."""
    both = ("target", target), ("draft", draft)
    return {name: backend.threads for name, backend in both if backend is not None and backend in free}


def costs_key(
    target: Backend,
    target_config: LoadConfig | None,
    draft: Backend | None = None,
    draft_config: LoadConfig | None = None,
) -> str | None:
    """Name this machine, its libraries and kernels, and both models as they are now and as they were loaded.

    None where a model has no configuration (it was given as it is), or its files have gone.
    """
    machine = describe_machine()
    facts = [physical_cores(), *(machine[name] for name in ("processor", "cores", "libraries", "outrider"))]
    for backend, config in ((target, target_config), (draft, draft_config)):
        if backend is not None and config is None:
            return None
        if backend is not None and config is not None:
            asked = config.threads, config.gpu_layers, config.dtype, config.cache_type
            facts += [asked, backend.context_length, backend.device, backend.own_kernels]
            try:
                stats = [(str(part.absolute()), part.stat()) for part in _files(Path(config.path))]
            except OSError:
                return None
            facts.append([(name, status.st_size, status.st_mtime_ns) for name, status in stats])
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()


def costs_place(key: str) -> Path:
    """Return the file for what is remembered under a key. It may not exist."""
    return cache_folder() / "costs" / f"{key}.json"


def remembered(key: str) -> CostModel | None:
    """Return the costs that are remembered; None where there are none that can be read."""
    try:
        return CostModel.from_json(_read(key))
    except ValueError:
        return None


def remembered_part(key: str, name: str) -> dict[str, Any]:
    """Return what `remember` was given under this name; empty where nothing is remembered."""
    found = _read(key).get(name)
    return found if isinstance(found, dict) else {}


def remember(key: str, costs: CostModel, **parts: Mapping[str, Any]) -> None:
    """Remember costs, if anything was measured, with what is kept beside them (acceptance, threads) or was before."""
    if costs.measured:
        with suppress(OSError):
            write_file(costs_place(key), json.dumps({**_read(key), **costs.to_json(), **parts}).encode())
            forget_oldest(costs_place(key).parent, ".json", _MOST_REMEMBERED)


def _read(key: str) -> dict[str, Any]:
    try:
        data = json.loads(read_file(costs_place(key)))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return list(split_parts(path))
    return sorted(part for part in path.iterdir() if part.suffix in (".safetensors", ".json") and part.is_file())
