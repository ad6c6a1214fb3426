"""Describe the machine: its processor and cores, its free memory, and its load by other programs."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil

from engine._version import __version__

_TINY_MODEL = 32 * 2**20
_SPINS = 3000
"""Spins of a waiting thread before it sleeps: 0.05 to 0.2 ms, about as long as waking a thread takes."""
_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_NO_MEMORY = re.compile(
    r"bad_alloc|insufficient memory|out of memory|(failed|unable) to (allocate|reserve memory)|cannot allocate memory"
    r"|MemoryError|failed to map segment|memory allocation (still )?failed|(mem_buffer|galloc\S*) != NULL"
    r"|can't start new thread|pthread_create failed|resource temporarily unavailable"
    r"|CUBLAS_STATUS_(NOT_INITIALIZED|ALLOC_FAILED)",
    re.IGNORECASE,
)
_LIBRARIES = ("llama-cpp-python", "numpy", "torch", "transformers")
_INSTALLED = re.compile(r"(\w+)-([^-]+)\.dist-info")


def describe_machine() -> dict[str, Any]:
    """Return processor, logical and physical cores, memory in GiB, system, and versions by name of installed parts."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "physical_cores": psutil.cpu_count(logical=False),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "outrider": __version__,
        "libraries": {name: _installed()[name] for name in _LIBRARIES if name in _installed()},
    }


@cache
def _installed() -> dict[str, str]:
    """Return the versions of installed packages. importlib.metadata would import much, at each start."""
    found: dict[str, str] = {}
    for folder in sys.path:
        with suppress(OSError):
            for match in (_INSTALLED.fullmatch(each.name) for each in Path(folder).iterdir()):
                if match is not None:
                    found.setdefault(match[1].replace("_", "-"), match[2])
    return found


@cache
def _processor() -> str:
    """Return its name as Linux tells it, or else as Python does, which may start a program for it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine() or "unknown"


class OtherPrograms:
    """Measure the processors' load by other programs, or by the host of this machine, since its creation."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = perf_counter(), _busy_seconds(), _own_seconds()

    def share(self) -> float:
        """Return the share of all processors since then, 0 to 1.

        Below a second it is rough: systems count in 10 ms steps.
        """
        return min(self.cores() / (os.cpu_count() or 1), 1.0)

    def cores(self) -> float:
        """Return the processors used since then: 0.5 is half of one."""
        taken = (_busy_seconds() - self._busy) - (_own_seconds() - self._own)
        return max(taken / (perf_counter() - self._began), 0.0)


class BusyWatch:
    """Watch other programs' use of the processor: half of a core counts, over a quarter of a second at least.

    A look costs a tenth of a millisecond and comes no more often than that, so `busy` may be asked in each round.
    """

    EVERY_S, STALE_S, CORES = 0.25, 2.0, 0.5

    def __init__(self) -> None:
        self._others, self._at, self._busy = OtherPrograms(), perf_counter(), False

    def busy(self) -> bool:
        """Return the state at the last look. What was long ago is no look: then the next one is awaited."""
        now = perf_counter()
        age = now - self._at
        if age >= self.EVERY_S:
            if age < self.STALE_S:
                self._busy = self._others.cores() >= self.CORES
            self._others, self._at = OtherPrograms(), now
        return self._busy


@cache
def machine_watch() -> BusyWatch:
    """Return the one of this process."""
    return BusyWatch()


def _own_seconds() -> float:
    return sum(os.times()[:2])


def _busy_seconds() -> float:
    times = psutil.cpu_times()._asdict()
    return float(sum(times.get(name, 0.0) for name in ("user", "nice", "system", "irq", "softirq", "steal")))


# Cores ----------------------------------------------------------------------------------------------------------------


def logical_cores() -> int:
    """Return the logical cores (hardware threads) that this process may use, 1 at least."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def physical_cores() -> int:
    """Return the physical cores that this process may use, 1 at least."""
    logical = logical_cores()
    return max(1, min(psutil.cpu_count(logical=False) or logical, logical))


def default_threads(model_bytes: int) -> int:
    """Return one thread for each physical core that this process may use; one for a model of a few megabytes.

    Threads meet after every operation. Where an operation takes microseconds, one thread that another program (or our
    own window) holds up costs more than the others save: a token of the bundled target takes 0.3 ms on one thread; on
    two it was 0.2 ms at best, and 10 to 1300 ms beside programs that were busy on both cores.
    """
    return 1 if is_tiny(model_bytes) else physical_cores()


def is_tiny(model_bytes: int) -> bool:
    """Return True if a model is of a few megabytes only, so that its operations are over in microseconds."""
    return model_bytes < _TINY_MODEL


@contextmanager
def short_spins() -> Iterator[None]:
    """Limit the spinning of the OpenMP library (GNU's) that is loaded within: its threads soon sleep while they wait.

    Left to itself a thread spins for 5 to 20 ms at each barrier. Where another program has taken the core of the thread
    that it waits for, that is most of its own time: beside two busy programs on two cores a token took 50 times as long
    as alone. It reads the variable once, when it is loaded; what somebody has set stays.
    """
    if {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"} & os.environ.keys():
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = str(_SPINS)
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]


# Memory ---------------------------------------------------------------------------------------------------------------


def available_memory(root: Path = _ROOT, own: Path = _OWN) -> int:
    """Return bytes that can be used without swapping, within the limits of the control groups (Linux) around us."""
    free = int(psutil.virtual_memory().available)
    left = [group_left for group in _groups(root, own) if (group_left := _left(group)) is not None]
    return max(0, min([free, *left]))


def tells_of_no_memory(complaint: str) -> bool:
    """Return True if a complaint of llama.cpp, C++, Python or the loader of libraries says that memory ran out."""
    return _NO_MEMORY.search(complaint) is not None


def _groups(root: Path, own: Path) -> list[Path]:
    """Return the folders of our control group and of those around it (version 2, or the memory tree of version 1)."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if controllers in {"", "memory"}:
            top = root / controllers
            group = top / name.lstrip("/")
            found.append(group)
            found.extend(parent for parent in group.parents if parent.is_relative_to(top))
    return found


def _left(group: Path) -> int | None:
    """Return bytes left in one group, or None if it has no limit."""
    limit = _number(group / "memory.max") or _number(group / "memory.limit_in_bytes")
    used = _number(group / "memory.current") or _number(group / "memory.usage_in_bytes")
    if limit is None or used is None:
        return None
    return max(0, limit - used + _cached(group / "memory.stat"))


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _cached(path: Path) -> int:
    """Return bytes of files kept in memory, which are given up when memory gets short."""
    try:
        pairs = dict(line.split(maxsplit=1) for line in path.read_text().splitlines())
        return int(pairs.get("inactive_file", 0)) + int(pairs.get("active_file", 0))
    except (OSError, ValueError):
        return 0
