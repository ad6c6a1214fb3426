"""Write heads as files: EAGLE-3 as GGUF in llama.cpp's layout and as a folder with safetensors, Medusa as a folder."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor

from demopair import export
from engine.training.eagle import EagleHead
from engine.training.head_file import NAMES, add_tensors

from .medusa import HEADS, MedusaHeads
from .target import LAYERS_READ

_DESCRIPTION = "EAGLE-3 head for Outrider's demo target, trained on the target's own text."


def write_eagle_gguf(head: EagleHead, words: Tokenizer, path: Path, read: int) -> None:
    """Write a head (matrices Q8_0, norms F32), by way of a temporary file. `read`: the width of the target's states."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part, shape = path.with_suffix(".part"), head.shape
    writer = gguf.GGUFWriter(str(part), "eagle3")
    export.add_metadata(writer, shape, "Outrider demo head", _DESCRIPTION, quantised=True)
    writer.add_size_label(export.size_label(sum(each.numel() for each in head.parameters())))
    writer.add_array("eagle3.target_layers", list(LAYERS_READ))
    writer.add_uint32("eagle3.target_hidden_size", read)
    writer.add_bool("eagle3.norm_before_residual", val=False)
    export.add_tokenizer(writer, words)
    add_tensors(writer, head)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(path)


def write_eagle_folder(head: EagleHead, folder: Path, read: int) -> None:
    """Write a head for a target in a folder, in float32."""
    shape, state = head.shape, head.state_dict()
    tensors = {f"{theirs}.weight": state[f"{ours}.weight"] for ours, (_, theirs) in NAMES.items()}
    tensors["d2t"] = state["table"] - torch.arange(len(state["table"]))
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "vocab_size": shape.vocab_size,
        "draft_vocab_size": len(state["table"]),
        "hidden_size": shape.width,
        "target_hidden_size": read,
        "intermediate_size": shape.ff_width,
        "num_hidden_layers": 1,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "max_position_embeddings": shape.context,
        "rms_norm_eps": shape.norm_eps,
        "rope_theta": shape.rope_theta,
        "eagle_aux_hidden_state_layer_ids": list(LAYERS_READ),
        "norm_before_residual": False,
    }
    _write_folder(folder, "model.safetensors", tensors, config)


def write_medusa_folder(heads: MedusaHeads, folder: Path) -> None:
    """Write Medusa heads for a target in a folder: the outputs in eight bits, which are most of it, the rest in float16."""
    tensors: dict[str, Tensor] = {}
    for at in range(HEADS):
        tensors |= {f"{at}.0.linear.weight": heads.weights[at], f"{at}.0.linear.bias": heads.biases[at]}
        tensors[f"{at}.1.weight"] = heads.outputs[at]
    kinds = {name: torch.half if ".linear." in name else torch.float8_e4m3fn for name in tensors}
    tensors = {name: each.detach().to(kinds[name]) for name, each in tensors.items()}
    config = {"medusa_num_heads": HEADS, "medusa_num_layers": 1, "base_model_name_or_path": "demo-target"}
    _write_folder(folder, "medusa_lm_head.safetensors", tensors, config)


def _write_folder(folder: Path, name: str, tensors: dict[str, Tensor], config: dict[str, object]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stored = {key: value.detach().contiguous().clone() for key, value in tensors.items()}
    save_file(stored, folder / name, metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
