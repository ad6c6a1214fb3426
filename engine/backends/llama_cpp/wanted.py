"""Compute only the wanted rows of a model's output layer (kernels/wanted.h)."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.backends.llama_cpp.library import processor_library


@cache
def _functions() -> tuple[Any, Any] | None:
    """Return the functions for an output layer's weights and wanted rows; None if they are lacking."""
    try:
        library = processor_library()
        find, want = library.outrider_output_weights, library.outrider_want_rows
    except (OSError, AttributeError):
        return None
    find.restype, find.argtypes = ctypes.c_void_p, []
    want.restype, want.argtypes = ctypes.c_bool, [ctypes.c_void_p, ctypes.c_void_p]
    return find, want


class WantedRows:
    """Select the rows of the output layer that a forward computes: all, or the groups set in a bit mask."""

    def __init__(self) -> None:
        self._bits: NDArray[np.uint64] | None = None
        self._weights: int | None = None

    def want(self, bits: NDArray[np.uint64] | None) -> bool:
        """Compute the rows of these bits alone from now on (None: all); return False if not supported."""
        functions = _functions()
        if functions is None:
            return False
        before, self._bits = self._bits, bits  # Kept: the library reads them where they are.
        if self._weights is None or before is bits:
            return True
        return bool(functions[1](self._weights, None if bits is None else bits.ctypes.data))

    def find(self) -> None:
        """Find the weights, on the thread that asked for logits just now."""
        functions = _functions()
        if self._bits is not None and self._weights is None and functions is not None:
            self._weights = functions[0]()
            if self._weights is not None:
                functions[1](self._weights, self._bits.ctypes.data)

    def close(self) -> None:
        """Want all rows: the memory of the weights will be another's."""
        self.want(None)
