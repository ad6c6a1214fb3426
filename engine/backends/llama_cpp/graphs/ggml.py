"""Compute with ggml, the library of llama.cpp's tensors, on the processor: matrices of any of its types."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterable
from functools import cache
from typing import Any

import llama_cpp
import numpy as np
from numpy.typing import NDArray

from engine.backends.llama_cpp.library import base_library, ggml_library, prepare_library
from engine.errors import BackendFailure
from engine.translatable import Translatable

FLOAT32, FLOAT16, Q8_0 = llama_cpp.GGML_TYPE_F32, llama_cpp.GGML_TYPE_F16, llama_cpp.GGML_TYPE_Q8_0
BLOCK = 32
"""Numbers in a block of Q8_0: its rows have a multiple of so many."""
_PROCESSOR = 0
"""ggml's number for the kind of device that the processor is."""
_PLACE, _SIZE, _COUNT, _KIND, _FLAG = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, ctypes.c_int, ctypes.c_bool


class _Memory(ctypes.Structure):
    """Describe the memory of a ggml context (ggml_init_params)."""

    _fields_ = (("size", _SIZE), ("place", _PLACE), ("without_data", _FLAG))


_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "init": (_PLACE, (_Memory,)),
    "free": (None, (_PLACE,)),
    "tensor_overhead": (_SIZE, ()),
    "graph_overhead_custom": (_SIZE, (_SIZE, _FLAG)),
    "new_tensor_2d": (_PLACE, (_PLACE, _KIND, _COUNT, _COUNT)),
    "mul_mat": (_PLACE, (_PLACE, _PLACE, _PLACE)),
    "add": (_PLACE, (_PLACE, _PLACE, _PLACE)),
    "silu": (_PLACE, (_PLACE, _PLACE)),
    "new_graph_custom": (_PLACE, (_PLACE, _SIZE, _FLAG)),
    "build_forward_expand": (None, (_PLACE, _PLACE)),
    "get_data": (_PLACE, (_PLACE,)),
    "nbytes": (_SIZE, (_PLACE,)),
    "row_size": (_SIZE, (_KIND, _COUNT)),
    "quantize_chunk": (_SIZE, (_KIND, _PLACE, _PLACE, _COUNT, _COUNT, _COUNT, _PLACE)),
    "backend_alloc_ctx_tensors": (_PLACE, (_PLACE, _PLACE)),
    "backend_buffer_free": (None, (_PLACE,)),
    "backend_graph_compute": (_KIND, (_PLACE, _PLACE)),
    "backend_free": (None, (_PLACE,)),
}
"""Functions by name without `ggml_`: the result, the arguments."""


@cache
def _functions() -> dict[str, Any]:
    prepare_library()
    base = base_library()
    return {
        name: ctypes.CFUNCTYPE(result, *arguments)((f"ggml_{name}", base))
        for name, (result, arguments) in _FUNCTIONS.items()
    }


class Computation:
    """Hold tensors of ggml and their computations. A tensor and a graph are numbers: ggml's addresses.

    All are made before `allocate`, and filled behind it. `tensors`: how many there will be at most, results of
    operations included; `graphs`: how many graphs of them.
    """

    def __init__(self, tensors: int, graphs: int) -> None:
        self._call = call = _functions()
        self._nodes = tensors
        size = tensors * call["tensor_overhead"]() + graphs * call["graph_overhead_custom"](tensors, False)
        self._context = call["init"](_Memory(size, None, True))
        self._backend, self._set_threads = _processor()
        self._threads = 0
        self._buffers: list[int] = []
        self._free = weakref.finalize(self, _free, self._buffers, self._backend, self._context)

    def new(self, kind: int, columns: int, rows: int = 1) -> int:
        """Return a new tensor without contents, of so many rows."""
        return int(self._call["new_tensor_2d"](self._context, kind, columns, rows))

    def product(self, matrix: int, columns: int) -> int:
        """Return the products of a matrix's rows with each of the columns, which lie one behind the other."""
        return int(self._call["mul_mat"](self._context, matrix, columns))

    def sum(self, one: int, other: int) -> int:
        """Return the sum of two tensors."""
        return int(self._call["add"](self._context, one, other))

    def silu(self, tensor: int) -> int:
        """Return x · sigmoid(x) of each number."""
        return int(self._call["silu"](self._context, tensor))

    def graph(self, results: Iterable[int]) -> int:
        """Return a graph that computes these tensors."""
        graph = int(self._call["new_graph_custom"](self._context, self._nodes, False))
        for tensor in results:
            self._call["build_forward_expand"](graph, tensor)
        return graph

    def allocate(self) -> None:
        """Allocate the memory of every tensor. Raises BackendFailure if there is not enough."""
        buffer = self._call["backend_alloc_ctx_tensors"](self._context, self._backend)
        if not buffer:
            raise BackendFailure(Translatable("there may not be enough memory"))
        self._buffers.append(buffer)

    def size(self, tensor: int) -> int:
        """Return the bytes of a tensor."""
        return int(self._call["nbytes"](tensor))

    def floats(self, tensor: int) -> NDArray[np.float32]:
        """Return a view of the numbers of a tensor of the type FLOAT32."""
        memory = (ctypes.c_char * self.size(tensor)).from_address(self._call["get_data"](tensor))
        return np.frombuffer(memoryview(memory), np.float32)

    def fill(self, tensor: int, kind: int, first: int, rows: NDArray[np.float32]) -> None:
        """Write rows into a tensor of a type, from the row `first` on."""
        rows = np.ascontiguousarray(rows, np.float32)
        count, columns = rows.shape
        place = self._call["get_data"](tensor) + first * self._call["row_size"](kind, columns)
        self._call["quantize_chunk"](kind, rows.ctypes.data, place, 0, count, columns, None)

    def compute(self, graph: int, threads: int) -> None:
        """Compute a graph. Raises BackendFailure."""
        if threads != self._threads:
            self._threads = threads
            self._set_threads(self._backend, threads)
        status = self._call["backend_graph_compute"](self._backend, graph)
        if status:
            raise BackendFailure(f"ggml answered {status}")

    def close(self) -> None:
        """Free it. Closing twice is harmless."""
        self._free()


def _processor() -> tuple[int, Any]:
    """Make a backend for the processor, and return the function that sets its threads."""
    library = ggml_library()
    library.ggml_backend_init_by_type.restype = library.ggml_backend_reg_by_name.restype = ctypes.c_void_p
    library.ggml_backend_init_by_type.argtypes = [ctypes.c_int, ctypes.c_char_p]
    library.ggml_backend_reg_by_name.argtypes = [ctypes.c_char_p]
    library.ggml_backend_reg_get_proc_address.restype = ctypes.c_void_p
    library.ggml_backend_reg_get_proc_address.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    named = library.ggml_backend_reg_get_proc_address(
        library.ggml_backend_reg_by_name(b"CPU"), b"ggml_backend_set_n_threads"
    )
    return int(library.ggml_backend_init_by_type(_PROCESSOR, None)), ctypes.CFUNCTYPE(None, _PLACE, _KIND)(named)


def _free(buffers: list[int], backend: int, context: int) -> None:
    call = _functions()
    for buffer in buffers:
        call["backend_buffer_free"](buffer)
    call["backend_free"](backend)
    call["free"](context)
