"""EAGLE-3 heads in the layouts that are published as safetensors, made without training, and their reference."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.heads.eagle_reference import EagleReference
from helpers.heads.formulas import turned
from helpers.heads.layouts import scaled, some_tokens, write_folder
from helpers.heads.rope import turning_speeds
from helpers.models.tiny_models import VOCABULARY, write_tiny

safetensors_numpy: Any = pytest.importorskip("safetensors.numpy")
Array = NDArray[np.float32]
LAYERS = 4


def write_torch_target(folder: Path) -> Path:
    """A tiny llama whose next token depends mostly on the last one."""
    write_tiny(folder, "llama", num_hidden_layers=LAYERS, max_position_embeddings=256)
    path = folder / "model.safetensors"
    tensors = safetensors_numpy.load_file(path)
    rng = np.random.default_rng(0)
    for name, values in tensors.items():
        drawn = rng.standard_normal(values.shape).astype(np.float32)
        if "norm" in name:
            tensors[name] = np.ones_like(values)
        elif "embed_tokens" in name:
            tensors[name] = drawn
        elif "lm_head" in name:
            tensors[name] = drawn * np.float32(2.5 * values.shape[1] ** -0.5)
        else:
            last = "o_proj" in name or "down_proj" in name
            tensors[name] = drawn * np.float32((0.1 if last else 1.0) * values.shape[1] ** -0.5)
    safetensors_numpy.save_file(tensors, path, {"format": "pt"})
    return folder


def write_torch_eagle(
    folder: Path,
    target: Path,
    *,
    speculators: bool = False,
    kept: int | None = None,
    norm_before_residual: bool = False,
    norm_before_fc: bool = False,
    own_embedding: bool = True,
    states: float = 0.05,
    seed: int = 0,
    **changed: Any,
) -> Path:
    """A head as helpers.heads.eagle.write_eagle3 makes one, in SpecForge's layout or vLLM's `speculators`.

    `changed`: entries of the configuration.
    """
    found = safetensors_numpy.load_file(target / "model.safetensors")
    embedding, output = found["model.embed_tokens.weight"], found["lm_head.weight"]
    width, rng = embedding.shape[1], np.random.default_rng(seed)
    inner = 2 * width

    look, ones, same = 6.0 * scaled(rng, width, width), np.ones(width, np.float32), np.eye(width, dtype=np.float32)
    looking = np.concatenate([look, np.zeros((width, width), np.float32)], axis=1)
    layer = {
        "input_layernorm": ones,
        "hidden_norm": ones,
        "post_attention_layernorm": ones,
        "self_attn.q_proj": looking,
        "self_attn.k_proj": looking,
        "self_attn.v_proj": np.concatenate([same, scaled(rng, width, width, states)], axis=1),
        "self_attn.o_proj": same,
        "mlp.gate_proj": scaled(rng, inner, width),
        "mlp.up_proj": scaled(rng, inner, width),
        "mlp.down_proj": scaled(rng, width, inner, 0.1),
    }
    prefix = "layers.0." if speculators else "midlayer."
    tensors = {f"{prefix}{name}.weight": np.asarray(values, np.float32) for name, values in layer.items()}
    tensors |= {"fc.weight": scaled(rng, width, 3 * width, states), "norm.weight": ones, "lm_head.weight": output}
    if own_embedding:
        tensors["embed_tokens.weight"] = embedding
    if norm_before_fc:
        tensors["input_norm.weight"] = np.asarray(1 + 0.1 * rng.standard_normal(3 * width), np.float32)
    if kept is not None:
        table = some_tokens(rng, VOCABULARY, kept)
        offsets: Any = table - np.arange(kept)
        tensors |= {"d2t": offsets, "lm_head.weight": output[table]}
    settings = _settings(width) | changed
    top: dict[str, Any] = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "draft_vocab_size": kept or VOCABULARY,
        "eagle_aux_hidden_state_layer_ids": [1, 2, 3],
        "norm_before_residual": norm_before_residual,
        "norm_before_fc": norm_before_fc,
    }
    return write_folder(folder, top | ({"transformer_layer_config": settings} if speculators else settings), tensors)


def _settings(width: int) -> dict[str, Any]:
    return {
        "hidden_size": width,
        "intermediate_size": 2 * width,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "num_hidden_layers": 1,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "vocab_size": VOCABULARY,
    }


class TorchEagleReference(EagleReference):
    """The reference with the tensors of such a folder: halves are turned, not pairs."""

    def __init__(self, path: Path, target: Path) -> None:
        config = json.loads((path / "config.json").read_text("utf-8"))
        settings = config | config.get("transformer_layer_config", {})
        tensors = safetensors_numpy.load_file(path / "model.safetensors")
        short = {name.removeprefix("midlayer.").removeprefix("layers.0."): each for name, each in tensors.items()}
        whole = safetensors_numpy.load_file(target / "model.safetensors")
        names = {
            "attn_norm": "input_layernorm",
            "attn_norm_2": "hidden_norm",
            "ffn_norm": "post_attention_layernorm",
            "attn_q": "self_attn.q_proj",
            "attn_k": "self_attn.k_proj",
            "attn_v": "self_attn.v_proj",
            "attn_output": "self_attn.o_proj",
            "ffn_gate": "mlp.gate_proj",
            "ffn_up": "mlp.up_proj",
            "ffn_down": "mlp.down_proj",
        }
        self.tensors = {f"blk.0.{ours}.weight": short[f"{theirs}.weight"] for ours, theirs in names.items()}
        self.tensors |= {
            "fc.weight": short["fc.weight"],
            "output_norm.weight": short["norm.weight"],
            "output.weight": short["lm_head.weight"],
            "token_embd.weight": short.get("embed_tokens.weight", whole["model.embed_tokens.weight"]),
        }
        if "input_norm.weight" in short:
            self.tensors["enc.output_norm.weight"] = short["input_norm.weight"]
        if "d2t" in short:
            self.tensors["d2t"] = short["d2t"] + np.arange(len(short["d2t"]))
        self.heads, self.shared = settings["num_attention_heads"], settings["num_key_value_heads"]
        self.epsilon, self.config = settings["rms_norm_eps"], settings
        self.normed, self.normed_fc = settings["norm_before_residual"], settings["norm_before_fc"]

    def _rotated(self, x: Array) -> Array:
        speeds, stretch = turning_speeds(self.config, x.shape[2] // 2)
        return turned(x, speeds, by=stretch)
