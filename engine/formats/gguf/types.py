"""Define the tables of the GGUF format: value types, tensor types with their block sizes, names of file types.

Source: the format's specification (ggml, docs/gguf.md) and the block layouts of llama.cpp's ggml.
"""

from __future__ import annotations

import json
import struct
from importlib.resources import files
from typing import Final, NamedTuple

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64, INT64, FLOAT64 = range(13)

_OF_FIXED_SIZE = (*range(UINT8, STRING), UINT64, INT64, FLOAT64)
VALUE_FORMATS: Final = dict(zip(_OF_FIXED_SIZE, "BbHhIifbQqd", strict=True))
"""struct's letter for each value type of fixed size."""
VALUE_SIZES: Final = {kind: struct.calcsize(f"<{letter}") for kind, letter in VALUE_FORMATS.items()}
"""Bytes of each value type of fixed size."""


class TensorType(NamedTuple):
    """Describe a tensor's number format: `block` elements take `size` bytes."""

    name: str
    block: int
    size: int


_LISTED = json.loads(files("resources").joinpath("gguf_types.json").read_text("utf-8"))
TENSOR_TYPES: Final = {int(number): TensorType(*layout) for number, layout in _LISTED["tensors"].items()}
"""Tensor types by number. The numbers that are missing were withdrawn from the format."""
FILE_TYPES: Final[dict[int, str]] = {int(number): name for number, name in _LISTED["files"].items()}
"""Names of `general.file_type`: which mixture of tensor types a file was written with."""
