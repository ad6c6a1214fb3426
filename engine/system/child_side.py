"""Make a child process of this program harmless, within limits of memory and time."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import resource

LIMITS_ITSELF = sys.platform == "linux"
"""Whether a process can limit the memory that it takes. macOS has the call and ignores it."""
_HEAD = 8
"""Bytes before each message, which say how long it is."""


def own_output() -> BinaryIO:
    """Return the standard output, for messages alone; what a library prints goes the way of the errors."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return out


def be_harmless() -> None:
    """Leave no core file and no crash dialog behind, and be the first to go when memory gets short."""
    if sys.platform == "win32":
        ctypes.windll.kernel32.SetErrorMode(0x8003)
    else:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")


def limit_memory(size: int) -> None:
    """Let this process take so many bytes more than now: what exceeds them raises MemoryError, or ends the process."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError):
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + size
            resource.setrlimit(resource.RLIMIT_AS, (most, most))


def limit_seconds(seconds: float) -> None:
    """Let this process compute so many seconds more; then SIGPROF ends it, also where the parent is gone.

    Its own processor time counts, not the clock: beside other programs the same work takes longer.
    """
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def write_message(pipe: BinaryIO, data: bytes) -> None:
    """Send a message to the other side. Raises OSError."""
    rest = memoryview(len(data).to_bytes(_HEAD, "big") + data)
    while rest:
        rest = rest[pipe.write(rest) or 0 :]
    pipe.flush()


def read_message(pipe: BinaryIO, most: int) -> bytes | None:
    """Return the next message of the other side; None where it ended, or sends more than `most` bytes."""
    head = _read(pipe, _HEAD)
    size = None if head is None else int.from_bytes(head, "big")
    return None if size is None or size > most else _read(pipe, size)


def _read(pipe: BinaryIO, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size > 0:
        part = pipe.read(size)
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
