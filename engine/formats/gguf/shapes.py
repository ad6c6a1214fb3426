"""Check the shapes of tensors against a header."""

from __future__ import annotations

from collections.abc import Mapping

from engine.errors import ModelFileBroken
from engine.formats.gguf.reader import GgufFile, Tensor


def check_shape(
    header: GgufFile, tensors: Mapping[str, Tensor], name: str, shape: tuple[int, ...], *, required: bool = True
) -> None:
    """Raise ModelFileBroken if a tensor is missing, if it is required, or has another shape."""
    tensor = tensors.get(name)
    if tensor is None and required:
        raise ModelFileBroken(header.path, "it lacks the tensor {name!r}.", name=name)
    if tensor is not None and tensor.shape != shape:
        raise ModelFileBroken(
            header.path,
            "the tensor {name!r} has the shape {shape}, but its header says {told}.",
            name=name,
            shape=list(tensor.shape),
            told=list(shape),
        )
