"""Gemma 4 in small and its assistant, the MTP layers in a file of their own that read the target's cache.

The entries and tensors are those of llama.cpp's converter (conversion/gemma.py, Gemma4Model, Gemma4AssistantModel).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from helpers.heads.layouts import floats_of, instead, scaled, write_gguf

Array = NDArray[np.float32]
WINDOW = 16
"""Tokens that a layer with a window sees."""
BASE, BASE_IN_WINDOW = 1e6, 1e4
EPSILON = 1e-6


@dataclass(frozen=True)
class Gemma:
    """Size of a target. Layers with a window alternate with full ones, of which the last is one.

    `beside`: numbers of each token's embedding beside each layer (as in E2B), 0 for none; `borrowed`: so many of the
    last layers read the cache of earlier ones.
    """

    layers: int = 4
    width: int = 64
    inner: int = 96
    heads: int = 4
    shared_in_window: int = 2
    shared: int = 1
    key_in_window: int = 32
    key: int = 64
    beside: int = 0
    borrowed: int = 0
    vocabulary: int = 320
    context: int = 512

    def window(self, layer: int) -> bool:
        """True if a layer has a window."""
        return layer % 2 == 0

    def shapes(self, layer: int) -> tuple[int, int]:
        """Key heads of a layer and their width."""
        return (self.shared_in_window, self.key_in_window) if self.window(layer) else (self.shared, self.key)


PLAIN = Gemma()
BESIDE = Gemma(layers=6, beside=8, borrowed=2)


def write_gemma4(path: Path, size: Gemma = PLAIN, *, seed: int = 0, kind: str = "F32") -> Path:
    """A target whose next token depends mostly on the last one."""
    rng = np.random.default_rng(seed)
    width, inner = size.width, size.inner
    tensors: dict[str, Array] = {
        "token_embd.weight": scaled(rng, size.vocabulary, width),
        "output.weight": 2.5 * scaled(rng, size.vocabulary, width),
        "output_norm.weight": _norm(rng, width),
        "rope_freqs.weight": _frequencies(size.key),
    }
    if size.beside:
        rows = size.beside * size.layers
        tensors |= {
            "per_layer_token_embd.weight": scaled(rng, size.vocabulary, rows),
            "per_layer_model_proj.weight": scaled(rng, rows, width),
            "per_layer_proj_norm.weight": _norm(rng, size.beside),
        }
    for layer in range(size.layers):
        shared, key = size.shapes(layer)
        block = _block(rng, size.heads, key, width, inner)
        if layer < size.layers - size.borrowed:
            block |= {"attn_k": scaled(rng, shared * key, width), "attn_k_norm": _norm(rng, key)}
            if size.window(layer):  # A full layer's values are its keys before their norm.
                block["attn_v"] = scaled(rng, shared * key, width)
        if size.beside:
            block |= {
                "inp_gate": scaled(rng, size.beside, width),
                "proj": scaled(rng, width, size.beside),
                "post_norm": 0.03 * _norm(rng, width),
            }
        tensors |= {f"blk.{layer}.{name}.weight": values for name, values in block.items()}
    entries = _entries(size, size.layers) | {
        "embedding_length": width,
        "attention.shared_kv_layers": size.borrowed,
        "embedding_length_per_layer_input": size.beside,
        "final_logit_softcapping": 30.0,
        "attention.sliding_window_pattern": [size.window(each) for each in range(size.layers)],
        "attention.head_count_kv": [size.shapes(each)[0] for each in range(size.layers)],
    }
    return write_gguf(path, "gemma4", entries, tensors, size.vocabulary, kind)


def write_assistant(
    path: Path,
    target: Path,
    size: Gemma = PLAIN,
    *,
    layers: int = 4,
    width: int = 56,
    seed: int = 0,
    kind: str = "F32",
    entries: dict[str, int] | None = None,
    **changed: Array | None,
) -> Path:
    """An assistant for a target, made without training: it knows most of how the last token goes on.

    `width`: numbers in its own states; the target's may be wider. `entries`: numbers of the header in place of others.
    `changed`: tensors in place of those of the same name ("." as "__"), None to leave one out.
    """
    reader = gguf.GGUFReader(target)
    found = {tensor.name: tensor for tensor in reader.tensors}
    output = floats_of(found["output.weight"])
    rng = np.random.default_rng(seed + 1000)
    turned, _ = np.linalg.qr(rng.standard_normal((size.width, size.width)))
    narrow, inner = np.asarray(turned[:width], np.float32), 2 * width
    into = np.concatenate([narrow, 0.1 * scaled(rng, width, size.width)], axis=1)
    tensors = {
        "token_embd.weight": output @ narrow.T,
        "output_norm.weight": _norm(rng, width),
        "nextn.pre_projection.weight": into,
        "nextn.post_projection.weight": np.ascontiguousarray(narrow.T) + 0.1 * scaled(rng, size.width, width),
        "rope_freqs.weight": _frequencies(size.key),
    }
    for layer in range(layers):
        window = layer < layers - 1
        key = size.key_in_window if window else size.key
        block = _block(rng, size.heads, key, width, inner)
        tensors |= {f"blk.{layer}.{name}.weight": values for name, values in block.items()}
    windows = [layer < layers - 1 for layer in range(layers)]
    merged = _entries(size, layers) | {
        "embedding_length": width,
        "embedding_length_out": size.width,
        "feed_forward_length": inner,
        "nextn_predict_layers": layers,
        "attention.shared_kv_layers": layers,
        "embedding_length_per_layer_input": 0,
        "attention.sliding_window_pattern": windows,
        "attention.head_count_kv": [size.shared_in_window if window else size.shared for window in windows],
        **(entries or {}),
    }
    return write_gguf(path, "gemma4-assistant", merged, instead(tensors, changed), reader, kind)


def _entries(size: Gemma, layers: int) -> dict[str, Any]:
    return {
        "block_count": layers,
        "context_length": size.context,
        "feed_forward_length": size.inner,
        "attention.head_count": size.heads,
        "attention.key_length": size.key,
        "attention.value_length": size.key,
        "attention.key_length_swa": size.key_in_window,
        "attention.value_length_swa": size.key_in_window,
        "attention.sliding_window": WINDOW,
        "rope.dimension_count": size.key,
        "rope.dimension_count_swa": size.key_in_window,
        "rope.freq_base": BASE,
        "rope.freq_base_swa": BASE_IN_WINDOW,
        "attention.layer_norm_rms_epsilon": EPSILON,
    }


def _block(rng: np.random.Generator, heads: int, key: int, width: int, inner: int) -> dict[str, NDArray[np.float32]]:
    """The tensors that a layer of the target's and one of the assistant's have alike."""
    return {
        "attn_norm": _norm(rng, width),
        "attn_q": scaled(rng, heads * key, width),
        "attn_output": scaled(rng, width, heads * key),
        "attn_q_norm": 0.3 * _norm(rng, key),
        "post_attention_norm": 0.1 * _norm(rng, width),
        "layer_output_scale": np.asarray([0.9], np.float32),
        "ffn_norm": _norm(rng, width),
        "ffn_gate": scaled(rng, inner, width),
        "ffn_up": scaled(rng, inner, width),
        "ffn_down": scaled(rng, width, inner),
        "post_ffw_norm": 0.03 * _norm(rng, width),
    }


def _norm(rng: np.random.Generator, width: int) -> Array:
    return np.asarray(1 + 0.1 * rng.standard_normal(width), np.float32)


def _frequencies(key: int) -> Array:
    """Of the pairs of a full layer's head one in four turns."""
    return np.asarray([1.0] * (key // 8) + [1e30] * (key // 2 - key // 8), np.float32)
