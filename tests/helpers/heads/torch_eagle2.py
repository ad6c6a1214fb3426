"""EAGLE-1 and EAGLE-2 heads in the layout that their authors publish, made without training, and their reference."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.heads.layouts import scaled, write_folder
from helpers.heads.rope import turning_speeds
from helpers.models.tiny_models import VOCABULARY

safetensors_numpy: Any = pytest.importorskip("safetensors.numpy")
Array = NDArray[np.float32]


def write_torch_eagle2(
    folder: Path,
    target: Path,
    *,
    bias: bool = True,
    qkv_bias: bool = False,
    own_embedding: bool = True,
    layers: int = 1,
    shared: int | None = 2,
    states: float = 0.05,
    seed: int = 0,
    drop: Sequence[str] = (),
    **changed: Any,
) -> Path:
    """A head that passes on what the target's layers make of the last token, roughly, beside a random rest.

    `states`: how much of the feature before is mixed in; `drop`: tensors that are left out; `changed`: entries of the
    configuration.
    """
    found = safetensors_numpy.load_file(target / "model.safetensors")
    embedding = found["model.embed_tokens.weight"]
    width, rng = embedding.shape[1], np.random.default_rng(seed)
    inner, heads = 2 * width, 2
    kept = width // heads * (shared or heads)

    # Of a token of this target a feature is the normed embedding, with little else: fc looks through to it.
    look = np.eye(width, dtype=np.float32) + scaled(rng, width, width, 0.02)
    tensors: dict[str, Array] = {"fc.weight": np.concatenate([look, scaled(rng, width, width, states)], axis=1)}
    if bias:
        tensors["fc.bias"] = np.asarray(0.05 * rng.standard_normal(width), np.float32)
    for layer in range(layers):
        prefix = f"layers.{layer}."
        sizes = {
            "self_attn.q_proj": (width, width),
            "self_attn.k_proj": (kept, width),
            "self_attn.v_proj": (kept, width),
        }
        sizes |= {"mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width)}
        tensors |= {f"{prefix}{name}.weight": scaled(rng, *size) for name, size in sizes.items()}
        tensors[f"{prefix}self_attn.o_proj.weight"] = scaled(rng, width, width, 0.2)
        tensors[f"{prefix}mlp.down_proj.weight"] = scaled(rng, width, inner, 0.2)
        for name in ("post_attention_layernorm", *(("input_layernorm",) if layer else ())):
            tensors[f"{prefix}{name}.weight"] = np.asarray(1 + 0.1 * rng.standard_normal(width), np.float32)
        for name, rows in (("q", width), ("k", kept), ("v", kept)) if qkv_bias else ():
            tensors[f"{prefix}self_attn.{name}_proj.bias"] = np.asarray(0.3 * rng.standard_normal(rows), np.float32)
    if own_embedding:
        tensors["embed_tokens.weight"] = embedding
    config = _settings(width, heads, shared, layers) | changed
    if config["num_key_value_heads"] is None:
        del config["num_key_value_heads"]
    return write_folder(folder, config, tensors, drop)


def _settings(width: int, heads: int, shared: int | None, layers: int) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": width,
        "intermediate_size": 2 * width,
        "num_attention_heads": heads,
        "num_key_value_heads": shared,
        "num_hidden_layers": layers,
        "rms_norm_eps": 1e-5,
        "rope_scaling": None,
        "vocab_size": VOCABULARY,
    }


class TorchEagle2Reference:
    """The head in plain float32, without a cache: Li et al. 2024, arXiv:2401.15077, section 3.1."""

    def __init__(self, path: Path, target: Path) -> None:
        self.config = json.loads((path / "config.json").read_text("utf-8"))
        self.tensors = safetensors_numpy.load_file(path / "model.safetensors")
        whole = safetensors_numpy.load_file(target / "model.safetensors")
        self.embedding = self.tensors.get("embed_tokens.weight", whole["model.embed_tokens.weight"])
        self.output, self.last_norm = whole["lm_head.weight"], whole["model.norm.weight"]
        self.last_epsilon = json.loads((target / "config.json").read_text("utf-8"))["rms_norm_eps"]

    def chain(self, tokens: Sequence[int], states: Array, proposed: Sequence[int]) -> Array:
        """Rows behind the last token and behind each of `proposed` but the last. Shape (proposed, vocabulary).

        `states`: of all tokens but the last, as they leave the target's last layer.
        """
        features, text, rows = _normed(states, self.last_norm, self.last_epsilon), list(tokens[1:]), []
        for token in proposed:
            hidden = self._head(text, features)
            rows.append(self.output @ hidden[-1])
            features = np.concatenate([features, hidden[-1:]])
            text.append(token)
        return np.stack(rows)

    def _head(self, tokens: Sequence[int], features: Array) -> Array:
        x = np.concatenate([self.embedding[list(tokens)], features], axis=1)
        hidden: Array = x @ self.tensors["fc.weight"].T + self.tensors.get("fc.bias", np.float32(0))
        epsilon = self.config["rms_norm_eps"]
        for layer in range(self.config["num_hidden_layers"]):
            mine = {
                name.removeprefix(f"layers.{layer}."): each
                for name, each in self.tensors.items()
                if name.startswith(f"layers.{layer}.")
            }
            read = _normed(hidden, mine["input_layernorm.weight"], epsilon) if layer else hidden
            hidden = hidden + self._attention(mine, read)
            inner = _normed(hidden, mine["post_attention_layernorm.weight"], epsilon)
            gate = inner @ mine["mlp.gate_proj.weight"].T
            up = inner @ mine["mlp.up_proj.weight"].T
            hidden = hidden + (gate / (1 + np.exp(-gate)) * up) @ mine["mlp.down_proj.weight"].T
        return hidden

    def _attention(self, mine: dict[str, Array], x: Array) -> Array:
        heads = self.config["num_attention_heads"]
        shared = self.config.get("num_key_value_heads", heads)
        width = len(mine["self_attn.q_proj.weight"]) // heads

        def split(name: str, count: int) -> Array:
            found = x @ mine[f"self_attn.{name}_proj.weight"].T
            found = found + mine.get(f"self_attn.{name}_proj.bias", np.float32(0))
            return found.reshape(len(x), count, width).transpose(1, 0, 2)

        query, key, value = self._rotated(split("q", heads)), self._rotated(split("k", shared)), split("v", shared)
        key, value = (np.repeat(each, heads // shared, axis=0) for each in (key, value))
        scores = query @ key.transpose(0, 2, 1) / np.sqrt(width)
        scores = np.where(np.tril(np.ones((len(x), len(x)), bool)), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = weights / weights.sum(axis=2, keepdims=True) @ value
        found: Array = mixed.transpose(1, 0, 2).reshape(len(x), -1) @ mine["self_attn.o_proj.weight"].T
        return found.astype(np.float32)

    def _rotated(self, x: Array) -> Array:
        half = x.shape[2] // 2
        speeds, stretch = turning_speeds(self.config, half)
        angles = np.arange(x.shape[1])[:, None] * speeds
        left, right = x[:, :, :half], x[:, :, half:]
        cos, sin = stretch * np.cos(angles), stretch * np.sin(angles)
        return np.concatenate([left * cos - right * sin, left * sin + right * cos], axis=2).astype(np.float32)


def _normed(x: Array, weight: Array, epsilon: float) -> Array:
    scale = 1 / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=1, keepdims=True) + epsilon)
    normed: Array = (x * scale * weight).astype(np.float32)
    return normed
