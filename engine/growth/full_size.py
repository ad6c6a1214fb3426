"""Grow the demo target until it takes a few hundredths of a second a token on this machine, as a real model would."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from math import log
from pathlib import Path
from time import perf_counter, process_time
from typing import Literal

from engine.cancel import CancelToken
from engine.config import LoadConfig
from engine.errors import GrowthError
from engine.growth.arithmetic import GrownShape, Growth, Kind, SmallModel
from engine.growth.grown import grown_target, name_of
from engine.library.names import bundled_pair
from engine.loading.open import open_backend
from engine.system.cache_files import full_size_folder
from engine.system.files import private_folder
from engine.system.machine import available_memory, default_threads
from engine.translatable import Translatable

GOAL_MS, LEAST_MS, MOST_MS = 28.0, 20.0, 40.0
"""A token of the grown target takes about as long as this, between these."""
_SAMPLE = GrownShape(16, 1152, 3072)
"""Large enough that its weights come from memory and not from the processor's caches."""
_WARM, _TIMED, _TIMING_S = 2, 16, 1.5
_LEAST_PACE = 8e6
"""Bytes in a millisecond that any machine reads: less was measured only while other programs took the processors."""
_MEMORY_SHARE, _DISK_SHARE = 0.4, 0.5
"""The shares of free memory and disk that it may take."""
_MOST_BYTES = 6_000_000_000
_WIDTHS = range(512, 4097, 128)


@dataclass(frozen=True, slots=True)
class FullSize:
    """Hold the demo target at full size.

    Attributes: path (a GGUF file in the user's cache, which may be deleted), parameters, size (bytes), expected_ms (a
    token of it on this machine), limited_by (what kept it smaller than it should be, None if nothing did).
    """

    path: Path
    parameters: int
    size: int
    expected_ms: float
    limited_by: Literal["memory", "disk"] | None = None


def full_size_target(
    *,
    folder: Path | None = None,
    cancel: CancelToken | None = None,
    note: Callable[[float], None] = lambda _fraction: None,
) -> FullSize:
    """Return the demo target at the size that takes 20 to 40 ms a token here, made if it is missing.

    A small sample is grown and timed first. Where memory or the disk is too short, it is smaller; grown targets of
    other sizes are removed. `note` receives the progress, 0 to 1. Raises GrowthError, LoadFailed, Cancelled.
    """
    folder = full_size_folder() if folder is None else folder
    cancel = CancelToken() if cancel is None else cancel
    target = bundled_pair()[0]
    small = SmallModel(target)
    private_folder(folder)
    bytes_per_ms = _measured_pace(target, folder, cancel)
    note(0.3)
    cancel.check()
    shape, limit = choose_shape(small, bytes_per_ms, *_room(folder))
    growth = Growth(small, shape, Kind.Q8_0)
    path = folder / name_of(growth, "q8_0")
    for other in folder.glob("*.gguf"):
        if other != path:
            other.unlink(missing_ok=True)
    grown_target("q8_0", shape, folder=folder, target=target)
    path.chmod(0o600)
    note(1.0)
    return FullSize(path, growth.parameters, growth.size, growth.size / bytes_per_ms, limit)


def choose_shape(
    small: SmallModel, bytes_per_ms: float, memory: int, disk: int
) -> tuple[GrownShape, Literal["memory", "disk"] | None]:
    """Return the shape that comes closest to GOAL_MS, and the limit that kept it smaller, if any.

    `bytes_per_ms`: the weights that this machine reads in a millisecond; `memory`, `disk`: bytes that it may take.
    Raises GrowthError if not even the smallest fits.
    """
    sizes = {shape: Growth(small, shape, Kind.Q8_0).size for shape in _shapes(small)}
    room = min(memory, disk, _MOST_BYTES)
    fitting = {shape: size for shape, size in sizes.items() if size <= room}
    if not fitting:
        raise GrowthError(
            Translatable(
                "The demo at full size needs at least {needed:.1f} GB of memory and disk. Free some, and try again.",
                needed=min(sizes.values()) / 1e9,
            )
        )
    goal = GOAL_MS * bytes_per_ms
    chosen = min(fitting, key=lambda shape: abs(log(fitting[shape] / goal)))
    limited = fitting[chosen] < LEAST_MS * bytes_per_ms and room < _MOST_BYTES
    return chosen, ("memory" if memory <= disk else "disk") if limited else None


def _shapes(small: SmallModel) -> list[GrownShape]:
    """Return shapes of the proportions of real models."""
    wide = [width for width in _WIDTHS if width >= small.width]
    found = [GrownShape(max(width // 96, small.layers), width, width * 11 // 4 // 32 * 32) for width in wide]
    return [shape for shape in found if shape.feed_forward >= small.feed_forward]


def _room(folder: Path) -> tuple[int, int]:
    """Return the bytes of memory and of disk that a grown target may take. What it replaces is free by then."""
    kept = sum(path.stat().st_size for path in folder.glob("*.gguf"))
    return int(_MEMORY_SHARE * available_memory()), int(_DISK_SHARE * (shutil.disk_usage(folder).free + kept))


def _measured_pace(target: Path, folder: Path, cancel: CancelToken) -> float:
    """Return the number of bytes of weights a forward of one token reads in a millisecond here, from a small sample."""
    sample = grown_target("q8_0", _SAMPLE, folder=folder, target=target)
    try:
        size = sample.stat().st_size
        # It was made here, so it need not be tried in a child process first.
        backend = open_backend(LoadConfig(sample, context_length=64, trusted=True), cancel=cancel)
        try:
            times: list[float] = []
            started = perf_counter()
            while len(times) < _WARM + 1 or (len(times) < _WARM + _TIMED and perf_counter() - started < _TIMING_S):
                cancel.check()
                began, worked = perf_counter(), process_time()
                backend.forward([1], 1)
                # Where other programs take the processors, the time that our threads really had tells more.
                seconds = min(perf_counter() - began, (process_time() - worked) / default_threads(size))
                times.append(1000.0 * seconds)
        finally:
            backend.close()
        # The quickest: what disturbs a forward only makes it longer.
        return max(size / min(times[_WARM:]), _LEAST_PACE)
    finally:
        sample.unlink(missing_ok=True)
