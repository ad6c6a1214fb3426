"""Single operations of ggml, as the processor library computes them."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.backends.llama_cpp.library import prepare_library, processor_library
from engine.formats.gguf.types import TENSOR_TYPES

Array = NDArray[np.float32]
Packed = NDArray[np.uint8]

TYPE_NUMBERS = {kind.name: number for number, kind in TENSOR_TYPES.items()}
"""Numbers of ggml's types by their names."""


class _Init(ctypes.Structure):
    """What ggml_init asks for (ggml_init_params)."""

    _fields_ = (("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


class _Traits(ctypes.Structure):
    """The beginning of what ggml tells about a type (ggml_type_traits)."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("block", ctypes.c_int64),
        ("interleaved", ctypes.c_int64),
        ("size", ctypes.c_size_t),
        ("quantised", ctypes.c_bool),
        ("to_float", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)),
    )


_SIZE, _POINTER = ctypes.c_int64, ctypes.c_void_p


@dataclass
class Ggml:
    """The functions of ggml that a single product takes."""

    library: Any

    @classmethod
    def of_processor(cls) -> "Ggml | None":
        """The processor library; None if a system does not find functions of the library that it needs."""
        prepare_library()
        library = processor_library()
        return cls(library) if hasattr(library, "ggml_quantize_chunk") else None

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        found = getattr(self.library, name)
        found.restype, found.argtypes = result, list(arguments)
        return found

    def quantise(self, kind: int, values: Array) -> Packed:
        """The values of all rows, one after the other, in the format of that number."""
        width = values.shape[-1]
        rows = values.size // width
        row_size = self.function("ggml_row_size", ctypes.c_size_t, ctypes.c_int, _SIZE)
        chunk = self.function(
            "ggml_quantize_chunk", ctypes.c_size_t, ctypes.c_int, _POINTER, _POINTER, *(_SIZE,) * 3, _POINTER
        )
        packed = np.empty(row_size(kind, width) * rows, dtype=np.uint8)
        importance = np.ones(width, dtype=np.float32)
        chunk(kind, values.ctypes.data, packed.ctypes.data, 0, rows, width, importance.ctypes.data)
        return packed

    def unpack(self, kind: int, packed: Packed, shape: tuple[int, ...]) -> Array:
        """The numbers that the weights stand for, in that shape."""
        if kind == TYPE_NUMBERS["F32"]:
            return packed.view(np.float32).reshape(shape)
        traits = self.function("ggml_get_type_traits", ctypes.POINTER(_Traits), ctypes.c_int)
        unpacked = np.empty(shape, dtype=np.float32)
        traits(kind).contents.to_float(packed.ctypes.data, unpacked.ctypes.data, unpacked.size)
        return unpacked

    def product(
        self,
        kind: int,
        weights: Packed,
        columns: Array,
        rows: int,
        threads: int,
        wanted: NDArray[np.uint64] | None = None,
    ) -> Array:
        """Each of `columns`, shape (count, width), times the rows of weights. Shape (count, rows).

        `wanted`: bits of the rows that are wanted, as of an output layer (kernels/wanted.h).
        """
        count, width = columns.shape
        places: list[int] = []

        def build(context: int) -> int:
            left = self._tensor(context, kind, weights, width, rows)
            right = self._tensor(context, TYPE_NUMBERS["F32"], columns, width, count)
            product = self.function("ggml_mul_mat", _POINTER, *(_POINTER,) * 3)(context, left, right)
            if wanted is not None:
                self.function("ggml_set_name", _POINTER, _POINTER, ctypes.c_char_p)(product, b"result_output")
                places.append(self.function("ggml_get_data", _POINTER, _POINTER)(left))
                assert self._want(places[0], wanted.ctypes.data)
            return int(product)

        try:
            return self._compute(build, weights.nbytes + 8 * columns.nbytes, (count, rows), threads)
        finally:
            for place in places:
                assert self._want(place, None)

    def _want(self, weights: int, bits: int | None) -> bool:
        return bool(self.function("outrider_want_rows", ctypes.c_bool, _POINTER, _POINTER)(weights, bits))

    def expert_product(
        self, kind: int, weights: Packed, columns: Array, chosen: NDArray[np.int32], rows: int, threads: int
    ) -> Array:
        """Each token's columns times the rows of the experts that are chosen for it.

        `weights`: the experts one after the other; `columns`: (tokens, 1 or used, width); `chosen`: (tokens, used).
        Shape (tokens, used, rows).
        """
        tokens, each, width = columns.shape
        used = chosen.shape[1]
        row_size = self.function("ggml_row_size", ctypes.c_size_t, ctypes.c_int, _SIZE)
        experts = weights.nbytes // (rows * row_size(kind, width))

        def build(context: int) -> int:
            left = self._tensor(context, kind, weights, width, rows, experts)
            right = self._tensor(context, TYPE_NUMBERS["F32"], columns, width, each, tokens)
            ids = self._tensor(context, TYPE_NUMBERS["I32"], chosen, used, tokens)
            return int(self.function("ggml_mul_mat_id", _POINTER, *(_POINTER,) * 4)(context, left, right, ids))

        return self._compute(build, weights.nbytes + 8 * columns.nbytes, (tokens, used, rows), threads)

    def _tensor(self, context: int, kind: int, content: NDArray[Any], *shape: int) -> int:
        name = f"ggml_new_tensor_{len(shape)}d"
        made = self.function(name, _POINTER, _POINTER, ctypes.c_int, *(_SIZE,) * len(shape))(context, kind, *shape)
        data = self.function("ggml_get_data", _POINTER, _POINTER)(made)
        together = np.ascontiguousarray(content)
        ctypes.memmove(data, together.ctypes.data, together.nbytes)
        return int(made)

    def _compute(self, build: Callable[[int], int], size: int, shape: tuple[int, ...], threads: int) -> Array:
        context = self.function("ggml_init", _POINTER, _Init)(_Init((1 << 23) + 2 * size + 8 * int(np.prod(shape))))
        try:
            result = build(context)
            graph = self.function("ggml_new_graph", _POINTER, _POINTER)(context)
            self.function("ggml_build_forward_expand", None, _POINTER, _POINTER)(graph, result)
            compute = self.function("ggml_graph_compute_with_ctx", ctypes.c_int, _POINTER, _POINTER, ctypes.c_int)
            assert compute(context, graph, threads) == 0
            out = np.empty(shape, dtype=np.float32)
            ctypes.memmove(out.ctypes.data, self.function("ggml_get_data", _POINTER, _POINTER)(result), out.nbytes)
            return out
        finally:
            self.function("ggml_free", None, _POINTER)(context)
