"""Products of weights in every format that the processor library multiplies: right, and the same in any batch."""

import numpy as np
import pytest

pytest.importorskip("llama_cpp")

from engine.backends.llama_cpp.library import computes_alike
from helpers.weights.ggml import TYPE_NUMBERS, Array, Ggml, Packed
from helpers.weights.random_blocks import random_weights

FORMATS = (
    "F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "MXFP4",
    "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS", "TQ1_0", "TQ2_0", "NVFP4", "Q1_0", "Q2_0",
)  # fmt: skip
TABLES = ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S")
"""Formats whose weights lie in tables: quantising takes long, and any bytes are weights."""
ROWS, WIDTH = 100, 1280
"""Not a multiple of sixteen rows; five blocks of 256 weights."""
COLUMNS = 70


@pytest.fixture(scope="module")
def ggml() -> Ggml:
    found = Ggml.of_processor()
    if found is None:
        pytest.skip("this system does not find a library's functions through another one that needs it")
    return found


@pytest.fixture(scope="module")
def columns() -> Array:
    """Some like a model's, one zero in part, one large, one that rounds to the ends of the quantised numbers."""
    values = np.random.default_rng(1).standard_normal((COLUMNS, WIDTH)).astype(np.float32)
    values[1, :512] = 0.0
    values[2] *= 100.0
    values[3] = np.where(values[3] > 0, 1.0, -1.0)
    return values


@pytest.fixture(scope="module", params=FORMATS + TABLES)
def weights(request: pytest.FixtureRequest, ggml: Ggml) -> tuple[int, Packed, Array]:
    """A format's number, weights in it, and the numbers that they stand for."""
    kind = TYPE_NUMBERS[request.param]
    if request.param in TABLES:
        packed = random_weights(request.param, np.random.default_rng(2), ROWS, WIDTH).reshape(-1)
        return kind, packed, ggml.unpack(kind, packed, (ROWS, WIDTH))
    values = np.random.default_rng(2).standard_normal((ROWS, WIDTH)).astype(np.float32)
    values[5] = 0.0
    values[6] *= 1e3
    values[7] = np.abs(values[7])
    values[8] = -values[7]
    packed = ggml.quantise(kind, values)
    return kind, packed, ggml.unpack(kind, packed, values.shape)


def test_a_product_is_right(ggml: Ggml, weights: tuple[int, Packed, Array], columns: Array) -> None:
    kind, packed, values = weights
    got = ggml.product(kind, packed, columns, ROWS, threads=2)
    expected = columns.astype(np.float64) @ values.astype(np.float64).T
    # A column is rounded to eight bits: by 1/254 of its largest number at most, evenly spread, so by 1/440 on average.
    largest = np.abs(columns).max(axis=1, keepdims=True)
    rounding = largest / 440 * np.linalg.norm(values, axis=1) + 1e-30
    assert np.abs(got - expected).max(initial=0.0, where=rounding <= 1e-30) == 0.0
    assert (np.abs(got - expected) / rounding).max() < 6.0


def test_a_token_has_the_same_bits_alone_and_among_others(
    ggml: Ggml, weights: tuple[int, Packed, Array], columns: Array
) -> None:
    if not computes_alike():
        pytest.skip("llama.cpp's own products, which differ in bits: another build, or no AVX2")
    kind, packed, _ = weights
    alone = np.concatenate([ggml.product(kind, packed, columns[i : i + 1], ROWS, 1) for i in range(COLUMNS)]).view(
        np.int32
    )
    # From 48 on rows of some types are unpacked once for all.
    for count in (*range(2, 34), 47, 48, 49, 64, COLUMNS):
        together = ggml.product(kind, packed, columns[:count], ROWS, threads=1 + count % 4).view(np.int32)
        assert np.array_equal(together, alone[:count]), count
