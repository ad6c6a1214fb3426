"""EAGLE-3 heads for GGUF targets, made without training: they know how the last token goes on, and a little noise."""

from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from helpers.heads.layouts import floats_of, instead, number_of, scaled, some_tokens, write_gguf

Array = NDArray[np.float32]


def write_eagle3(
    path: Path,
    target: Path,
    *,
    layers: tuple[int, int, int] = (1, 2, 3),
    kept: int | None = None,
    states: float = 0.05,
    seed: int = 0,
    norm_before_residual: bool = False,
    norm_before_fc: bool = False,
    **changed: Array | None,
) -> Path:
    """A head in llama.cpp's layout (architecture eagle3), in float32.

    Its attention looks at the token itself: keys and queries are the same projection of its embedding. Its output is
    the target's, behind a norm. So it proposes what the embedding alone makes likely. `kept`: so many tokens of the
    target's vocabulary are in the draft's own (d2t), None for all. `states`: how much the target's hidden states count.
    `changed`: tensors in place of those of the same name ("." as "__"), None to leave one out.
    """
    reader = gguf.GGUFReader(target)
    found = {tensor.name: tensor for tensor in reader.tensors}
    embedding = floats_of(found["token_embd.weight"])
    output = floats_of(found.get("output.weight", found["token_embd.weight"]))
    vocabulary, width = embedding.shape
    rng, inner = np.random.default_rng(seed), 2 * width
    look, ones, same = 6.0 * scaled(rng, width, width), np.ones(width, np.float32), np.eye(width, dtype=np.float32)
    looking = np.concatenate([look, np.zeros((width, width), np.float32)], axis=1)
    made = {
        "fc.weight": scaled(rng, width, 3 * width, states),
        "output_norm.weight": floats_of(found["output_norm.weight"]),
        "output.weight": output,
        "token_embd.weight": embedding,
        "blk.0.attn_norm.weight": ones,
        "blk.0.attn_norm_2.weight": ones,
        "blk.0.attn_q.weight": looking,
        "blk.0.attn_k.weight": looking,
        "blk.0.attn_v.weight": np.concatenate([same, scaled(rng, width, width, states)], axis=1),
        "blk.0.attn_output.weight": same,
        "blk.0.ffn_norm.weight": ones,
        "blk.0.ffn_gate.weight": scaled(rng, inner, width),
        "blk.0.ffn_up.weight": scaled(rng, inner, width),
        "blk.0.ffn_down.weight": scaled(rng, width, inner, 0.1),
    }
    if norm_before_fc:
        made["enc.output_norm.weight"] = (1 + 0.1 * rng.standard_normal(3 * width)).astype(np.float32)
    tensors: dict[str, NDArray[Any]] = {**instead(made, changed)}
    if kept is not None and "output.weight" in tensors:
        table = some_tokens(rng, vocabulary, kept)
        tensors |= {"output.weight": output[table], "d2t": table}
    entries = _sizes(1, number_of(reader, "context_length"), width, (1, 1, width)) | {
        "target_layers": layers,
        "target_hidden_size": width,
        "norm_before_residual": norm_before_residual,
        "norm_before_fc": norm_before_fc,
    }
    return write_gguf(path, "eagle3", entries, tensors, reader)


def _sizes(blocks: int, context: int, width: int, heads: tuple[int, int, int]) -> dict[str, Any]:
    """Return the entries of a header. `heads`: their number, that of keys, and how many numbers of one are turned."""
    return {
        "block_count": blocks,
        "context_length": context,
        "embedding_length": width,
        "feed_forward_length": 2 * width,
        "attention.head_count": heads[0],
        "attention.head_count_kv": heads[1],
        "attention.layer_norm_rms_epsilon": 1e-5,
        "rope.dimension_count": heads[2],
    }


def write_plain_target(
    path: Path, *, layers: int = 4, width: int = 64, vocabulary: int = 320, mixing: float = 0.15, seed: int = 0
) -> Path:
    """A llama in float32 whose next token depends mostly on the last one: what a made head can guess."""
    rng, ones = np.random.default_rng(seed), np.ones(width, np.float32)
    tensors = {
        "token_embd.weight": rng.standard_normal((vocabulary, width)).astype(np.float32),
        "output.weight": (2.5 * width**-0.5 * rng.standard_normal((vocabulary, width))).astype(np.float32),
        "output_norm.weight": ones,
    }
    shapes = {
        "attn_q": (width, width),
        "attn_k": (width // 2, width),
        "attn_v": (width // 2, width),
        "attn_output": (width, width),
        "ffn_gate": (2 * width, width),
        "ffn_up": (2 * width, width),
        "ffn_down": (width, 2 * width),
    }
    for layer in range(layers):
        tensors |= {f"blk.{layer}.{name}.weight": ones for name in ("attn_norm", "ffn_norm")}
        for name, (rows, columns) in shapes.items():
            scale = (mixing if name in ("attn_output", "ffn_down") else 1.0) * columns**-0.5
            tensors[f"blk.{layer}.{name}.weight"] = (scale * rng.standard_normal((rows, columns))).astype(np.float32)
    return write_gguf(path, "llama", _sizes(layers, 256, width, (4, 2, width // 4)), tensors, vocabulary)
