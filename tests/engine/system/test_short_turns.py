"""Short turns on a core: Linux takes what it is asked for, and threads that are started later have them too."""

import os
import platform
import re
import sys
import threading
from pathlib import Path

import pytest

from engine.system.short_turns import ask_for_short_turns


def _turn_ns() -> float | None:
    """Nanoseconds of a turn of this thread; None where Linux does not tell."""
    try:
        lines = Path(f"/proc/self/task/{threading.get_native_id()}/sched").read_text().splitlines()
    except OSError:
        return None
    return next((float(line.split(":")[1]) for line in lines if line.startswith("se.slice")), None)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has turns that can be asked for")
def test_a_thread_and_those_that_it_starts_have_short_turns() -> None:
    seen: list[float | None] = []

    def ask() -> None:
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        ask_for_short_turns()
        ask_for_short_turns()
        assert os.getpriority(os.PRIO_PROCESS, 0) == nice
        thread = threading.Thread(target=lambda: seen.append(_turn_ns()))
        thread.start()
        thread.join()
        seen.append(_turn_ns())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert len(seen) == 2
    if None in seen or [int(part) for part in re.findall(r"\d+", platform.release())[:2]] < [6, 12]:
        pytest.skip("this Linux has no such turns, or does not tell of them")
    assert seen == [100_000, 100_000]
