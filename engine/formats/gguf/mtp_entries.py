"""Find headers with MTP layers whose tensors the file lacks, and the overrides for llama.cpp.

Many quantised files are so. Source of what llama.cpp needs: its loaders (src/models of the architectures with MTP).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from engine.errors import LoadFailed, ModelFileBroken
from engine.formats.gguf.header import GgufFile, Numbers, Tensor
from engine.formats.gguf.parts import MTP_KEY, split_parts, tells_of_mtp
from engine.formats.gguf.reader import read_gguf

_INSISTING = frozenset(
    {"qwen35", "qwen35moe", "qwen3next", "nemotron_h", "nemotron_h_moe", "deepseek4", "bailingmoe2", "dots3note"}
    | {"glm5-next", "glm4", "exaone4", "exaone-moe"}
)
"""Architectures that llama.cpp does not load without these tensors; of the others it leaves them out by itself."""
_BY_LAYER = (
    *("expert_used_count", "feed_forward_length", "expert_feed_forward_length", "swiglu_clamp_exp"),
    *("swiglu_clamp_shexp", "attention.head_count", "attention.head_count_kv", "attention.recurrent_layers"),
)
"""Entries whose lists, if they are lists, must have a number for each layer in the header."""


def entries_to_load(path: Path) -> dict[str, int]:
    """Return the entries that llama.cpp must read otherwise than they are in a model's file, most often none."""
    if tells_of_mtp(path):
        with suppress(LoadFailed, OSError):
            headers = [read_gguf(part) for part in split_parts(path)]
            tensors = {name: each for part in headers for name, each in part.tensors.items()}
            return entries_instead(headers[0], tensors)
    return {}


def entries_instead(header: GgufFile, tensors: Mapping[str, Tensor]) -> dict[str, int]:
    """Return the entries, with their values, without which a header tells of no layers that the file lacks.

    `tensors`: those of all its parts. Raises ModelFileBroken where llama.cpp cannot load the model in any way.
    """
    architecture = header.text("general.architecture") or ""
    number = Numbers(header, architecture)
    count, layers = number(MTP_KEY), number("block_count")
    if architecture not in _INSISTING or not 0 < count < layers:
        return {}
    blocks = range(layers - count, layers)
    lacking = _lacking(tensors, blocks)
    if lacking is None:
        return {}
    empty = not any(name.startswith(tuple(f"blk.{block}." for block in blocks)) for name in tensors)
    if empty and not any(_has_list(header, f"{architecture}.{key}") for key in _BY_LAYER):
        return {f"{architecture}.block_count": layers - count, f"{architecture}.{MTP_KEY}": 0}
    raise ModelFileBroken(
        header.path,
        "it lacks the tensor {name!r} of the MTP layers that its header names, and llama.cpp cannot load it without.",
        name=lacking,
    )


def _lacking(tensors: Mapping[str, Tensor], blocks: Sequence[int]) -> str | None:
    """Return the first tensor that the file lacks of those that every MTP layer has, or None."""
    wanted = [f"blk.{block}.nextn.{name}.weight" for block in blocks for name in ("eh_proj", "enorm", "hnorm")]
    return next((name for name in wanted if name not in tensors), None)


def _has_list(header: GgufFile, key: str) -> bool:
    value = header.metadata.get(key)
    return value is not None and value.is_array
