"""Read values of tensors from safetensors files whose headers were checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelFileBroken, ModelNotSupported, incomplete
from engine.formats.safetensors.reader import StoredTensor
from engine.translatable import Translatable

_TYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}


def read_rows(path: Path, tensor: StoredTensor, first: int, count: int) -> NDArray[np.float32]:
    """Return rows of a matrix, or a vector as the only one: float32, shape (count, columns).

    Raises ModelFileBroken, ModelNotSupported (other numbers than floating point of 16 bits or more), OSError.
    """
    kind = _TYPES.get(tensor.dtype)
    if kind is None:
        raise ModelNotSupported(
            path,
            Translatable(
                "its tensor {name!r} is stored as {dtype}, which cannot be used here.",
                name=tensor.name,
                dtype=tensor.dtype,
            ),
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
    return numbers.astype(np.float32)
