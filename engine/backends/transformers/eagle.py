"""Run EAGLE-3 heads from folders of config.json and safetensors with PyTorch.

Source of the formulas: Li et al. 2025, arXiv:2503.01840; of the names: the layouts of SpecForge and of vLLM's
speculators. Both turn the halves of a head's queries and keys, as all of transformers' models do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from engine.backends.base import Backend, Logits
from engine.backends.heads import HeadBackend, HeadLayers, States
from engine.backends.transformers.backend import TransformersBackend, threads_of
from engine.backends.transformers.head_tensors import other_vocabulary, read_tensors, torch_target
from engine.config import LoadConfig
from engine.errors import ModelFileBroken
from engine.formats.draft_head import DraftHead
from engine.formats.safetensors.heads import EagleLayout, read_eagle
from engine.translatable import Translatable

_STEP = 256
"""Entries by which the cache grows."""


class EagleLayers(HeadLayers):
    """Compute an EAGLE-3 head (see engine.backends.heads.HeadLayers) with the tensors of its file."""

    method = "eagle3"
    branches = True

    def __init__(self, layout: EagleLayout, tensors: dict[str, torch.Tensor], target: TransformersBackend) -> None:
        self.name = layout.name
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
        self._keys = self._values = torch.empty(0)
        self._held = 0
        self._spread: torch.Tensor | None = None
        table = tensors.get("d2t")
        if table is not None:
            self._spread = torch.arange(len(table), device=table.device) + table
        half = torch.arange(0, layout.key, 2, dtype=torch.float32) / layout.key
        self._turns = layout.rope_theta**-half

    def combine(self, states: States) -> States:
        """Return the projections of the target's states: what EAGLE-3 calls g."""
        with threads_of(self._target), torch.inference_mode():
            given = self._tensor(states)
            if self._layout.norm_before_fc:
                given = self._norm(given, "input_norm.weight")
            found: States = self._array(functional.linear(given, self._tensors["fc.weight"]))
            return found

    def feed(self, first: int, tokens: Sequence[int], states: States, *, wanted: bool) -> tuple[Logits, States] | None:
        with threads_of(self._target), torch.inference_mode():
            held = self._held = first - self.first
            places = torch.arange(held, held + len(tokens), dtype=torch.float32)
            end = torch.arange(held + len(tokens), device=self._embedding.device)
            hidden = self._layer(tokens, states, places, end[None, :] <= end[held:, None])
            return self._given(hidden[-1:]) if wanted else None

    def branch(
        self, positions: Sequence[int], tokens: Sequence[int], states: States, seen: NDArray[np.bool_]
    ) -> tuple[Logits, States]:
        with threads_of(self._target), torch.inference_mode():
            places = torch.tensor(positions, dtype=torch.float32) - self.first
            text = self._held + len(tokens) - seen.shape[1]
            shown = np.concatenate([np.ones((len(tokens), text), np.bool_), seen], axis=1)
            logits, own = self._given(
                self._layer(tokens, states, places, torch.from_numpy(shown).to(self._embedding.device)), each=True
            )
            return logits, own

    def _given(self, hidden: torch.Tensor, *, each: bool = False) -> tuple[Logits, States]:
        """Return the logits behind states, and the states: those of the last one without its row, but for `each`."""
        drafted = functional.linear(self._norm(hidden, "norm.weight"), self._tensors["lm_head.weight"]).float()
        if self._spread is not None:
            logits = torch.full((len(hidden), self.vocab_size), -math.inf, device=drafted.device)
            logits[:, self._spread] = drafted
            drafted = logits
        own = self._array(hidden)
        return self._array(drafted), own if each else own[-1]

    def cut(self, position: int) -> None:
        self._held = min(self._held, max(position - self.first, 0))

    def close(self) -> None:
        self._tensors = {}
        self._keys = self._values = self._embedding = torch.empty(0)

    def _layer(self, tokens: Sequence[int], given: States, places: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Append entries; `places`: of their tokens, `mask`: which of all entries each of them sees."""
        states = self._tensor(given)
        ids = torch.tensor(list(tokens), device=self._embedding.device)
        embedded = self._norm(self._embedding[ids].to(states.dtype), "input_layernorm.weight")
        normed = self._norm(states, "hidden_norm.weight")
        residual = normed if self._layout.norm_before_residual else states
        hidden = residual + self._attention(torch.cat([embedded, normed], dim=1), places, mask)
        inner = self._norm(hidden, "post_attention_layernorm.weight")
        gate = functional.silu(functional.linear(inner, self._tensors["mlp.gate_proj.weight"]))
        passed = gate * functional.linear(inner, self._tensors["mlp.up_proj.weight"])
        return hidden + functional.linear(passed, self._tensors["mlp.down_proj.weight"])

    def _attention(self, x: torch.Tensor, at: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        layout, held, count = self._layout, self._held, len(x)
        end = held + count

        def split(name: str, heads: int) -> torch.Tensor:
            return (
                functional.linear(x, self._tensors[f"self_attn.{name}_proj.weight"])
                .view(count, heads, -1)
                .transpose(0, 1)
            )

        query = self._turned(split("q", layout.heads), at)
        self._room(end, x)
        self._keys[:, held:end] = self._turned(split("k", layout.shared), at)
        self._values[:, held:end] = split("v", layout.shared)
        self._held = end
        mixed = functional.scaled_dot_product_attention(
            query[None], self._keys[None, :, :end], self._values[None, :, :end], mask, enable_gqa=True
        )
        return functional.linear(mixed[0].transpose(0, 1).reshape(count, -1), self._tensors["self_attn.o_proj.weight"])

    def _room(self, end: int, x: torch.Tensor) -> None:
        """Make room for so many entries."""
        room = self._keys.shape[1] if self._keys.dim() == 3 else 0
        if end <= room:
            return
        size = max(2 * room, end + _STEP)
        for name in ("_keys", "_values"):
            grown = torch.empty(self._layout.shared, size, self._layout.key, dtype=x.dtype, device=x.device)
            if room:
                grown[:, :room] = getattr(self, name)
            setattr(self, name, grown)

    def _turned(self, x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        angles = places[:, None] * self._turns
        cos, sin = (turn.to(x.dtype).to(x.device) for turn in (angles.cos(), angles.sin()))
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


def open_head(config: LoadConfig, head: DraftHead, target: Backend) -> Backend:
    """Load the EAGLE-3 head in a folder for a loaded target. Raises ModelFileBroken, ModelNotSupported, LoadFailed."""
    path = Path(config.path)
    model = torch_target(path, target)
    layout = replace(read_eagle(path), head=head)
    tensors = read_tensors(path, layout.files, layout.names, model, as_is=("d2t",))
    _check(path, layout, tensors, model)
    return HeadBackend(EagleLayers(layout, tensors, model), model)


def _check(path: Path, layout: EagleLayout, tensors: dict[str, torch.Tensor], target: TransformersBackend) -> None:
    if "embed_tokens.weight" not in tensors and target.embeddings.shape[1] != layout.width:
        raise ModelFileBroken(path, Translatable("it lacks the tensor {name!r}.", name="embed_tokens.weight"))
    table = tensors.get("d2t")
    if table is None:
        fits = layout.drafted == target.vocab_size
    else:
        reached = torch.arange(len(table), device=table.device) + table
        fits = bool(
            reached.min() >= 0 and reached.max() < target.vocab_size and len(set(reached.tolist())) == len(reached)
        )
    if not fits:
        raise other_vocabulary(path, target)
