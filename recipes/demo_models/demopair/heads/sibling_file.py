"""Write the sibling with its MTP layer as one GGUF file, in the layout that llama.cpp runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import gguf
import torch
from tokenizers import Tokenizer
from torch import Tensor

from demopair import export
from engine.training.layers import ModelShape

from .mtp import MtpLayer
from .sibling import GatedBlock, SiblingModel

_DESCRIPTION = (
    "A sibling of Outrider's demo target with a layer for later tokens (MTP), trained on the target's own text."
)
_IN_BLOCK = {
    "attn_norm": "attn_norm",
    "attn.k_proj": "attn_k",
    "attn.v_proj": "attn_v",
    "attn.o_proj": "attn_output",
    "attn.q_norm": "attn_q_norm",
    "attn.k_norm": "attn_k_norm",
    "ffn_norm": "post_attention_norm",
    "ffn.gate_proj": "ffn_gate",
    "ffn.up_proj": "ffn_up",
    "ffn.down_proj": "ffn_down",
}
_IN_LAYER = {
    "embed_norm": "nextn.enorm",
    "state_norm": "nextn.hnorm",
    "pair_proj": "nextn.eh_proj",
    "norm": "nextn.shared_head_norm",
}
_STATE = 32
_IDLE_SIZES = {"conv_kernel": 4, "inner_size": _STATE, "state_size": _STATE, "time_step_rank": 1, "group_count": 1}
"""Sizes of the one recurrent layer."""


def write_sibling(model: SiblingModel, layer: MtpLayer, words: Tokenizer, path: Path) -> None:
    """Write both (matrices Q8_0, norms F32), by way of a temporary file beside `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part, shape = path.with_suffix(".part"), model.shape
    writer = gguf.GGUFWriter(str(part), "qwen35")
    whole = replace(shape, layers=shape.layers + 2)
    export.add_metadata(writer, whole, "Outrider demo sibling", _DESCRIPTION, quantised=True)
    tensors = sibling_tensors(model, layer)
    writer.add_size_label(export.size_label(sum(each.numel() for each in tensors.values())))
    writer.add_key_length(shape.head_size)
    writer.add_value_length(shape.head_size)
    writer.add_uint32("qwen35.full_attention_interval", 1)
    writer.add_array("qwen35.attention.recurrent_layers", [layer == shape.layers for layer in range(whole.layers)])
    writer.add_uint32("qwen35.nextn_predict_layers", 1)
    # Of text all three turn alike; together they must be all pairs of a head.
    third = -(-shape.head_size // 6)
    writer.add_rope_dimension_sections([third, third, shape.head_size // 2 - 2 * third, 0])
    for name, size in _IDLE_SIZES.items():
        writer.add_uint32(f"qwen35.ssm.{name}", size)
    export.add_tokenizer(writer, words)
    for name, weight in tensors.items():
        values = weight.detach().float().contiguous().numpy()
        if values.ndim > 1 and values.shape[1] % 32 == 0:
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(path)


def sibling_tensors(model: SiblingModel, layer: MtpLayer) -> dict[str, Tensor]:
    """All weights under their GGUF names."""
    found = {
        "token_embd.weight": model.embed.weight,
        "output_norm.weight": model.norm.weight,
        "output.weight": model.head.weight,
    }
    found |= {f"blk.{model.shape.layers}.{name}": weight for name, weight in _idle_layer(model.shape).items()}
    behind = model.shape.layers + 1
    for at, module in [*enumerate(model.blocks), (behind, layer.block)]:
        block = cast(GatedBlock, module)
        found |= {
            f"blk.{at}.{theirs}.weight": block.get_parameter(f"{ours}.weight") for ours, theirs in _IN_BLOCK.items()
        }
        found[f"blk.{at}.attn_q.weight"] = _query_and_gate(block)
    for ours, theirs in _IN_LAYER.items():
        found[f"blk.{behind}.{theirs}.weight"] = layer.get_parameter(f"{ours}.weight")
    return found


def _query_and_gate(block: GatedBlock) -> Tensor:
    """Interleave each head's query rows with its gate's."""
    shape = block.attn.shape
    both = [each.view(shape.heads, -1, shape.width) for each in (block.attn.q_proj.weight, block.attn.gate_proj.weight)]
    return torch.cat(both, dim=1).view(-1, shape.width)


def _idle_layer(shape: ModelShape) -> dict[str, Tensor]:
    """A last layer with a recurrent state that writes nothing: llama.cpp runs no qwen35 without one."""
    width, inner = shape.width, shape.ff_width
    read = {
        "attn_qkv": 3 * _STATE,
        "attn_gate": _STATE,
        "ssm_beta": 1,
        "ssm_alpha": 1,
        "ffn_gate": inner,
        "ffn_up": inner,
    }
    found = {f"{name}.weight": torch.zeros(rows, width) for name, rows in read.items()}
    found |= {f"{name}.weight": torch.ones(width) for name in ("attn_norm", "post_attention_norm")}
    found |= {"ssm_out.weight": torch.zeros(width, _STATE), "ffn_down.weight": torch.zeros(width, inner)}
    found |= {"ssm_conv1d.weight": torch.zeros(3 * _STATE, 4), "ssm_norm.weight": torch.ones(_STATE)}
    return found | {"ssm_dt.bias": torch.zeros(1), "ssm_a": torch.full((1,), -0.1)}
