"""GGUF models with random weights that are mixtures of experts: gpt-oss with attention sinks, and Qwen3-MoE.

The entries and tensors are those that llama.cpp asks for (src/models/openai-moe.cpp, qwen3moe.cpp).
"""

from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

from helpers.models.random_model import write_vocabulary
from helpers.weights.random_blocks import Kind, random_weights, type_number


@dataclass(frozen=True)
class ExpertShape:
    """Size of a model. `inner`: the width of an expert; `used`: experts of a token; `head`: the length of a head."""

    architecture: str
    layers: int
    width: int
    inner: int
    experts: int
    used: int
    heads: int
    key_heads: int
    head: int
    vocabulary: int = 32_000
    context: int = 4096


TINY_GPT_OSS = ExpertShape("gpt-oss", 2, 256, 256, 8, 2, 4, 2, 32, 320, 512)
TINY_QWEN3 = ExpertShape("qwen3moe", 2, 256, 256, 8, 3, 4, 2, 32, 320, 512)


def write_expert_model(
    path: Path, shape: ExpertShape, kind: str, *, dense: str = "Q8_0", seed: int = 0, noise: float = 0.0
) -> Path:
    """Write a model whose experts are in the format `kind` and its other matrices in `dense`.

    The same seed gives the same file. `noise`: a fraction by which norms are disturbed, drawn from another seed, so
    that the model agrees with the undisturbed one most of the time.
    """
    writer = gguf.GGUFWriter(path, shape.architecture)
    _write_metadata(writer, shape)
    tensors = _Tensors(
        writer, shape, kind, dense, np.random.default_rng(seed), np.random.default_rng(seed + 1000), noise
    )
    tensors.matrix("token_embd", shape.vocabulary, shape.width)
    tensors.matrix("output", shape.vocabulary, shape.width)
    tensors.norm("output_norm", shape.width)
    for layer in range(shape.layers):
        tensors.attention(f"blk.{layer}")
        tensors.experts(f"blk.{layer}")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@dataclass(frozen=True)
class _Tensors:
    """Adds tensors to a file. `kind`, `dense`: the formats of the experts and of the other matrices."""

    writer: gguf.GGUFWriter
    shape: ExpertShape
    kind: str
    dense: str
    rng: np.random.Generator
    disturbed: np.random.Generator
    noise: float

    def attention(self, block: str) -> None:
        """Add a layer's attention: with biases and sinks, or with norms of queries and keys."""
        shape, sinks = self.shape, self.shape.architecture == "gpt-oss"
        queries, keys = shape.heads * shape.head, shape.key_heads * shape.head
        self.norm(f"{block}.attn_norm", shape.width)
        self.norm(f"{block}.{'post_attention_norm' if sinks else 'ffn_norm'}", shape.width)
        for part, length in (("q", queries), ("k", keys), ("v", keys)):
            self.matrix(f"{block}.attn_{part}", length, shape.width)
            if sinks:
                self.vector(f"{block}.attn_{part}.bias", length)
            elif part != "v":
                self.norm(f"{block}.attn_{part}_norm", shape.head)
        self.matrix(f"{block}.attn_output", shape.width, queries)
        if sinks:
            self.vector(f"{block}.attn_output.bias", shape.width)
            self.vector(f"{block}.attn_sinks.weight", shape.heads, size=1.0)

    def experts(self, block: str) -> None:
        """Add the experts of a layer, and what chooses among them: large enough to choose plainly."""
        shape = self.shape
        self.vector(f"{block}.ffn_gate_inp.weight", shape.experts, shape.width, size=2.0 * shape.width**-0.5)
        if shape.architecture == "gpt-oss":
            self.vector(f"{block}.ffn_gate_inp.bias", shape.experts)
        for part, rows, columns in (
            ("gate", shape.inner, shape.width),
            ("up", shape.inner, shape.width),
            ("down", shape.width, shape.inner),
        ):
            blocks = random_weights(self.kind, self.rng, shape.experts * rows, columns)
            packed = blocks.reshape(shape.experts, rows, -1)
            self.writer.add_tensor(f"{block}.ffn_{part}_exps.weight", packed, raw_dtype=Kind(type_number(self.kind)))
            if shape.architecture == "gpt-oss":
                self.vector(f"{block}.ffn_{part}_exps.bias", shape.experts, rows)

    def matrix(self, name: str, rows: int, columns: int) -> None:
        """Add a matrix that every token uses."""
        packed = random_weights(self.dense, self.rng, rows, columns)
        self.writer.add_tensor(f"{name}.weight", packed, raw_dtype=Kind(type_number(self.dense)))

    def vector(self, name: str, *lengths: int, size: float = 0.1) -> None:
        """Add numbers in float32 around 0."""
        values = size * self.rng.standard_normal(lengths, dtype=np.float32)
        self.writer.add_tensor(name, values.astype(np.float32))

    def norm(self, name: str, length: int) -> None:
        """Add the weights of a norm, which are 1 but for the noise."""
        values = 1.0 + self.noise * self.disturbed.standard_normal(length, dtype=np.float32)
        self.writer.add_tensor(f"{name}.weight", values.astype(np.float32))


def _write_metadata(writer: gguf.GGUFWriter, shape: ExpertShape) -> None:
    writer.add_name("random experts")
    writer.add_block_count(shape.layers)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_feed_forward_length(shape.inner)
    writer.add_expert_feed_forward_length(shape.inner)
    writer.add_expert_count(shape.experts)
    writer.add_expert_used_count(shape.used)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.key_heads)
    writer.add_key_length(shape.head)
    writer.add_value_length(shape.head)
    writer.add_rope_dimension_count(shape.head)
    writer.add_layer_norm_rms_eps(1e-5)
    if shape.architecture == "gpt-oss":
        writer.add_sliding_window(128)
    write_vocabulary(writer, shape.vocabulary)
