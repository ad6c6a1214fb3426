"""The machine that something was measured on: its processor, its memory, and what runs there."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil

from engine._version import __version__

_LIBRARIES = ("llama-cpp-python", "numpy", "torch", "transformers")


def describe_machine() -> dict[str, Any]:
    """Processor, cores (logical and physical), memory in GiB, system, and versions by name, of what is installed."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "physical_cores": psutil.cpu_count(logical=False),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "outrider": __version__,
        "libraries": {name: found for name in _LIBRARIES if (found := _version(name)) is not None},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """Its name as Linux tells it, or else as Python does."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine() or "unknown")


class OtherPrograms:
    """Watches, from when it is made, how much of the processors other programs take, or the host of this machine."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = perf_counter(), _busy_seconds(), _own_seconds()

    def share(self) -> float:
        """The share of all processors since then, 0 to 1. Below a second it is rough: systems count in 10 ms steps."""
        return min(self.cores() / (os.cpu_count() or 1), 1.0)

    def cores(self) -> float:
        """How many of the processors since then: 0.5 is half of one."""
        taken = (_busy_seconds() - self._busy) - (_own_seconds() - self._own)
        return max(taken / (perf_counter() - self._began), 0.0)


def _own_seconds() -> float:
    return sum(os.times()[:2])


def _busy_seconds() -> float:
    times = psutil.cpu_times()._asdict()
    return float(sum(times.get(name, 0.0) for name in ("user", "nice", "system", "irq", "softirq", "steal")))
