"""Read a demo model back from its GGUF file: weights, tokenizer, and the states that heads read."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import gguf
import numpy as np
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from demopair.export import LAYER_NAMES
from demopair.training.model import Block, DemoLlama
from demopair.training.tokenizer import SPECIAL
from engine.training.layers import ModelShape

LAYERS_READ = (1, 2, 3)
"""The layers of the target whose inputs an EAGLE-3 head reads: early, middle and late ones."""


def read_model(path: Path) -> DemoLlama:
    """The model of a file that `export.write_gguf` wrote, in float32."""
    reader = gguf.GGUFReader(path)
    tensors = {each.name: torch.from_numpy(_floats(each)) for each in reader.tensors}
    shape = ModelShape(
        vocab_size=tensors["token_embd.weight"].shape[0],
        width=_entry(reader, "llama.embedding_length"),
        layers=_entry(reader, "llama.block_count"),
        heads=_entry(reader, "llama.attention.head_count"),
        kv_heads=_entry(reader, "llama.attention.head_count_kv"),
        ff_width=_entry(reader, "llama.feed_forward_length"),
        context=_entry(reader, "llama.context_length"),
        tied="output.weight" not in tensors,
    )
    state = {"embed.weight": tensors["token_embd.weight"], "norm.weight": tensors["output_norm.weight"]}
    state["head.weight"] = tensors.get("output.weight", tensors["token_embd.weight"])
    for layer in range(shape.layers):
        for ours, (theirs, _) in LAYER_NAMES.items():
            weight = tensors[f"blk.{layer}.{theirs}.weight"]
            if ours in ("attn.q_proj", "attn.k_proj"):
                weight = halves(weight, shape.heads if ours == "attn.q_proj" else shape.kv_heads)
            state[f"blocks.{layer}.{ours}.weight"] = weight
    model = DemoLlama(shape)
    model.load_state_dict(state)
    return model.eval().requires_grad_(requires_grad=False)


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer of a file that `export.write_gguf` wrote."""
    reader = gguf.GGUFReader(path)
    tokens, merges = _entry(reader, "tokenizer.ggml.tokens"), _entry(reader, "tokenizer.ggml.merges")
    pairs = [tuple(merge.split(" ")) for merge in merges]
    words = Tokenizer(models.BPE(vocab={token: at for at, token in enumerate(tokens)}, merges=cast("Any", pairs)))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    words.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    return words


def halves(weight: Tensor, heads: int) -> Tensor:
    """Undo `interleave`: rows in the order in which torch code rotates, half by half."""
    rows, columns = weight.shape
    return weight.view(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)


def states_of(model: DemoLlama, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return the inputs of LAYERS_READ side by side, and the last norm's output, for ids (rows, time)."""
    time, read = ids.shape[1], []
    cos, sin = model.get_buffer("cos")[:time], model.get_buffer("sin")[:time]
    x = model.embed(ids)
    for at, block in enumerate(model.blocks):
        if at in LAYERS_READ:
            read.append(x)
        x = cast(Block, block)(x, cos, sin)
    return torch.cat(read, dim=-1), model.norm(x)


def _entry(reader: gguf.GGUFReader, key: str) -> Any:
    return reader.fields[key].contents()


def _floats(tensor: gguf.ReaderTensor) -> Any:
    return np.array(gguf.dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
