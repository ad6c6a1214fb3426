"""Estimate a model's memory from its header and settings, and measure the free memory."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from engine.config import CACHE_TYPES, CacheType
from engine.formats.draft_head import DraftHead
from engine.formats.model_file import ModelFile
from engine.system.installation import gpu_library_installed

_OF_BLOCK = {"f16": 64, "q8_0": 34, "q5_1": 24, "q5_0": 22, "q4_1": 20, "q4_0": 18, "iq4_nl": 18}
_BYTES: dict[str, Fraction] = {kind: Fraction(size, 32) for kind, size in _OF_BLOCK.items()}
"""The bytes of a number in the cache: 32 of them are a block, with a scale of two bytes and maybe a minimum (ggml)."""
_BLOCK = 32
CARD_OWN = 550_000_000
"""Bytes that a graphics card gives beside weights and cache: CUDA's context and llama.cpp's buffers (on an H100)."""
_KEEP_STATES = ("eagle2", "eagle3", "mtp")
"""Methods whose heads keep a state of every position; others keep those of the last ones, or none."""


@dataclass(frozen=True, slots=True)
class MemoryNeeds:
    """Hold the estimated bytes of a model. `context_length`: tokens that it is loaded for.

    `weights`, `cache` (keys and values of so many tokens), `working` (activations, attention scores, recurrent
    state, states that draft heads keep); `on_gpu`: how much of the weights and the cache goes to a graphics card.
    """

    weights: int
    cache: int
    working: int
    context_length: int
    on_gpu: int = 0

    @property
    def total(self) -> int:
        """Return the memory of all kinds together."""
        return self.weights + self.cache + self.working

    @property
    def in_memory(self) -> int:
        """Return the bytes that the machine's own memory must give."""
        return self.total - self.on_gpu

    @property
    def on_card(self) -> int:
        """Return the bytes needed on a graphics card, its driver's included."""
        return self.on_gpu + CARD_OWN if self.on_gpu else 0


def memory_needs(
    model: ModelFile,
    *,
    context_length: int | None = None,
    cache_type: CacheType | None = None,
    gpu_layers: int | None = None,
) -> MemoryNeeds:
    """Return the memory that a model needs, loaded like this. Arguments as in LoadConfig."""
    context = model.context_held(context_length)
    kept = model.cache_elements * (4 if model.float32_cache else 2)
    scores = max(model.cache_per_token - kept, 0) if model.cache_elements else 0
    if cache_type in usable_cache_types(model) and cache_type is not None:
        kept = int(model.cache_elements * _BYTES[cache_type])
    elif not model.cache_elements:
        kept = model.cache_per_token
    cache = context * kept
    working = context * scores + model.state_bytes + model.compute_bytes + head_states(model.head, context)
    on_gpu = int((model.size_bytes + cache) * _share_on_gpu(model, gpu_layers))
    return MemoryNeeds(model.size_bytes, cache, working, context, on_gpu)


def head_states(head: DraftHead | None, context_length: int) -> int:
    """Return the bytes of the target's states that a draft head keeps of so many tokens: one of each, in float32."""
    if head is None or head.shared or head.method not in _KEEP_STATES:
        return 0
    return 4 * head.width * context_length


def usable_cache_types(model: ModelFile) -> tuple[CacheType, ...]:
    """Return the types that the cache of a model can have, none if it has none of ours.

    Quantised rows are whole blocks.
    """
    if model.file_format != "gguf" or not model.cache_elements:
        return ()
    whole = model.row_elements > 0 and model.row_elements % _BLOCK == 0
    return tuple(kind for kind in CACHE_TYPES if kind == "f16" or whole)


def gpu_offload() -> bool:
    """Return True if the installed llama.cpp can give layers of GGUF models to a graphics card."""
    return gpu_library_installed()


def _share_on_gpu(model: ModelFile, gpu_layers: int | None) -> float:
    """Return the share of weights and cache on a GPU: None and -1 are all layers, where the build has one."""
    if gpu_layers == 0 or model.file_format != "gguf" or not gpu_offload():
        return 0.0
    if gpu_layers in (None, -1) or not model.layers:
        return 1.0
    # The output layer counts as one more.
    return min((gpu_layers or 0) / (model.layers + 1), 1.0)
