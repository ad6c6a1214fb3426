"""How many processor cores this process may use."""

from __future__ import annotations

import os

import psutil

_TINY_MODEL = 32 * 2**20


def logical_cores() -> int:
    """Logical cores (hardware threads) that this process may use, 1 at least."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def physical_cores() -> int:
    """Physical cores that this process may use, 1 at least."""
    logical = logical_cores()
    return max(1, min(psutil.cpu_count(logical=False) or logical, logical))


def default_threads(model_bytes: int) -> int:
    """One thread for each physical core that this process may use; one for a model of a few megabytes.

    Threads meet after every operation. Where an operation takes microseconds, one thread that another program (or our
    own window) holds up costs more than the others save: a token of the bundled target takes 0.3 ms on one thread; on
    two it was 0.2 ms at best, and 10 to 1300 ms beside programs that were busy on both cores.
    """
    return 1 if is_tiny(model_bytes) else physical_cores()


def is_tiny(model_bytes: int) -> bool:
    """Whether a model is of a few megabytes only, so that its operations are over in microseconds."""
    return model_bytes < _TINY_MODEL
