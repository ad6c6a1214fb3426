"""Start, watch and end child processes of this program, from the parent's side.

A child runs what may crash, never end or take all memory. A frozen program has no `python` to start: the child is the
program itself with a hidden command (engine.system.hidden_commands). engine.system.child_side is the other side.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.system.child_side import LIMITS_ITSELF

_POLL_S = 0.05
_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from engine.system.hidden_commands import run_hidden_command; sys.exit(run_hidden_command(sys.argv[1:]))"
)


def child_command(hidden: str, argument: str = "") -> list[str]:
    """Return the command line that runs a hidden command of this program, whatever the current folder is."""
    if getattr(sys, "frozen", False):
        return [sys.executable, hidden, argument]
    root = os.fspath(Path(__file__).resolve().parents[2])
    return [sys.executable, "-P", "-c", _BOOT, root, hidden, argument]


def start_child(command: list[str], *, errors: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a child whose input and output are pipes; `errors`: the target of its standard error. Raises OSError.

    It stands in a process group of its own: Ctrl+C in a terminal reaches the parent alone, which decides what ends.
    """
    apart: dict[str, Any] = {} if sys.platform == "win32" else {"process_group": 0}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=os.environ | {"GGML_NO_BACKTRACE": "1"},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        **apart,
    )


def end_child(process: subprocess.Popen[bytes]) -> None:
    """Kill a child, wait until it is gone, and close its pipes. No thread may be reading or writing them."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # What was still to be written cannot be.
                pipe.close()


def ask_child(command: list[str], memory: int, check: Callable[[], None], request: bytes | None = None) -> bytes | None:
    """Return all that a child says until it ends; None if it took more memory than so many bytes.

    `request`: its input; `check`: called all the time, and may raise an error, which ends it. Raises OSError
    where it cannot be started.
    """
    process = start_child(command)
    watch = MemoryWatch(process, memory)
    try:
        while not watch.exceeded():
            try:
                return process.communicate(request, timeout=_POLL_S)[0]
            except BrokenPipeError:
                return b""
            except subprocess.TimeoutExpired:
                request = None
            check()
        return None
    finally:
        end_child(process)
        watch.close()


class MemoryWatch:
    """Hold a child's memory below a limit where the child cannot do so itself.

    On Windows a job object limits it, and ends the child with this process; elsewhere, and where that fails, the
    parent looks at it from time to time. Neither has been tested on the systems that need it.
    """

    def __init__(self, process: subprocess.Popen[bytes], limit: int) -> None:
        self._limit = limit
        self._job: Any = None
        self._seen: Any = None
        if LIMITS_ITSELF:
            return
        if sys.platform == "win32":
            self._job = _limited_by_job(process, limit)
        import psutil  # noqa: PLC0415 - only these systems need it, and it takes its time

        with suppress(psutil.Error):
            self._seen = psutil.Process(process.pid)

    def exceeded(self) -> bool:
        """Return True if the child takes more than the limit now."""
        if self._seen is None:
            return False
        import psutil  # noqa: PLC0415 - as above

        try:
            return bool(self._seen.memory_info().rss > self._limit)
        except psutil.Error:
            return False

    def close(self) -> None:
        """Release the job object. The child is ended with it."""
        if self._job is not None and sys.platform == "win32":
            ctypes.windll.kernel32.CloseHandle(self._job)
        self._job = self._seen = None


if sys.platform == "win32":
    from ctypes import wintypes

    class _BasicLimits(ctypes.Structure):
        _fields_ = (
            ("per_process_time", ctypes.c_int64),
            ("per_job_time", ctypes.c_int64),
            ("flags", wintypes.DWORD),
            ("minimum_working_set", ctypes.c_size_t),
            ("maximum_working_set", ctypes.c_size_t),
            ("active_processes", wintypes.DWORD),
            ("affinity", ctypes.c_size_t),
            ("priority", wintypes.DWORD),
            ("scheduling", wintypes.DWORD),
        )

    class _Limits(ctypes.Structure):
        _fields_ = (
            ("basic", _BasicLimits),
            ("io", ctypes.c_uint64 * 6),
            ("process_memory", ctypes.c_size_t),
            ("job_memory", ctypes.c_size_t),
            ("peak_process_memory", ctypes.c_size_t),
            ("peak_job_memory", ctypes.c_size_t),
        )

    _PROCESS_MEMORY, _KILL_ON_CLOSE, _EXTENDED_LIMITS = 0x100, 0x2000, 9

    def _limited_by_job(process: subprocess.Popen[bytes], limit: int) -> Any:
        """Put a child into a job object with a limit of memory; None where Windows refuses."""
        kernel = ctypes.windll.kernel32
        kernel.CreateJobObjectW.restype = wintypes.HANDLE
        job = kernel.CreateJobObjectW(None, None)
        if not job:
            return None
        limits = _Limits()
        limits.basic.flags = _PROCESS_MEMORY | _KILL_ON_CLOSE
        limits.process_memory = limit
        handle, size = wintypes.HANDLE(job), ctypes.sizeof(limits)
        child = wintypes.HANDLE(int(process._handle))  # type: ignore[attr-defined]  # noqa: SLF001 - it has no other name
        if kernel.SetInformationJobObject(
            handle, _EXTENDED_LIMITS, ctypes.byref(limits), size
        ) and kernel.AssignProcessToJobObject(handle, child):
            return handle
        kernel.CloseHandle(handle)
        return None
