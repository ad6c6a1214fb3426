"""Projectors (mmproj files) of one block with random weights and a real architecture's shapes."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np

_WIDTH, _INNER, _HEADS, _PATCH = 64, 128, 4, 14


def write_projector(path: Path, width: int, kind: str = "idefics3", *, side: int = 56, seed: int = 0) -> Path:
    """Write a projector for models of a width, of SmolVLM (idefics3), Gemma 3 (gemma3) or Qwen2-VL (qwen2vl_merger).

    `side`: pixels of the square that it sees at once.
    """
    rng = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "clip")
    _describe(writer, width, kind, side)

    def add(name: str, *shape: int) -> None:
        """Add weights, in numpy's order of axes."""
        scale = 1.0 / np.sqrt(np.prod(shape[1:])) if len(shape) > 1 else 0.05
        weights = rng.normal(0.0, scale, shape).astype(np.float32)
        writer.add_tensor(name, weights + 1 if "ln" in name and name.endswith("weight") else weights)

    def linear(name: str, rows: int, columns: int) -> None:
        add(f"{name}.weight", rows, columns)
        add(f"{name}.bias", rows)

    add("v.patch_embd.weight", _WIDTH, 3, _PATCH, _PATCH)
    if kind == "qwen2vl_merger":
        add("v.patch_embd.weight.1", _WIDTH, 3, _PATCH, _PATCH)
    else:
        add("v.patch_embd.bias", _WIDTH)
        add("v.position_embd.weight", (side // _PATCH) ** 2, _WIDTH)
    for name in ("v.post_ln", "v.blk.0.ln1", "v.blk.0.ln2"):
        add(f"{name}.weight", _WIDTH)
        add(f"{name}.bias", _WIDTH)
    for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
        linear(f"v.blk.0.{name}", _WIDTH, _WIDTH)
    linear("v.blk.0.ffn_up", _INNER, _WIDTH)
    linear("v.blk.0.ffn_down", _WIDTH, _INNER)
    _PROJECT[kind](add, linear, width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _describe(writer: gguf.GGUFWriter, width: int, kind: str, side: int) -> None:
    writer.add_string("clip.projector_type", kind)
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_bool("clip.use_gelu", True)
    writer.add_uint32("clip.vision.image_size", side)
    writer.add_uint32("clip.vision.patch_size", _PATCH)
    writer.add_uint32("clip.vision.embedding_length", _WIDTH)
    writer.add_uint32("clip.vision.feed_forward_length", _INNER)
    writer.add_uint32("clip.vision.projection_dim", width)
    writer.add_uint32("clip.vision.block_count", 1)
    writer.add_uint32("clip.vision.attention.head_count", _HEADS)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
    writer.add_uint32("clip.vision.projector.scale_factor", 2)
    writer.add_uint32("clip.vision.preproc_image_size", 2 * side)
    writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    writer.add_array("clip.vision.image_std", [0.5, 0.5, 0.5])
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def _idefics3(add: Any, _linear: Any, width: int) -> None:
    add("mm.model.fc.weight", width, 4 * _WIDTH)


def _gemma3(add: Any, _linear: Any, width: int) -> None:
    add("mm.input_projection.weight", _WIDTH, width)
    add("mm.soft_emb_norm.weight", _WIDTH)


def _qwen2vl(_add: Any, linear: Any, width: int) -> None:
    linear("mm.0", 4 * _WIDTH, 4 * _WIDTH)
    linear("mm.2", width, 4 * _WIDTH)


_PROJECT = {"idefics3": _idefics3, "gemma3": _gemma3, "qwen2vl_merger": _qwen2vl}
