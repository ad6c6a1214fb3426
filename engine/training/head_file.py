"""Read of a GGUF target what a head begins with, and write the head as a file of its own in llama.cpp's layout.

The target lends its embedding, which is not in the head's file. Source of the names: llama.cpp, src/models/eagle3.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.errors import TrainingError
from engine.formats.gguf.parts import split_parts
from engine.training.eagle import EagleHead
from engine.training.layers import ModelShape, interleave
from engine.translatable import Translatable

NAMES = {
    "fc": ("fc", "fc"),
    "embed": ("token_embd", "embed_tokens"),
    "embed_norm": ("blk.0.attn_norm", "midlayer.input_layernorm"),
    "state_norm": ("blk.0.attn_norm_2", "midlayer.hidden_norm"),
    "q_proj": ("blk.0.attn_q", "midlayer.self_attn.q_proj"),
    "k_proj": ("blk.0.attn_k", "midlayer.self_attn.k_proj"),
    "v_proj": ("blk.0.attn_v", "midlayer.self_attn.v_proj"),
    "o_proj": ("blk.0.attn_output", "midlayer.self_attn.o_proj"),
    "ffn_norm": ("blk.0.ffn_norm", "midlayer.post_attention_layernorm"),
    "ffn.gate_proj": ("blk.0.ffn_gate", "midlayer.mlp.gate_proj"),
    "ffn.up_proj": ("blk.0.ffn_up", "midlayer.mlp.up_proj"),
    "ffn.down_proj": ("blk.0.ffn_down", "midlayer.mlp.down_proj"),
    "norm": ("output_norm", "norm"),
    "head": ("output", "lm_head"),
}
"""Our names, llama.cpp's, and those of the paper's authors and of SpecForge."""
_EIGHT, _FOUR = gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0
_BLOCK = 32
"""Numbers of a row that are stored together: widths must be multiples."""
_HEAD_SIZES = (64, 32)


class TargetFile:
    """Read the weights of a GGUF target. Attributes: name, width, layers, shape (of a head for it)."""

    def __init__(self, path: Path) -> None:
        readers = [gguf.GGUFReader(part) for part in split_parts(path)]
        self._fields: dict[str, Any] = readers[0].fields
        self._tensors = {str(each.name): each for reader in readers for each in reader.tensors}
        self._kind = self._entry("general.architecture")
        self.name = str(self._entry("general.name") or path.stem)
        self.width, self.layers = int(self._number("embedding_length")), int(self._number("block_count"))
        size = next((size for size in _HEAD_SIZES if self.width % size == 0), 0)
        if not size:
            raise TrainingError(
                Translatable("{name} is {width} numbers wide, not a multiple of 32.", name=self.name, width=self.width)
            )
        heads = self.width // size
        inner = int(self._number("feed_forward_length") or 0) // _BLOCK * _BLOCK
        self.shape = ModelShape(
            vocab_size=int(self._tensors["token_embd.weight"].shape[1]),
            width=self.width,
            layers=1,
            heads=heads,
            kv_heads=next(count for count in range(max(heads // 3, 1), 0, -1) if heads % count == 0),
            ff_width=min(inner or 4 * self.width, 4 * self.width),
            context=int(min(self._number("context_length") or 4096, 32768)),
        )

    def _entry(self, key: str) -> Any:
        return self._fields[key].contents() if key in self._fields else None

    def _number(self, key: str) -> Any:
        found = self._entry(f"{self._kind}.{key}")
        return max(found) if isinstance(found, list) else found

    def tensor(self, name: str, rows: NDArray[np.int64] | None = None) -> Tensor | None:
        """Return a tensor, or some of its rows, in float32; None where it is not there. Raises TrainingError."""
        found = self._tensors.get(f"{name}.weight")
        if found is None:
            return None
        try:
            data = found.data if rows is None else found.data[rows]
            return torch.from_numpy(np.array(gguf.dequantize(data, found.tensor_type), np.float32))
        except NotImplementedError:
            raise TrainingError(
                Translatable(
                    "The weights of {name} are stored as {kind}, which cannot be read here. Choose another file of it.",
                    name=self.name,
                    kind=found.tensor_type.name,
                )
            ) from None

    def embedding(self, tokens: NDArray[np.int64]) -> KnownRows:
        """Return the embeddings of some tokens."""
        rows = self.tensor("token_embd", tokens)
        if rows is None:
            raise TrainingError(Translatable("{name} has no embedding of its own.", name=self.name))
        return KnownRows(torch.from_numpy(tokens), rows)

    @torch.no_grad()
    def lend(self, head: EagleHead) -> None:
        """Let a head begin with the target's output and last norm."""
        table = head.get_buffer("table").numpy()
        output = self.tensor("output", table)
        begun = {"head": self.tensor("token_embd", table) if output is None else output}
        for name, value in (begun | {"norm": self.tensor("output_norm")}).items():
            weight = head.get_parameter(f"{name}.weight")
            if value is not None and value.shape == weight.shape:
                weight.copy_(value)


class KnownRows(nn.Module):
    """Embed the tokens that occur: the whole embedding of a large vocabulary would fill the memory."""

    def __init__(self, tokens: Tensor, rows: Tensor) -> None:
        super().__init__()
        self.register_buffer("tokens", tokens, persistent=False)
        self.register_buffer("rows", rows, persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the rows of token ids; of an unknown one, which only fills up, any."""
        tokens = self.get_buffer("tokens")
        return self.get_buffer("rows")[torch.searchsorted(tokens, ids).clamp(max=len(tokens) - 1)]


def write_head(head: EagleHead, target: TargetFile, layers: Sequence[int], path: Path, description: str) -> None:
    """Write a head with the target's tokenizer, by way of a file beside `path`.

    Matrices are in Q4_0, of which as much is accepted as in Q8_0 and which take half the time to read; but for that of
    the target's states in Q8_0. Norms are in float32.
    """
    part, shape = path.with_name(f"{path.name}.part"), head.shape
    writer = gguf.GGUFWriter(part, "eagle3")
    try:
        _add_entries(writer, target, shape, description, layers)
        add_tensors(writer, head, _FOUR)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        part.replace(path)
    finally:
        writer.close()
        part.unlink(missing_ok=True)


def add_tensors(writer: gguf.GGUFWriter, head: EagleHead, kind: gguf.GGMLQuantizationType = _EIGHT) -> None:
    """Add a head's tensors: matrices of a kind, norms in float32, and its embedding where that is its own."""
    writer.add_tensor("d2t", head.get_buffer("table").numpy())
    weights = dict(head.named_parameters())
    for ours, (theirs, _) in NAMES.items():
        if f"{ours}.weight" not in weights:
            continue
        weight: Tensor = weights[f"{ours}.weight"]
        if ours in ("q_proj", "k_proj"):
            weight = interleave(weight, head.shape.heads if ours == "q_proj" else head.shape.kv_heads)
        values = weight.detach().float().contiguous().numpy()
        if values.ndim > 1:
            stored = _EIGHT if ours == "fc" else kind
            writer.add_tensor(f"{theirs}.weight", gguf.quants.quantize(values, stored), raw_dtype=stored)
        else:
            writer.add_tensor(f"{theirs}.weight", values)


def _add_entries(
    writer: gguf.GGUFWriter, target: TargetFile, shape: ModelShape, description: str, layers: Sequence[int]
) -> None:
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name(f"{target.name} EAGLE-3 head")
    writer.add_description(description)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_vocab_size(shape.vocab_size)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(shape.ff_width)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(shape.norm_eps)
    writer.add_rope_freq_base(shape.rope_theta)
    writer.add_rope_dimension_count(shape.head_size)
    writer.add_array("eagle3.target_layers", list(layers))
    writer.add_uint32("eagle3.target_hidden_size", shape.width)
    writer.add_bool("eagle3.norm_before_residual", val=False)
    for key, field in target._fields.items():
        if key.startswith("tokenizer."):
            inner = field.types[-1] if len(field.types) > 1 else None
            writer.add_key_value(key, field.contents(), field.types[0], inner)
