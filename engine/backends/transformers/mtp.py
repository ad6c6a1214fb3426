"""Run the layers for later tokens (MTP) of a target's own folder with PyTorch, built of the target's kind of layers.

Source of the formulas: DeepSeek-AI 2024, arXiv:2412.19437, section 2.2; of the names: the layouts that
engine.formats.safetensors.mtp reads. The state that the first layer reads, and that each hands to the next, is the one
that an output layer would read: behind the final norm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from engine.backends.base import Backend, Logits
from engine.backends.heads import HeadBackend, HeadLayers, States
from engine.backends.transformers.backend import TransformersBackend, threads_of
from engine.backends.transformers.head_tensors import torch_target
from engine.backends.transformers.mtp_layer import LayerForLater, build_layers
from engine.config import LoadConfig
from engine.formats.draft_head import DraftHead
from engine.formats.safetensors.mtp import MtpLayout, read_mtp


class MtpLayers(HeadLayers):
    """Compute layers for later tokens (see engine.backends.heads.HeadLayers): one again and again, or one a token.

    Of several, layer k makes the entry of the token at p from layer k - 1's state at p - 1, so its first entry stands k
    places behind the first layer's.
    """

    method = "mtp"

    def __init__(self, layout: MtpLayout, layers: Sequence[LayerForLater], target: TransformersBackend) -> None:
        self.name = layout.name
        self.tokenizer = target.tokenizer
        self.layers = layout.head.layers
        self.width = layout.head.width
        self.vocab_size = target.vocab_size
        self.branches = len(layers) == 1
        self.parameters = sum(layer.parameters_held for layer in layers)
        self.weight_bytes = sum(layer.bytes_held for layer in layers)
        self._target = target
        self._layers = list(layers)
        self._states = [torch.empty(0)] * (len(layers) - 1)
        """Of all layers but the last: what left them at each position."""

    def combine(self, states: States) -> States:
        """Return the target's states behind its final norm."""
        with threads_of(self._target), torch.inference_mode():
            found: States = self._array(self._target.normed(self._tensor(states)))
            return found

    def feed(self, first: int, tokens: Sequence[int], states: States, *, wanted: bool) -> tuple[Logits, States] | None:
        with threads_of(self._target), torch.inference_mode():
            lowest = min(self.ahead, len(self._layers) - 1)
            end, below, found = first + len(tokens), self._tensor(states), None
            for depth in range(lowest, len(self._layers)):
                begin = max(first, self.first + depth)
                if begin >= end:
                    break
                if depth > lowest:
                    below = self._states[depth - 1][begin - 1 : end - 1]
                given = self._layers[depth]
                given.cut(begin - self.first - depth)
                places = torch.arange(begin, end, device=below.device)
                hidden = given(self._ids(tokens[begin - first :]), below, places, self._causal(given, end - begin))
                if depth < len(self._states):
                    self._keep(depth, begin, hidden)
                if depth == lowest and wanted:
                    found = self._array(given.logits(hidden[-1:])), self._array(hidden)[-1]
            return found

    def branch(
        self, positions: Sequence[int], tokens: Sequence[int], states: States, seen: NDArray[np.bool_]
    ) -> tuple[Logits, States]:
        with threads_of(self._target), torch.inference_mode():
            (layer,) = self._layers
            text = layer.filled + len(tokens) - seen.shape[1]
            shown = np.concatenate([np.ones((len(tokens), text), np.bool_), seen], axis=1)
            below = self._tensor(states)
            mask = self._mask(torch.from_numpy(shown))
            hidden = layer(self._ids(tokens), below, torch.tensor(positions, device=below.device), mask)
            return self._array(layer.logits(hidden)), self._array(hidden)

    def cut(self, position: int) -> None:
        for depth, layer in enumerate(self._layers):
            layer.cut(max(position - self.first - depth, 0))

    def close(self) -> None:
        self._layers = []
        self._states = []

    def _causal(self, layer: LayerForLater, count: int) -> torch.Tensor | None:
        """Return the mask of `count` entries behind those that are held; None where there is nothing to hide."""
        if count == 1:
            return None
        places = torch.arange(layer.filled + count)
        return self._mask(places[None, :] <= places[layer.filled :, None])

    def _mask(self, shown: torch.Tensor) -> torch.Tensor:
        """Return a mask as the models' attention adds it, shape (1, 1, entries, held), from what each of them sees."""
        some = self._target.embeddings
        mask = torch.zeros(shown.shape, dtype=some.dtype).masked_fill(~shown, torch.finfo(some.dtype).min)
        return mask.to(some.device)[None, None]

    def _keep(self, depth: int, begin: int, hidden: torch.Tensor) -> None:
        """Keep what left a layer at the positions from `begin` on."""
        held, end = self._states[depth], begin + len(hidden)
        if end > len(held):
            grown = hidden.new_zeros(2 ** math.ceil(math.log2(max(end, 64))), hidden.shape[1])
            grown[: len(held)] = held.reshape(len(held), -1) if len(held) else grown[:0]
            held = self._states[depth] = grown
        held[begin:end] = hidden

    def _ids(self, tokens: Sequence[int]) -> torch.Tensor:
        return torch.tensor(list(tokens), device=self._target.embeddings.device)

    def _tensor(self, states: States) -> torch.Tensor:
        some = self._target.embeddings
        return torch.from_numpy(np.ascontiguousarray(states)).to(some.dtype).to(some.device)

    @staticmethod
    def _array(rows: torch.Tensor) -> NDArray[np.float32]:
        array: NDArray[np.float32] = rows.float().cpu().numpy()
        return array


def open_head(config: LoadConfig, head: DraftHead, target: Backend) -> Backend:
    """Load the layers for later tokens in a folder for a loaded target.

    Raises ModelFileBroken, ModelNotSupported, LoadFailed.
    """
    path = Path(config.path)
    model = torch_target(path, target)
    layout = replace(read_mtp(path), head=head)
    layers = build_layers(path, layout, model)
    opened = HeadBackend(MtpLayers(layout, layers, model), model)
    if len(layers) > 1:
        opened.most = len(layers)
    return opened
