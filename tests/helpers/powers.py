"""The superuser may read everything: a test about what may not be read gives that up for a while."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_VERSION = 0x20080522
_READ_ALL = (1 << 1) | (1 << 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH."""


@contextmanager
def without_powers() -> Iterator[None]:
    """Within, this thread and those that it starts may read only what any user may. Skips where it cannot be."""
    if sys.platform != "linux" or os.geteuid() != 0:
        if sys.platform == "win32":
            pytest.skip("permissions are different there")
        yield
        return
    library = ctypes.CDLL(None, use_errno=True)
    head = (ctypes.c_uint32 * 2)(_VERSION, 0)
    before, data = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    if library.capget(head, before):
        pytest.skip("the powers of this process cannot be told")
    ctypes.memmove(data, before, ctypes.sizeof(data))
    data[0] = before[0] & ~_READ_ALL
    if library.capset(head, data):
        pytest.skip("the powers of this process cannot be given up")
    try:
        yield
    finally:
        library.capset(head, before)
