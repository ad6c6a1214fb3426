"""Run recursive library calls where a stack overflow would end the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")
_lock = threading.Lock()
_LEAST = 2**24


def with_deep_stack(work: Callable[[], _T], size: int) -> _T:
    """Run `work` on a thread whose stack has `size` bytes more than usual, and return its result.

    Memory is taken only for what is used of it.
    """
    with ThreadPoolExecutor(1, "outrider-deep") as thread:
        with _lock:  # Until the thread is there, and no longer: others have long texts too.
            usual = threading.stack_size(_LEAST + size)
            try:
                task = thread.submit(work)
            finally:
                threading.stack_size(usual)
        return task.result()
