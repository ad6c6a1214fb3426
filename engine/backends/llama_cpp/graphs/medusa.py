"""Run Medusa heads from folders of config.json and safetensors on targets in GGUF files (see engine.backends.medusa).

Their matrices are kept about as finely as the target's: in float32 where its are, or where all of them are so small
that it costs nothing; in float16 where its are 16 bits wide; else in Q8_0, whose products cost half as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import llama_cpp
import numpy as np

from engine.backends.base import Backend, Logits
from engine.backends.block_heads import BlockHeadBackend
from engine.backends.heads import States
from engine.backends.llama_cpp.backend import LlamaCppBackend
from engine.backends.llama_cpp.graphs.ggml import BLOCK, FLOAT16, FLOAT32, Q8_0, Computation
from engine.backends.medusa import StateBlocks
from engine.config import LoadConfig
from engine.errors import BackendFailure, LoadFailed, ModelNotSupported
from engine.formats.draft_head import DraftHead
from engine.formats.safetensors.heads import MedusaLayout, read_medusa
from engine.formats.safetensors.reader import StoredTensor, read_safetensors
from engine.formats.safetensors.values import read_rows
from engine.translatable import Translatable

_SMALL = 2**20
"""The most weights that are kept in float32: so many fit the processor's caches."""
_SIXTEEN_BITS = frozenset({llama_cpp.LLAMA_FTYPE_MOSTLY_F16, llama_cpp.LLAMA_FTYPE_MOSTLY_BF16})
_PIECE = 2**22
"""Numbers that are read at once."""


class CompiledMedusa(StateBlocks):
    """Compute Medusa heads with ggml, with as many threads as the target; of the heads only those that are wanted."""

    def __init__(self, layout: MedusaLayout, target: LlamaCppBackend) -> None:
        super().__init__(layout.name, layout.head, layout.count, target)
        self._target = target
        self._drafted = layout.drafted
        width, depth, count = layout.head.width, layout.depth, layout.count
        self.parameters = count * (depth * (width + 1) + layout.drafted) * width
        kind = self._kind = _kind_of(target, self.parameters, width)
        self._ggml = ggml = Computation(count * (6 * depth + 2) + 1, count)
        self._state = ggml.new(FLOAT32, width)
        self._results: list[int] = []
        self._graphs: list[int] = []
        self._tensors: dict[str, int] = {}
        for head in range(count):
            x = self._state
            for layer in range(depth):
                weight, bias = ggml.new(kind, width, width), ggml.new(FLOAT32, width)
                x = ggml.sum(x, ggml.silu(ggml.sum(ggml.product(weight, x), bias)))
                self._tensors |= {f"{head}.{layer}.linear.weight": weight, f"{head}.{layer}.linear.bias": bias}
            output = self._tensors[f"{head}.{depth}.weight"] = ggml.new(kind, width, layout.drafted)
            self._results.append(ggml.product(output, x))
            self._graphs.append(ggml.graph(self._results))
        self.weight_bytes = sum(map(ggml.size, self._tensors.values()))

    def load(self, layout: MedusaLayout) -> None:
        """Read the weights. Raises OSError, LoadFailed."""
        self._ggml.allocate()
        for path, name, stored in _stored(layout):
            tensor = self._tensors[name]
            kind = FLOAT32 if len(stored.shape) == 1 else self._kind
            rows = stored.shape[0] if len(stored.shape) == 2 else 1
            step = max(_PIECE // stored.shape[-1], 1)
            for first in range(0, rows, step):
                values = read_rows(path, stored, first, min(step, rows - first))
                self._ggml.fill(tensor, kind, first, values)

    def rows(self, state: States, count: int) -> Logits:
        ggml = self._ggml
        ggml.floats(self._state)[:] = state
        ggml.compute(self._graphs[count - 1], self._target.threads)
        shared = min(self._drafted, self.vocab_size)
        found = np.empty((count, self.vocab_size), np.float32)
        found[:, shared:] = -np.inf
        for row, result in zip(found, self._results, strict=False):
            row[:shared] = ggml.floats(result)[:shared]
        return found

    def close(self) -> None:
        self._ggml.close()


def _kind_of(target: LlamaCppBackend, weights: int, width: int) -> int:
    """Return the type in which the matrices are kept."""
    theirs = int(llama_cpp.llama_model_ftype(llama_cpp.llama_get_model(target.context)))
    if theirs == llama_cpp.LLAMA_FTYPE_ALL_F32 or weights <= _SMALL:
        return FLOAT32
    return FLOAT16 if theirs in _SIXTEEN_BITS or width % BLOCK else Q8_0


def _stored(layout: MedusaLayout) -> Iterator[tuple[Path, str, StoredTensor]]:
    """Yield of each tensor that is used its file, its short name, and where it lies."""
    for path in layout.files:
        for name, tensor in read_safetensors(path).tensors.items():
            if name in layout.names:
                yield path, layout.names[name], tensor


def open_head(config: LoadConfig, head: DraftHead, target: Backend) -> Backend:
    """Load the Medusa heads in a folder for a loaded target. Raises ModelFileBroken, ModelNotSupported, LoadFailed."""
    path = Path(config.path)
    if not isinstance(target, LlamaCppBackend):
        raise ModelNotSupported(path, Translatable("its hidden states cannot be read"))
    layout = replace(read_medusa(path), head=head)
    layers = CompiledMedusa(layout, target)
    try:
        layers.load(layout)
    except BackendFailure as error:
        layers.close()
        raise LoadFailed(path, str(error)) from error
    except BaseException:
        layers.close()
        raise
    return BlockHeadBackend(layers, target)
