"""Run Medusa heads from folders of config.json and safetensors with PyTorch.

Source of the formulas: Cai et al. 2024, arXiv:2401.10774, section 2.1.1: head k adds a residual of its own to the
target's last state, and its output layer tells the token that stands k places behind the next one, k from 1 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from engine.backends.base import Backend, Logits
from engine.backends.block_heads import BlockHeadBackend, BlockLayers
from engine.backends.heads import BATCH, States
from engine.backends.transformers.backend import TransformersBackend, threads_of
from engine.backends.transformers.head_tensors import other_vocabulary, read_tensors, torch_target
from engine.config import LoadConfig
from engine.errors import BackendFailure
from engine.formats.draft_head import DraftHead
from engine.formats.safetensors.heads import MedusaLayout, read_medusa
from engine.translatable import Translatable


class MedusaLayers(BlockLayers):
    """Compute Medusa heads: each from the target's state before the pending token alone."""

    method = "medusa"
    first = 1
    """Before the first token there is no state."""

    def __init__(self, layout: MedusaLayout, tensors: dict[str, torch.Tensor], target: TransformersBackend) -> None:
        self.name = layout.name
        self.tokenizer = target.tokenizer
        self.layers = layout.head.layers
        self.width = layout.head.width
        self.vocab_size = target.vocab_size
        self.parameters = sum(tensor.numel() for tensor in tensors.values())
        self.weight_bytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        self.most = layout.count
        self._depth = layout.depth
        self._target = target
        self._tensors = tensors
        self._states: States = np.empty((0, self.width), np.float32)

    def feed(self, first: int, tokens: Sequence[int], states: States, *, wanted: bool) -> None:
        end = first + len(tokens)
        if end > len(self._states):
            grown = np.empty((max(2 * len(self._states), end, BATCH), self.width), np.float32)
            grown[:first] = self._states[:first]
            self._states = grown
        self._states[first:end] = states

    def block(self, first: int, token: int, count: int) -> Logits:
        if not first:
            raise BackendFailure(Translatable("the head has no hidden states to begin with"), first)
        with threads_of(self._target), torch.inference_mode():
            some = next(iter(self._tensors.values()))
            state = torch.from_numpy(self._states[first - 1 : first]).to(some.dtype).to(some.device)
            state = self._target.normed(state)
            rows = [self._head(number, state) for number in range(count)]
            found: Logits = torch.cat(rows).float().cpu().numpy()
            return found

    def _head(self, number: int, state: torch.Tensor) -> torch.Tensor:
        tensors = self._tensors
        for layer in range(self._depth):
            name = f"{number}.{layer}.linear"
            state = state + functional.silu(
                functional.linear(state, tensors[f"{name}.weight"], tensors[f"{name}.bias"])
            )
        return functional.linear(state, tensors[f"{number}.{self._depth}.weight"])

    def cut(self, position: int) -> None:
        pass

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
