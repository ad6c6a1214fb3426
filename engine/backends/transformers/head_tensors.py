"""Read the tensors of draft heads in folders, for a target that transformers runs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import safetensors
import safetensors.torch
import torch

from engine.backends.base import Backend
from engine.backends.transformers.backend import TransformersBackend
from engine.errors import LoadFailed, ModelNotSupported
from engine.translatable import Translatable

_EXPERTS = re.compile(r"(.*\bexperts\.)(gate_up_proj|down_proj)")
"""Experts as transformers holds them, all in one tensor; files mostly have one tensor for each."""


def torch_target(path: Path, target: Backend) -> TransformersBackend:
    """Return the target of the head at `path`. Raises ModelNotSupported if another library runs it."""
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
        raise LoadFailed(path, "it cannot be read ({error}).", error=error) from error


def other_vocabulary(path: Path, target: Backend) -> ModelNotSupported:
    """Return the refusal of a head that was made for another vocabulary."""
    return ModelNotSupported(
        path,
        "it is not a head for {target}: {reason}. Choose a head that was trained for this target.",
        target=target.name,
        reason=Translatable("it has another vocabulary"),
    )


def read_some(path: Path, files: Sequence[Path], wanted: Collection[str]) -> dict[str, torch.Tensor]:
    """Return the tensors of these names in the files of `path`, as they are stored. Raises LoadFailed."""
    found: dict[str, torch.Tensor] = {}
    try:
        for part in files:
            # Read, not mapped: a mapped file that shrinks ends the process.
            with safetensors.safe_open(part, framework="pt", device="cpu", backend="pread") as file:
                there: Sequence[str] = file.keys()
                found |= {name: file.get_tensor(name) for name in there if name in wanted}
    except (OSError, RuntimeError, ValueError, safetensors.SafetensorError) as error:
        raise LoadFailed(path, "it cannot be read ({error}).", error=error) from error
    return found


def gathered(name: str, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor | None:
    """Return a tensor of a model's layer, or all experts in one from a tensor for each; None if it is missing."""
    match = _EXPERTS.fullmatch(name)
    if name in tensors or match is None:
        return tensors.get(name)
    parts = ("gate_proj", "up_proj") if match[2] == "gate_up_proj" else ("down_proj",)
    found: list[torch.Tensor] = []
    while f"{match[1]}{len(found)}.{parts[0]}.weight" in tensors:
        each = [tensors.get(f"{match[1]}{len(found)}.{part}.weight") for part in parts]
        there = [part for part in each if part is not None]
        if len(there) < len(parts):
            return None
        found.append(torch.cat(there))
    alike = len({part.shape for part in found}) == 1
    return torch.stack(found) if alike else None
