"""Run the program as its users do: in a process of its own."""

import ctypes
import gc
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from helpers.paths import ROOT, TESTS


def run_python(
    *arguments: str, env: Mapping[str, str] | None = None, timeout: float = 120, umask: int = -1
) -> subprocess.CompletedProcess[str]:
    """Run this interpreter in the project's folder; the helpers are importable there."""
    environment = dict(os.environ if env is None else env)
    environment["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(ROOT)])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        umask=umask,
    )


def run_engine(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "engine", *arguments, timeout=timeout)


def memory_in_use() -> int:
    """Bytes that this process takes, without garbage and, with glibc, without what its allocator keeps for later."""
    gc.collect()
    if sys.platform == "linux":
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


def own_clock() -> float:
    """Return seconds that stand still while this thread waits for a processor; where there is Linux to tell of that.

    For bounds on what a thread does, computes or waits for, by itself: other programs beside it do not count.
    """
    waited = 0
    with suppress(OSError):
        waited = int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1])
    return time.perf_counter() - waited / 1e9


MARK = "OUTRIDER_TEST_MARK"
"""What a test puts into the environment of a process, whose children have it too."""


def left_of(mark: str, patience: float = 20.0) -> list[str]:
    """Wait until no process with this mark is there; give those that are still there after so long (seconds)."""
    deadline = time.monotonic() + patience
    while (found := _marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _marked(mark: str) -> list[str]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == mark:
                found.append(" ".join(process.cmdline()))
    return found
