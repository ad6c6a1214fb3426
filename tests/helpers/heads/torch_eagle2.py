"""EAGLE-1 and EAGLE-2 heads in the layout that their authors publish, made without training, and their reference."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.heads.formulas import attention, gated, heads_of, inside, normed, rows_of_a_chain, turned
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
        features = normed(states, self.last_norm, self.last_epsilon)
        return rows_of_a_chain(self._head, self.output, tokens[1:], features, proposed)

    def _head(self, tokens: Sequence[int], features: Array) -> Array:
        x = np.concatenate([self.embedding[list(tokens)], features], axis=1)
        hidden: Array = x @ self.tensors["fc.weight"].T + self.tensors.get("fc.bias", np.float32(0))
        epsilon = self.config["rms_norm_eps"]
        for layer in range(self.config["num_hidden_layers"]):
            mine = inside(self.tensors, f"layers.{layer}.")
            read = normed(hidden, mine["input_layernorm.weight"], epsilon) if layer else hidden
            hidden = hidden + self._attention(mine, read)
            inner = normed(hidden, mine["post_attention_layernorm.weight"], epsilon)
            hidden = hidden + gated(inner, *(mine[f"mlp.{part}_proj.weight"] for part in ("gate", "up", "down")))
        return hidden

    def _attention(self, mine: dict[str, Array], x: Array) -> Array:
        heads = self.config["num_attention_heads"]
        shared = self.config.get("num_key_value_heads", heads)

        def split(name: str, count: int) -> Array:
            at = f"self_attn.{name}_proj"
            return heads_of(x, mine[f"{at}.weight"], count, mine.get(f"{at}.bias", 0.0))

        query, key, value = split("q", heads), split("k", shared), split("v", shared)
        speeds, stretch = turning_speeds(self.config, query.shape[2] // 2)
        query, key = (turned(each, speeds, by=stretch) for each in (query, key))
        mixed = attention(query, key, value, query.shape[2] ** -0.5)
        return np.asarray(mixed @ mine["self_attn.o_proj.weight"].T, np.float32)
