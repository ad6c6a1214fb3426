"""Make a child process of this program harmless, within limits of memory and time."""

from __future__ import annotations

import codecs
import ctypes
import encodings.aliases
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import process_time
from typing import Any, BinaryIO

from engine.translatable import Translatable, packed

if sys.platform != "win32":
    import resource

LIMITS_ITSELF = sys.platform == "linux"
"""True if a process can limit its memory. macOS has the call and ignores it."""
_HEAD = 8
"""The length prefix of each message, in bytes."""
_MOST_REQUEST_BYTES = 2**27
Tell = Callable[[Mapping[str, Any]], None]
"""Sends a part of an answer."""


def answer_parent(answer: Callable[[dict[str, Any], bytes, Tell], None], memory: int) -> int:
    """Answer one request within limits, and give the exit code; `memory`: bytes that answering may take.

    A request has what is asked, with the "seconds" that each part of the answer may take, and bytes. `answer` tells
    the parts.
    """
    out = own_output()
    be_harmless()
    write_message(out, b"{}")
    with os.fdopen(0, "rb", closefd=False) as requests:
        data = read_message(requests, _MOST_REQUEST_BYTES)
    if data is None:
        return 1
    head, _, data = data.partition(b"\n")
    request = json.loads(head)
    limit_seconds(request["seconds"])
    limit_memory(memory)

    def tell(said: Mapping[str, Any]) -> None:
        encoded = json.dumps({**said, "used": process_time()}, ensure_ascii=False).encode("utf-8", "replace")
        write_message(out, encoded)
        limit_seconds(request["seconds"])

    try:
        answer(request, data, tell)
    except MemoryError:
        tell({"reason": packed(Translatable("reading it takes too much memory"))})
    except OSError:  # The parent is gone.
        return 1
    return 0


def close_doors() -> None:
    """Forbid this process to open files and connections. All that it needs is imported by now.

    Encodings are modules that Python imports when they are first used.
    """
    for encoding in {*encodings.aliases.aliases.values(), "utf_8_sig", "idna", "punycode"}:
        with suppress(LookupError):
            codecs.lookup(encoding)
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def own_output() -> BinaryIO:
    """Return the standard output, for messages alone; libraries' output is redirected to the errors."""
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
    """Limit this process to so many bytes more than now: beyond that it gets MemoryError, or ends."""
    if sys.platform == "linux":
        with suppress(OSError, ValueError):
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            most = pages * resource.getpagesize() + size
            resource.setrlimit(resource.RLIMIT_AS, (most, most))


def limit_seconds(seconds: float) -> None:
    """Limit this process to so many seconds of computing; then SIGPROF ends it, also if the parent is gone.

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
    """Return the next message of the other side; None if it ended, or sends more than `most` bytes."""
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
