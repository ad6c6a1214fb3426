"""The machine that something was measured on: its processor, its memory, and what runs there."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
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
