"""Run Medusa heads from folders of config.json and safetensors with PyTorch (see engine.backends.medusa)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch.nn import functional

from engine.backends.base import Backend, Logits
from engine.backends.block_heads import BlockHeadBackend
from engine.backends.heads import States
from engine.backends.medusa import StateBlocks
from engine.backends.transformers.backend import TransformersBackend, threads_of
from engine.backends.transformers.head_tensors import other_vocabulary, read_tensors, torch_target
from engine.config import LoadConfig
from engine.formats.draft_head import DraftHead
from engine.formats.safetensors.heads import MedusaLayout, read_medusa


class MedusaLayers(StateBlocks):
    """Compute Medusa heads with PyTorch."""

    def __init__(self, layout: MedusaLayout, tensors: dict[str, torch.Tensor], target: TransformersBackend) -> None:
        super().__init__(layout.name, layout.head, layout.count, target)
        self.parameters = sum(tensor.numel() for tensor in tensors.values())
        self.weight_bytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        self._depth = layout.depth
        self._target = target
        self._tensors = tensors

    def rows(self, state: States, count: int) -> Logits:
        with threads_of(self._target), torch.inference_mode():
            some = next(iter(self._tensors.values()))
            normed = self._target.normed(torch.from_numpy(state[None]).to(some.dtype).to(some.device))
            found: Logits = torch.cat([self._head(number, normed) for number in range(count)]).float().cpu().numpy()
            return found

    def _head(self, number: int, state: torch.Tensor) -> torch.Tensor:
        tensors = self._tensors
        for layer in range(self._depth):
            name = f"{number}.{layer}.linear"
            state = state + functional.silu(
                functional.linear(state, tensors[f"{name}.weight"], tensors[f"{name}.bias"])
            )
        return functional.linear(state, tensors[f"{number}.{self._depth}.weight"])

    def close(self) -> None:
        self._tensors = {}


def open_head(config: LoadConfig, head: DraftHead, target: Backend) -> Backend:
    """Load the Medusa heads in a folder for a loaded target. Raises ModelFileBroken, ModelNotSupported, LoadFailed."""
    path = Path(config.path)
    model = torch_target(path, target)
    layout = replace(read_medusa(path), head=head)
    if layout.drafted != model.vocab_size:
        raise other_vocabulary(path, model)
    tensors = read_tensors(path, layout.files, layout.names, model)
    return BlockHeadBackend(MedusaLayers(layout, tensors, model), model)
