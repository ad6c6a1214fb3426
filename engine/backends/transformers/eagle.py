"""Run EAGLE heads from folders of config.json and safetensors with PyTorch.

Source of the formulas: of EAGLE-3 Li et al. 2025, arXiv:2503.01840; of EAGLE-1 Li et al. 2024, arXiv:2401.15077,
section 3.1, and of EAGLE-2, which drafts trees with the same head, arXiv:2406.16858. Of the names: the layouts of the
authors, of SpecForge and of vLLM's speculators. All turn the halves of a head's queries and keys, as transformers does.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from engine.backends.base import Backend, Logits
from engine.backends.heads import HeadBackend, HeadLayers, States
from engine.backends.transformers.backend import TransformersBackend, threads_of
from engine.backends.transformers.head_tensors import other_vocabulary, read_tensors, torch_target
from engine.backends.transformers.hidden import output_layer
from engine.config import LoadConfig
from engine.errors import ModelFileBroken
from engine.formats.draft_head import DraftHead
from engine.formats.safetensors.heads import EagleLayout, read_eagle, read_features
from engine.translatable import Translatable

_STEP = 256
"""Entries by which the cache grows."""


class EagleLayers(HeadLayers):
    """Compute an EAGLE head (see engine.backends.heads.HeadLayers) with the tensors of its file.

    What the versions have in common: layers of Llama, whose keys and values are kept. `prefix`: what the names of a
    layer's tensors begin with.
    """

    branches = True
    prefix: str

    def __init__(self, layout: EagleLayout, tensors: dict[str, torch.Tensor], target: TransformersBackend) -> None:
        self.name = layout.name
        self.method = layout.head.method
        self.tokenizer = target.tokenizer
        self.layers = layout.head.layers
        self.width = layout.width
        self.vocab_size = target.vocab_size
        self.parameters = sum(tensor.numel() for tensor in tensors.values())
        self.weight_bytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        self._layout = layout
        self._target = target
        self._tensors = tensors
        self._embedding = tensors.get("embed_tokens.weight", target.embeddings)
        self._keys = [torch.empty(0)] * layout.depth
        self._values = [torch.empty(0)] * layout.depth
        self._held = 0
        self._turns, self._stretch = _turns_of(layout)

    @abstractmethod
    def _combined(self, given: torch.Tensor) -> torch.Tensor:
        """Make entries from the target's states."""

    @abstractmethod
    def _hidden(
        self, embedded: torch.Tensor, states: torch.Tensor, places: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Append entries; `places`: of their tokens, `mask`: which of all entries each of them sees."""

    @abstractmethod
    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits behind states of its own."""

    def combine(self, states: States) -> States:
        with threads_of(self._target), torch.inference_mode():
            found: States = self._array(self._combined(self._tensor(states)))
            return found

    def feed(self, first: int, tokens: Sequence[int], states: States, *, wanted: bool) -> tuple[Logits, States] | None:
        with threads_of(self._target), torch.inference_mode():
            held = self._held = first - self.first
            places = torch.arange(held, held + len(tokens), dtype=torch.float32)
            end = torch.arange(held + len(tokens), device=self._embedding.device)
            hidden = self._append(tokens, states, places, end[None, :] <= end[held:, None])
            return self._given(hidden[-1:]) if wanted else None

    def branch(
        self, positions: Sequence[int], tokens: Sequence[int], states: States, seen: NDArray[np.bool_]
    ) -> tuple[Logits, States]:
        with threads_of(self._target), torch.inference_mode():
            places = torch.tensor(positions, dtype=torch.float32) - self.first
            text = self._held + len(tokens) - seen.shape[1]
            shown = np.concatenate([np.ones((len(tokens), text), np.bool_), seen], axis=1)
            logits, own = self._given(
                self._append(tokens, states, places, torch.from_numpy(shown).to(self._embedding.device)), each=True
            )
            return logits, own

    def _given(self, hidden: torch.Tensor, *, each: bool = False) -> tuple[Logits, States]:
        """Return the logits behind states, and the states: those of the last one without its row, but for `each`."""
        own = self._array(hidden)
        return self._array(self._logits(hidden)), own if each else own[-1]

    def cut(self, position: int) -> None:
        self._held = min(self._held, max(position - self.first, 0))

    def close(self) -> None:
        self._tensors = {}
        self._keys = self._values = []
        self._embedding = torch.empty(0)

    def _append(self, tokens: Sequence[int], given: States, places: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self._tensor(given)
        ids = torch.tensor(list(tokens), device=self._embedding.device)
        hidden = self._hidden(self._embedding[ids].to(states.dtype), states, places, mask)
        self._held += len(tokens)
        return hidden

    def _layer(
        self, number: int, read: torch.Tensor, residual: torch.Tensor, places: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Compute a layer whose attention reads `read`."""
        name = self.prefix.format(number)
        hidden = residual + self._attention(number, read, places, mask)
        inner = self._norm(hidden, f"{name}post_attention_layernorm.weight")
        gate = functional.silu(functional.linear(inner, self._tensors[f"{name}mlp.gate_proj.weight"]))
        passed = gate * functional.linear(inner, self._tensors[f"{name}mlp.up_proj.weight"])
        return hidden + functional.linear(passed, self._tensors[f"{name}mlp.down_proj.weight"])

    def _attention(self, number: int, x: torch.Tensor, at: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        layout, held, count = self._layout, self._held, len(x)
        end, names = held + count, f"{self.prefix.format(number)}self_attn."

        def split(name: str, heads: int) -> torch.Tensor:
            weight, bias = self._tensors[f"{names}{name}_proj.weight"], self._tensors.get(f"{names}{name}_proj.bias")
            return functional.linear(x, weight, bias).view(count, heads, -1).transpose(0, 1)

        query = self._turned(split("q", layout.heads), at)
        self._room(number, end, x)
        keys, values = self._keys[number], self._values[number]
        keys[:, held:end] = self._turned(split("k", layout.shared), at)
        values[:, held:end] = split("v", layout.shared)
        mixed = functional.scaled_dot_product_attention(
            query[None], keys[None, :, :end], values[None, :, :end], mask, enable_gqa=True
        )
        return functional.linear(mixed[0].transpose(0, 1).reshape(count, -1), self._tensors[f"{names}o_proj.weight"])

    def _room(self, number: int, end: int, x: torch.Tensor) -> None:
        """Make room for so many entries in a layer."""
        room = self._keys[number].shape[1] if self._keys[number].dim() == 3 else 0
        if end <= room:
            return
        size = max(2 * room, end + _STEP)
        for kept in (self._keys, self._values):
            grown = torch.empty(self._layout.shared, size, self._layout.key, dtype=x.dtype, device=x.device)
            if room:
                grown[:, :room] = kept[number]
            kept[number] = grown

    def _turned(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        angles = places[:, None] * self._turns
        cos, sin = (self._stretch * turn for turn in (angles.cos(), angles.sin()))
        cos, sin = cos.to(x.dtype).to(x.device), sin.to(x.dtype).to(x.device)
        left, right = x.chunk(2, dim=2)
        return torch.cat([left * cos - right * sin, left * sin + right * cos], dim=2)

    def _norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        exact = x.float()
        scale = torch.rsqrt(exact.pow(2).mean(dim=-1, keepdim=True) + self._layout.epsilon)
        return (exact * scale).to(x.dtype) * self._tensors[name]

    def _tensor(self, states: States) -> torch.Tensor:
        fc = self._tensors["fc.weight"]
        return torch.from_numpy(np.ascontiguousarray(states)).to(fc.dtype).to(fc.device)

    @staticmethod
    def _array(rows: torch.Tensor) -> Any:
        return rows.float().cpu().numpy()


class Eagle3Layers(EagleLayers):
    """Compute an EAGLE-3 head: entries are made of three of the target's states, and it has an output of its own."""

    prefix = ""

    def __init__(self, layout: EagleLayout, tensors: dict[str, torch.Tensor], target: TransformersBackend) -> None:
        super().__init__(layout, tensors, target)
        self._spread: torch.Tensor | None = None
        table = tensors.get("d2t")
        if table is not None:
            self._spread = torch.arange(len(table), device=table.device) + table

    def _combined(self, given: torch.Tensor) -> torch.Tensor:
        """Return the projections of the target's states (g in EAGLE-3)."""
        if self._layout.norm_before_fc:
            given = self._norm(given, "input_norm.weight")
        return functional.linear(given, self._tensors["fc.weight"])

    def _hidden(
        self, embedded: torch.Tensor, states: torch.Tensor, places: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        embedded = self._norm(embedded, "input_layernorm.weight")
        normed = self._norm(states, "hidden_norm.weight")
        residual = normed if self._layout.norm_before_residual else states
        return self._layer(0, torch.cat([embedded, normed], dim=1), residual, places, mask)

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        drafted = functional.linear(self._norm(hidden, "norm.weight"), self._tensors["lm_head.weight"]).float()
        if self._spread is None:
            return drafted
        logits = torch.full((len(hidden), self.vocab_size), -math.inf, device=drafted.device)
        logits[:, self._spread] = drafted
        return logits


class Eagle2Layers(EagleLayers):
    """Compute an EAGLE-1 or EAGLE-2 head: it continues the features, which the target's output layer reads.

    A feature is a state behind the target's last norm; what leaves the head's last layer takes the place of the next.
    """

    prefix = "layers.{}."

    def _combined(self, given: torch.Tensor) -> torch.Tensor:
        """Return the features of the target's last states."""
        return self._target.normed(given)

    def _hidden(
        self, embedded: torch.Tensor, states: torch.Tensor, places: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        joined = torch.cat([embedded, states], dim=1)
        hidden = functional.linear(joined, self._tensors["fc.weight"], self._tensors.get("fc.bias"))
        for number in range(self._layout.depth):
            read = self._norm(hidden, f"layers.{number}.input_layernorm.weight") if number else hidden
            hidden = self._layer(number, read, hidden, places, mask)
        return hidden

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        own, output = self._tensors.get("lm_head.weight"), output_layer(self._target.model)
        if own is not None or output is None:
            return functional.linear(hidden, self._tensors["lm_head.weight"])
        return output(hidden)


def _turns_of(layout: EagleLayout) -> tuple[torch.Tensor, float]:
    """Return radians a place of each pair of a head's numbers, and the factor of cosines and sines."""
    rope = layout.rope
    if rope.kind == "default":
        return rope.theta ** -(torch.arange(0, layout.key, 2, dtype=torch.float32) / layout.key), 1.0
    config = LlamaConfig(
        hidden_size=layout.heads * layout.key,
        num_attention_heads=layout.heads,
        head_dim=layout.key,
        rope_parameters={"rope_type": rope.kind, "rope_theta": rope.theta, **rope.numbers},
    )
    turns, stretch = ROPE_INIT_FUNCTIONS[rope.kind](config, torch.device("cpu"))
    return turns.float(), float(stretch)


def open_head(config: LoadConfig, head: DraftHead, target: Backend) -> Backend:
    """Load the EAGLE head in a folder for a loaded target. Raises ModelFileBroken, ModelNotSupported, LoadFailed."""
    path = Path(config.path)
    model = torch_target(path, target)
    read, make = (read_features, Eagle2Layers) if head.method == "eagle2" else (read_eagle, Eagle3Layers)
    layout = replace(read(path), head=head)
    tensors = read_tensors(path, layout.files, layout.names, model, as_is=("d2t",))
    _check(path, layout, tensors, model)
    return HeadBackend(make(layout, tensors, model), model)


_WHOLE = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
"""Types that torch can add to numbers of 64 bits."""


def _check(path: Path, layout: EagleLayout, tensors: dict[str, torch.Tensor], target: TransformersBackend) -> None:
    if "embed_tokens.weight" not in tensors and target.embeddings.shape[1] != layout.width:
        raise ModelFileBroken(path, "it lacks the tensor {name!r}.", name="embed_tokens.weight")
    if "lm_head.weight" not in tensors and output_layer(target.model) is None:
        raise ModelFileBroken(path, "it lacks the tensor {name!r}.", name="lm_head.weight")
    table = tensors.get("d2t")
    if table is None:
        fits = layout.drafted == target.vocab_size
    elif table.dtype not in _WHOLE:
        raise ModelFileBroken(path, Translatable("its table of draft tokens (d2t) is damaged."))
    else:
        reached = torch.arange(len(table), device=table.device) + table
        fits = bool(
            reached.min() >= 0 and reached.max() < target.vocab_size and len(set(reached.tolist())) == len(reached)
        )
    if not fits:
        raise other_vocabulary(path, target)
