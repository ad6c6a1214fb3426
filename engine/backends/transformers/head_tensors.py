"""Read what the heads in folders have in common: their tensors, for a target that transformers runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import safetensors.torch
import torch

from engine.backends.base import Backend
from engine.backends.transformers.backend import TransformersBackend
from engine.errors import LoadFailed, ModelNotSupported
from engine.translatable import Translatable


def torch_target(path: Path, target: Backend) -> TransformersBackend:
    """Return the target of the head at `path`. Raises ModelNotSupported where another library runs it."""
    if not isinstance(target, TransformersBackend):
        raise ModelNotSupported(
            path,
            Translatable("a head in a safetensors file needs a target in one. Choose such a folder as the target."),
        )
    return target


def read_tensors(
    path: Path,
    files: Sequence[Path],
    names: Mapping[str, str],
    target: TransformersBackend,
    *,
    as_is: Sequence[str] = (),
) -> dict[str, torch.Tensor]:
    """Return the tensors of the head at `path` by their short names, as the target computes; those of `as_is` are kept.

    `names`: the short ones by those in the files. Raises LoadFailed.
    """
    dtype, device = target.embeddings.dtype, target.embeddings.device
    try:
        return {
            names[name]: tensor.to(device) if names[name] in as_is else tensor.to(dtype).to(device)
            for file in files
            for name, tensor in safetensors.torch.load(file.read_bytes()).items()
            if name in names
        }
    except (OSError, RuntimeError, ValueError, safetensors.SafetensorError) as error:
        raise LoadFailed(path, Translatable("it cannot be read ({error}).", error=error)) from error


def other_vocabulary(path: Path, target: Backend) -> ModelNotSupported:
    """Return the refusal of a head that was made for another vocabulary."""
    return ModelNotSupported(
        path,
        Translatable(
            "it is not a head for {target}: {reason}. Choose a head that was trained for this target.",
            target=target.name,
            reason=Translatable("it has another vocabulary"),
        ),
    )
