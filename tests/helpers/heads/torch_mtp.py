"""Folders of targets with MTP layers in the published layouts, made without training."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.models.tiny_models import VOCABULARY, silence, torch, transformers

safetensors_numpy: Any = pytest.importorskip("safetensors.numpy")
Array = NDArray[np.float32]
WIDTH, LAYERS = 32, 2

_COMMON: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "intermediate_size": 48,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
_EXPERTS: dict[str, Any] = {"moe_intermediate_size": 24, "num_experts_per_tok": 2}
_ROUTED = _EXPERTS | {"n_routed_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1}
_HYBRID: dict[str, Any] = {
    "head_dim": 16,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "deepseek_v3": _COMMON
    | _ROUTED
    | {"num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 24, "qk_rope_head_dim": 8, "v_head_dim": 8}
    | {"qk_nope_head_dim": 8, "n_group": 2, "topk_group": 1},
    "glm4_moe": _COMMON | _ROUTED | {"head_dim": 8, "use_qk_norm": True},
    "qwen3_next": _COMMON | _EXPERTS | _HYBRID | {"num_experts": 4, "shared_expert_intermediate_size": 24},
    "qwen3_5_text": _COMMON | _HYBRID,
}
"""By model type. Layers of the last two are recurrent but for one in `full_attention_interval`."""


@dataclass(frozen=True)
class _Layout:
    """How a family calls the parts that are not the block's."""

    token_norm: str
    state_norm: str
    projection: str
    norm: str
    block: str
    told: str


_NEXTN = _Layout(
    "{b}enorm", "{b}hnorm", "{b}eh_proj", "{b}shared_head.norm", "model.layers.{n}.", "num_nextn_predict_layers"
)
_MTP = _Layout(
    "mtp.pre_fc_norm_embedding",
    "mtp.pre_fc_norm_hidden",
    "mtp.fc",
    "mtp.norm",
    "mtp.layers.{i}.",
    "mtp_num_hidden_layers",
)


def layout_of(kind: str) -> _Layout:
    return _MTP if kind.startswith("qwen") else _NEXTN


def names_of(kind: str, index: int, layers: int = LAYERS) -> dict[str, str]:
    """File names of an MTP layer's parts, without `.weight`."""
    layout = layout_of(kind)
    block = layout.block.format(i=index, n=layers + index)
    parts = {name: getattr(layout, name).format(b=block) for name in ("token_norm", "state_norm", "projection", "norm")}
    return parts | {"block": block}


def write_mtp_folder(
    folder: Path,
    kind: str,
    *,
    count: int = 1,
    with_head: bool = True,
    mixing: float = 0.1,
    states: float = 0.05,
    parts: int = 1,
    own_output: bool = False,
    seed: int = 0,
    **changed: Any,
) -> Path:
    """A target whose next token depends mostly on the last one, from which its MTP layers guess too.

    `count`: of these layers; `with_head` False: the configuration tells of them, the files lack them. `states`: how
    much of the target's state goes in. `parts`: files that the tensors are in, with an index. `own_output`: the layers
    bring copies of embedding and output layer, as DeepSeek's and GLM's do.
    """
    with silence():
        config = transformers.AutoConfig.for_model(kind, **SETTINGS[kind] | {"full_attention_interval": 2} | changed)
        torch.manual_seed(seed)
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    rng = np.random.default_rng(seed)
    tensors: dict[str, Array] = safetensors_numpy.load_file(folder / "model.safetensors")
    centred = kind.startswith("qwen")
    for name, values in tensors.items():
        tensors[name] = _drawn(rng, name, values, mixing, centred=centred)
    layers = config.num_hidden_layers
    if with_head:
        block = f"model.layers.{layers - 1}."
        for index in range(count):
            names = names_of(kind, index, layers)
            for name in [each for each in tensors if each.startswith(block)]:
                drawn = _drawn(rng, name, tensors[name], mixing, centred=centred)
                tensors[names["block"] + name[len(block) :]] = drawn
            for part in ("token_norm", "state_norm", "norm"):
                ones = np.ones(config.hidden_size, np.float32)
                tensors[f"{names[part]}.weight"] = _drawn(rng, "norm", ones, mixing, centred=centred)
            width = config.hidden_size
            pair = rng.standard_normal((width, 2 * width)).astype(np.float32) * np.float32(states * width**-0.5)
            pair[:, :width] += np.eye(width, dtype=np.float32)
            tensors[f"{names['projection']}.weight"] = pair
            if own_output:
                tensors[f"{names['block']}shared_head.head.weight"] = tensors["lm_head.weight"].copy()
                tensors[f"{names['block']}embed_tokens.weight"] = tensors["model.embed_tokens.weight"].copy()
    told = json.loads((folder / "config.json").read_text("utf-8")) | {layout_of(kind).told: count}
    (folder / "config.json").write_text(json.dumps(told), "utf-8")
    write_tensors(folder, tensors, parts)
    return folder


def write_tensors(folder: Path, tensors: dict[str, Array], parts: int = 1) -> None:
    """The tensors of a model, in one file or in several with an index."""
    whole = {name: np.ascontiguousarray(values) for name, values in tensors.items()}
    if parts == 1:
        safetensors_numpy.save_file(whole, folder / "model.safetensors", {"format": "pt"})
        return
    (folder / "model.safetensors").unlink(missing_ok=True)
    files = [f"model-{part + 1:05}-of-{parts:05}.safetensors" for part in range(parts)]
    where = {name: files[index % parts] for index, name in enumerate(whole)}
    for file in files:
        safetensors_numpy.save_file(
            {name: values for name, values in whole.items() if where[name] == file}, folder / file, {"format": "pt"}
        )
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}), "utf-8")


def read_tensors(folder: Path) -> dict[str, Array]:
    """The tensors of a model, from all its files."""
    return {name: each for file in sorted(folder.glob("*.safetensors")) for name, each in _load(file).items()}


def _load(file: Path) -> dict[str, Array]:
    loaded: dict[str, Array] = safetensors_numpy.load_file(file)
    return loaded


def _drawn(rng: np.random.Generator, name: str, like: Array, mixing: float, *, centred: bool) -> Array:
    """Values for a tensor. Norms are about 1; `centred`: stored as what is added to 1."""
    values = rng.standard_normal(like.shape).astype(np.float32)
    if "linear_attn" in name and like.ndim != 2:
        return like
    if "norm" in name:
        return np.asarray(0.1 * values + (0 if centred else 1), np.float32)
    if "e_score_correction_bias" in name:
        return np.asarray(0.1 * values, np.float32)
    if "embed_tokens" in name:
        return values
    last = any(part in name for part in ("o_proj", "down_proj", "out_proj"))
    scale = 2.5 if "lm_head" in name else mixing if last else 1.0
    return np.asarray(values * scale * like.shape[-1] ** -0.5, np.float32)
