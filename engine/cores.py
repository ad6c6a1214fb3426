"""How many processor cores this process may use."""

from __future__ import annotations

import os

import psutil


def physical_cores() -> int:
    """Physical cores that this process may use, 1 at least."""
    logical = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return max(1, min(psutil.cpu_count(logical=False) or logical, logical))
