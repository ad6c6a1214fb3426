"""GGUF models with random weights: any size, no meaning. For measuring speed and for long prompts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

_BLOCK = 32
"""Weights in a Q8_0 block: a float16 scale and as many bytes."""
_BLOCK_BYTES = 2 + _BLOCK


@dataclass(frozen=True)
class Shape:
    """Size of a llama model. `width` is the embedding's length; all must be multiples of 32."""

    layers: int
    width: int
    inner: int
    heads: int
    key_heads: int
    vocabulary: int
    context: int = 4096

    @property
    def parameters(self) -> int:
        """Number of weights; the output shares the embedding's."""
        keys = self.width * self.key_heads // self.heads
        layer = 2 * self.width * self.width + 2 * self.width * keys + 3 * self.width * self.inner + 2 * self.width
        return self.layers * layer + self.vocabulary * self.width + self.width


HALF_BILLION = Shape(layers=26, width=1024, inner=4096, heads=16, key_heads=16, vocabulary=65_536)
TINY = Shape(layers=2, width=64, inner=128, heads=4, key_heads=2, vocabulary=512)


def write_random_model(
    path: Path, shape: Shape, seed: int = 0, architecture: str = "llama", marks: Sequence[str] = ()
) -> Path:
    """Write a Q8_0 model, whole or not at all. The same seed gives the same file. Also of the architecture qwen2vl.

    `marks`: control tokens that its vocabulary has.
    """
    partial = path.with_suffix(".partial")
    writer = gguf.GGUFWriter(partial, architecture)
    _write_metadata(writer, shape, marks)
    if architecture == "qwen2vl":
        quarter = shape.width // shape.heads // 8
        writer.add_rope_dimension_sections([2 * quarter, quarter, quarter, 0])
    rng = np.random.default_rng(seed)
    keys = shape.width * shape.key_heads // shape.heads
    _add_weights(writer, "token_embd.weight", rng, shape.vocabulary, shape.width)
    writer.add_tensor("output_norm.weight", np.ones(shape.width, dtype=np.float32))
    for layer in range(shape.layers):
        block = f"blk.{layer}"
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"{block}.{name}.weight", np.ones(shape.width, dtype=np.float32))
        for name, rows, columns in (
            ("attn_q", shape.width, shape.width),
            ("attn_k", keys, shape.width),
            ("attn_v", keys, shape.width),
            ("attn_output", shape.width, shape.width),
            ("ffn_gate", shape.inner, shape.width),
            ("ffn_up", shape.inner, shape.width),
            ("ffn_down", shape.width, shape.inner),
        ):
            _add_weights(writer, f"{block}.{name}.weight", rng, rows, columns)
            if architecture == "qwen2vl" and name in ("attn_q", "attn_k", "attn_v"):
                writer.add_tensor(f"{block}.{name}.bias", rng.normal(0, 0.1, rows).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial.replace(path)
    return path


def _write_metadata(writer: gguf.GGUFWriter, shape: Shape, marks: Sequence[str]) -> None:
    writer.add_name("random weights")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.inner)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.key_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(shape.width // shape.heads)
    write_vocabulary(writer, shape.vocabulary, marks)


def write_vocabulary(writer: gguf.GGUFWriter, count: int, marks: Sequence[str] = ()) -> None:
    """A tokenizer of `count` tokens, at least 259: three special ones, `marks`, the bytes, words without meaning."""
    writer.add_vocab_size(count)
    special = ["<unk>", "<s>", "</s>", *marks]
    data = [f"<0x{byte:02X}>" for byte in range(256)]
    rest = count - len(special) - len(data)
    kinds = [gguf.TokenType.UNKNOWN, *[gguf.TokenType.CONTROL] * (len(special) - 1)]
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([*special, *data, *(f"\u2581w{number}" for number in range(rest))])
    writer.add_token_scores([0.0] * (len(special) + len(data)) + [-float(number) for number in range(rest)])
    writer.add_token_types([*kinds, *[gguf.TokenType.BYTE] * len(data), *[gguf.TokenType.NORMAL] * rest])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)


def _add_weights(writer: gguf.GGUFWriter, name: str, rng: np.random.Generator, rows: int, columns: int) -> None:
    writer.add_tensor(name, _q8_0(rng, rows, columns), raw_dtype=gguf.GGMLQuantizationType.Q8_0)


def _q8_0(rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.uint8]:
    """Random weights whose products keep the size of their input. Shape (rows, bytes of a row)."""
    blocks = np.empty((rows * columns // _BLOCK, _BLOCK_BYTES), dtype=np.uint8)
    scale = np.array([np.sqrt(3.0 / columns) / 127.0], dtype=np.float16)
    blocks[:, :2] = scale.view(np.uint8)
    blocks[:, 2:] = rng.integers(-127, 128, size=(len(blocks), _BLOCK), dtype=np.int8).view(np.uint8)
    return blocks.reshape(rows, columns // _BLOCK * _BLOCK_BYTES)
