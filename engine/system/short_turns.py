"""Ask Linux for short turns on a core, as suits threads that wait for each other after every operation.

Beside other programs a thread gets its fair part of a core either way. In turns of 0.1 ms, not of some, it goes on soon
after the one that it waited for: a small model wrote a tenth more beside two busy programs on two cores.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
import threading

_CALLS = {"x86_64": 314, "aarch64": 274}
"""The number of sched_setattr, for which C libraries have no function, by architecture."""
_TURN_NS = 100_000
"""The shortest that Linux gives."""
_threads = threading.local()


def ask_for_short_turns() -> None:
    """Ask for this thread and those that it starts from now on, once. Linux before 6.12 does nothing."""
    if getattr(_threads, "asked", False):
        return
    _threads.asked = True
    number = _CALLS.get(platform.machine())
    if sys.platform != "linux" or number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return
    # Size, policy, flags, nice, priority; runtime, deadline and period; two limits of use.
    attributes = struct.pack(
        "IIQiIQQQII", 56, os.SCHED_OTHER, 0, os.getpriority(os.PRIO_PROCESS, 0), 0, _TURN_NS, *[0] * 4
    )
    ctypes.CDLL(None).syscall(number, 0, attributes, 0)  # Where it is refused turns stay as they are.
