"""Read values of tensors from safetensors files whose headers were checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelFileBroken, ModelNotSupported, incomplete
from engine.formats.safetensors.reader import StoredTensor

_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
    "F8_E4M3": np.dtype("u1"),
}


def _eight_bits() -> NDArray[np.float32]:
    """Return the values of F8_E4M3 by their bits: a sign, four of the exponent, three of the fraction; no infinity.

    Source: Micikevicius et al., "FP8 Formats for Deep Learning" (2022, arXiv:2209.05433), table 1.
    """
    bits = np.arange(128)
    exponent, fraction = bits >> 3, (bits & 7) / 8
    found = np.where(exponent == 0, np.ldexp(fraction, -6), np.ldexp(1 + fraction, exponent - 7))
    found[127] = np.nan
    return np.concatenate([found, -found]).astype(np.float32)


_EIGHT_BITS = _eight_bits()


def read_rows(path: Path, tensor: StoredTensor, first: int, count: int) -> NDArray[np.float32]:
    """Return rows of a matrix, or a vector as the only one: float32, shape (count, columns).

    Raises ModelFileBroken, ModelNotSupported (other numbers than floating point of 16 bits or more, and F8_E4M3),
    OSError.
    """
    kind = _TYPES.get(tensor.dtype)
    if kind is None:
        raise ModelNotSupported(
            path,
            "its tensor {name!r} is stored as {dtype}, which cannot be used here.",
            name=tensor.name,
            dtype=tensor.dtype,
        )
    columns = tensor.shape[-1]
    size = count * columns * kind.itemsize
    with path.open("rb") as file:
        file.seek(tensor.offset + first * columns * kind.itemsize)
        data = file.read(size)
    if len(data) < size:
        raise ModelFileBroken(path, incomplete(size - len(data)))
    numbers: NDArray[Any] = np.frombuffer(data, kind).reshape(count, columns)
    if tensor.dtype == "BF16":  # The upper half of a float32.
        numbers = (numbers.astype(np.uint32) << 16).view(np.float32)
    if tensor.dtype == "F8_E4M3":
        numbers = _EIGHT_BITS[numbers]
    return numbers.astype(np.float32)
