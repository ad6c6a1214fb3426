"""Random weights in every format of GGUF, without quantising: for models whose shape matters and whose text does not.

The blocks of a format are random bytes, and their scales such that a product keeps the size of what is multiplied.
"""

from typing import NamedTuple

import gguf
import numpy as np
from numpy.typing import NDArray

from engine.formats.gguf.types import TENSOR_TYPES

Kind = gguf.GGMLQuantizationType


class _Scales(NamedTuple):
    """Where a block has float16 scales, each with its part of the whole; the spread of the weights at scale 1."""

    places: tuple[tuple[int, float], ...]
    spread: float


_FIRST = ((0, 1.0),)
_SCALES = {
    "Q4_0": _Scales(_FIRST, 4.61),
    "Q4_1": _Scales(((0, 1.0), (2, -7.5)), 4.61),
    "Q5_0": _Scales(_FIRST, 9.23),
    "Q5_1": _Scales(((0, 1.0), (2, -15.5)), 9.23),
    "Q8_0": _Scales(_FIRST, 73.9),
    "Q1_0": _Scales(_FIRST, 1.0),
    "Q2_0": _Scales(_FIRST, 1.22),
    "Q2_K": _Scales(((80, 1.0), (82, 1.5)), 13.9),
    "Q3_K": _Scales(((108, 1.0),), 43.3),
    "Q4_K": _Scales(((0, 1.0), (2, 7.5)), 258.0),
    "Q5_K": _Scales(((0, 1.0), (2, 15.5)), 527.0),
    "Q6_K": _Scales(((208, 1.0),), 1361.0),
    "IQ4_NL": _Scales(_FIRST, 67.5),
    "IQ4_XS": _Scales(_FIRST, 1242.0),
    "IQ2_XXS": _Scales(_FIRST, 53.1),
    "IQ2_XS": _Scales(_FIRST, 55.9),
    "IQ2_S": _Scales(_FIRST, 56.3),
    "IQ3_XXS": _Scales(_FIRST, 142.0),
    "IQ3_S": _Scales(_FIRST, 141.0),
    "IQ1_S": _Scales(_FIRST, 7.19),
    "TQ1_0": _Scales(((52, 1.0),), 0.82),
    "TQ2_0": _Scales(((64, 1.0),), 1.23),
}
_NUMBERS = {kind.name: number for number, kind in TENSOR_TYPES.items()}
_IQ1_M_SPREAD = 7.19
_FOUR_BIT_SPREAD = 5.4


def type_number(kind: str) -> int:
    """The number of a format in GGUF files and in ggml."""
    return _NUMBERS[kind]


def random_weights(kind: str, rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.uint8]:
    """Random weights in the format of that name. Shape (rows, bytes of a row)."""
    scale = columns**-0.5
    if kind in ("F32", "F16", "BF16"):
        values = scale * rng.standard_normal((rows, columns), dtype=np.float32)
        if kind == "BF16":
            values = (values.view(np.uint32) >> 16).astype(np.uint16)
        packed: NDArray[np.uint8] = (values.astype(np.float16) if kind == "F16" else values).view(np.uint8)
        return packed
    _, block, size = TENSOR_TYPES[_NUMBERS[kind]]
    blocks = np.frombuffer(rng.bytes(rows * columns // block * size), dtype=np.uint8).reshape(-1, size).copy()
    if kind == "MXFP4":  # a power of two, and its neighbours
        exponent = 128 + round(np.log2(scale / _FOUR_BIT_SPREAD))
        blocks[:, 0] = exponent - 1 + blocks[:, 0] % 3
    elif kind == "NVFP4":  # the smallest scales: such models have another one for each matrix
        blocks[:, :4] = 1 + blocks[:, :4] % 3
    elif kind == "IQ1_M":  # four bits of the scale in the upper ones of each of four words
        bits = int(np.float16(scale / _IQ1_M_SPREAD).view(np.uint16))
        for word in range(4):
            high = blocks[:, 49 + 2 * word]
            high[:] = high & 15 | (bits >> 4 * word & 15) << 4
    else:
        scales = _SCALES[kind]
        for place, part in scales.places:
            number = np.array([part * scale / scales.spread], dtype=np.float16)
            blocks[:, place : place + 2] = number.view(np.uint8)
    return blocks.reshape(rows, columns // block * size)
