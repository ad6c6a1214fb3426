"""Call functions of llama.cpp and of the C library in ways that their bindings do not have."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from typing import Any, Protocol

import llama_cpp
import numpy as np
from numpy.typing import NDArray

logits_place: Any = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)(
    ctypes.cast(llama_cpp.llama_get_logits_ith, ctypes.c_void_p).value or 0
)
"""llama.cpp's function, but giving an address: a pointer object costs as much as the rest of the call."""


class Closing(Protocol):
    """Define a part that can be closed."""

    def close(self) -> None:
        """Free the native object."""


def abort_function() -> Any:
    """Return a C function as llama.cpp's abort callback: true when its argument points to a set flag.

    It is the C library's strlen over the flag of a CancelToken, so that no check takes the interpreter lock, which a
    Python callback would do at every node of the graph.
    """
    library = ctypes.cdll.msvcrt if sys.platform == "win32" else ctypes.CDLL(None)
    return ctypes.cast(library.strlen, llama_cpp.ggml_abort_callback)


def read_sequence(context: Any, sequence: int = 0) -> NDArray[np.uint8]:
    """Return a copy of a sequence's cache; empty if llama.cpp gives none."""
    data = np.empty(int(llama_cpp.llama_state_seq_get_size(context, sequence)), np.uint8)
    place = data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
    copied = int(llama_cpp.llama_state_seq_get_data(context, place, data.nbytes, sequence))
    return data if copied == data.nbytes else data[:0]


def write_sequence(context: Any, data: NDArray[np.uint8], sequence: int = 0) -> bool:
    """Put a copy of `read_sequence` into the cache as a sequence; return False if it was refused."""
    place = data.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))
    return bool(llama_cpp.llama_state_seq_set_data(context, place, data.nbytes, sequence))


def free_all(parts: Iterable[Closing | None], batch: Any, context: Any, model: Any) -> None:
    """Close the parts of a backend, then free its llama.cpp objects."""
    for part in parts:
        if part is not None:
            part.close()
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
