"""Describe a draft head in a file, and judge its fitness for a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.formats.vocabulary import Vocabulary
from engine.translatable import Translatable

NORMED = -1
"""The number of the hidden states behind the norm of the last layer."""
_PADDED_TO, _MOST_PADDING = 64, 512
_INPUTS = frozenset(
    {"bailingmoe3", "gemma4", "gpt-oss", "hunyuan-dense", "hunyuan_vl", "lfm2", "lfm2moe", "llama", "mimo2"}
    | {"minimax-01", "minimax-m2", "muse-glimmer", "nanbeige", "nemotron_h", "nemotron_h_moe", "qwen3", "qwen35"}
    | {"qwen35moe", "qwen3moe", "qwen3next", "qwen4exp"}
)
"""Architectures whose graphs in llama.cpp expose the inputs of their layers; with others it ends the process."""
_LAST = frozenset(
    {"bailingmoe3", "cohere2moe", "deepseek2", "deepseek32", "gemma4", "glm-dsa", "glm4moe", "glm5-next", "gpt-oss"}
    | {"hy_v3", "mimo2", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen3next", "step35"}
)
"""Architectures whose graphs expose the output of the last layer; with others the numbers would be left over."""


@dataclass(frozen=True, slots=True)
class DraftHead:
    """Describe a head.

    `method`: its draft method; `layers`: the hidden states of the target that it reads (see
    engine.backends.base.HiddenStates); `width`: numbers in one of them; `tokens`: of the target's
    vocabulary, 0 if the file has the vocabulary itself. `shared`: the part of the target's cache that it reads, key
    heads and their width in the last layer with a window and in the last full one; empty if it has its own cache.
    """

    method: str
    layers: tuple[int, ...]
    width: int
    tokens: int = 0
    shared: tuple[tuple[int, int], ...] = ()


def readable_states(architecture: str, layers: int) -> frozenset[int]:
    """Return the readable hidden states of a GGUF model of so many layers."""
    inputs = range(layers if architecture in _INPUTS else 0)
    return frozenset([*inputs, *([layers] if architecture in _LAST else []), NORMED])


def covers(vocabulary: Vocabulary, rows: int) -> bool:
    """Return True if an output layer of so many rows, without a tokenizer, may be one for a target's vocabulary.

    It was copied from the target's, so it has a row for each token with a text. The padding may be longer or shorter:
    a file may lack some of it, or all if the layer was padded to a multiple of 64.
    """
    if rows <= vocabulary.size:
        return rows >= len(np.trim_zeros(vocabulary.fingerprints, "b"))
    return rows % _PADDED_TO == 0 < vocabulary.size % _PADDED_TO and rows < vocabulary.size + _MOST_PADDING


def why_not_for(
    head: DraftHead, readable: frozenset[int], layers: int, width: int, shared: tuple[tuple[int, int], ...] = ()
) -> str | None:
    """Explain, as a clause, that a head is not for a target with these hidden states; None if it may be.

    `shared`: the part of the target's cache that a head may read, as of a DraftHead.
    """
    if head.shared and not shared:
        return Translatable("it reads the cache of a Gemma 4, and this target is none")
    if head.width != width:
        return Translatable(
            "it was trained for a target of width {theirs}, and this one has {ours}", theirs=head.width, ours=width
        )
    if head.shared and head.shared != shared:
        return Translatable("it reads keys of another shape than those in the cache of this target")
    if head.method == "mtp" and not head.shared and head.layers != (layers,):
        return Translatable(
            "it stands behind {theirs} layers, and this target has {layers}", theirs=head.layers[0], layers=layers
        )
    if head.layers and max(head.layers) > layers:
        return Translatable(
            "it reads layer {layer} of its target, and this one has {layers}", layer=max(head.layers), layers=layers
        )
    missing = [layer for layer in head.layers if layer not in readable]
    if missing:
        return Translatable("llama.cpp cannot read layer {layer} of such a target", layer=missing[0])
    return None
