"""Products of weights in every format that the processor library multiplies: right, and the same in any batch."""

import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("llama_cpp")

import llama_cpp

from engine import load
from engine.backends.llama_cpp.library import computes_alike, processor_library

Array = NDArray[np.float32]

FORMATS = {
    "F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q2_K": 10, "Q3_K": 11, "Q4_K": 12,
    "Q5_K": 13, "Q6_K": 14, "IQ4_NL": 20, "IQ4_XS": 23, "BF16": 30, "MXFP4": 39,
}  # fmt: skip
"""Numbers of ggml's types (ggml.h)."""
ROWS, WIDTH = 100, 1280
"""Not a multiple of sixteen rows; five blocks of 256 weights."""
COLUMNS = 37


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


@dataclass
class Ggml:
    """The functions of ggml that a single product takes."""

    library: Any

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        found = getattr(self.library, name)
        found.restype, found.argtypes = result, list(arguments)
        return found

    def quantise(self, kind: int, values: Array) -> NDArray[np.uint8]:
        size, pointer = ctypes.c_int64, ctypes.c_void_p
        rows, width = values.shape
        row_size = self.function("ggml_row_size", ctypes.c_size_t, ctypes.c_int, size)
        chunk = self.function(
            "ggml_quantize_chunk", ctypes.c_size_t, ctypes.c_int, pointer, pointer, *(size,) * 3, pointer
        )
        packed = np.empty(row_size(kind, width) * rows, dtype=np.uint8)
        importance = np.ones(width, dtype=np.float32)
        chunk(kind, values.ctypes.data, packed.ctypes.data, 0, rows, width, importance.ctypes.data)
        return packed

    def unpack(self, kind: int, packed: NDArray[np.uint8], values: Array) -> Array:
        """The numbers that the weights stand for, in the shape of `values`."""
        if kind == FORMATS["F32"]:
            return packed.view(np.float32).reshape(values.shape)
        traits = self.function("ggml_get_type_traits", ctypes.POINTER(_Traits), ctypes.c_int)
        unpacked = np.empty_like(values)
        traits(kind).contents.to_float(packed.ctypes.data, unpacked.ctypes.data, unpacked.size)
        return unpacked

    def product(self, kind: int, weights: NDArray[np.uint8], columns: Array, threads: int) -> Array:
        """Each of `columns` times ROWS rows of weights."""
        pointer, size = ctypes.c_void_p, ctypes.c_int64
        tensor = self.function("ggml_new_tensor_2d", pointer, pointer, ctypes.c_int, size, size)
        data = self.function("ggml_get_data", pointer, pointer)
        count, width = columns.shape
        context = self.function("ggml_init", pointer, _Init)(_Init((1 << 22) + weights.nbytes + 8 * columns.nbytes))
        try:
            left, right = tensor(context, kind, width, ROWS), tensor(context, FORMATS["F32"], width, count)
            result = self.function("ggml_mul_mat", pointer, pointer, pointer, pointer)(context, left, right)
            ctypes.memmove(data(left), weights.ctypes.data, weights.nbytes)
            ctypes.memmove(data(right), columns.ctypes.data, columns.nbytes)
            graph = self.function("ggml_new_graph", pointer, pointer)(context)
            self.function("ggml_build_forward_expand", None, pointer, pointer)(graph, result)
            compute = self.function("ggml_graph_compute_with_ctx", ctypes.c_int, pointer, pointer, ctypes.c_int)
            assert compute(context, graph, threads) == 0
            out = np.empty((count, ROWS), dtype=np.float32)
            ctypes.memmove(out.ctypes.data, data(result), out.nbytes)
            return out
        finally:
            self.function("ggml_free", None, pointer)(context)


@pytest.fixture(scope="module")
def ggml() -> Ggml:
    import engine.backends.llama_cpp.backend  # noqa: F401, PLC0415 - makes the library ready

    library = processor_library()
    if not hasattr(library, "ggml_quantize_chunk"):
        pytest.skip("this system does not find a library's functions through another one that needs it")
    return Ggml(library)


@pytest.fixture(scope="module")
def columns() -> Array:
    """Some like a model's, one zero in part, one large, one that rounds to the ends of the quantised numbers."""
    values = np.random.default_rng(1).standard_normal((COLUMNS, WIDTH)).astype(np.float32)
    values[1, :512] = 0.0
    values[2] *= 100.0
    values[3] = np.where(values[3] > 0, 1.0, -1.0)
    return values


@pytest.fixture(scope="module", params=FORMATS)
def weights(request: pytest.FixtureRequest, ggml: Ggml) -> tuple[int, NDArray[np.uint8], Array]:
    """A format's number, weights in it, and the numbers that they stand for."""
    kind = FORMATS[request.param]
    values = np.random.default_rng(2).standard_normal((ROWS, WIDTH)).astype(np.float32)
    values[5] = 0.0
    values[6] *= 1e3
    values[7] = np.abs(values[7])
    values[8] = -values[7]
    packed = ggml.quantise(kind, values)
    return kind, packed, ggml.unpack(kind, packed, values)


def test_a_product_is_right(ggml: Ggml, weights: tuple[int, NDArray[np.uint8], Array], columns: Array) -> None:
    kind, packed, values = weights
    got = ggml.product(kind, packed, columns, threads=2)
    expected = columns.astype(np.float64) @ values.astype(np.float64).T
    # A column is rounded to eight bits: by 1/254 of its largest number at most, evenly spread, so by 1/440 on average.
    largest = np.abs(columns).max(axis=1, keepdims=True)
    rounding = largest / 440 * np.linalg.norm(values, axis=1) + 1e-30
    assert np.abs(got - expected).max(initial=0.0, where=rounding <= 1e-30) == 0.0
    assert (np.abs(got - expected) / rounding).max() < 6.0


def test_a_token_has_the_same_bits_alone_and_among_others(
    ggml: Ggml, weights: tuple[int, NDArray[np.uint8], Array], columns: Array
) -> None:
    if not computes_alike():
        pytest.skip("llama.cpp's own products, which differ in bits: another build, or no AVX-512 VNNI")
    kind, packed, _ = weights
    alone = np.concatenate([ggml.product(kind, packed, columns[i : i + 1], 1) for i in range(COLUMNS)]).view(np.int32)
    for count in range(2, 34):
        together = ggml.product(kind, packed, columns[:count], threads=1 + count % 4).view(np.int32)
        assert np.array_equal(together, alone[:count]), count


def test_no_other_buffer_takes_the_weights(bundled_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Buffers for AMX and the like compute one token and several in different ways, and never ask our products."""
    asked: list[bool] = []
    really = llama_cpp.llama_model_load_from_file

    def load_noting(path: bytes, params: Any) -> Any:
        asked.append(params.use_extra_bufts)
        return really(path, params)

    monkeypatch.setattr(llama_cpp, "llama_model_load_from_file", load_noting)
    with load(bundled_target, trusted=True):
        assert asked == [not computes_alike()]
