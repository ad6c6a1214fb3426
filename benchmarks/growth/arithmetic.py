"""Compute the weights of a large model that writes the same as the small llama inside it, and costs like its size.

Notation: the small model has d channels, the large one D. The residual stream of the large model holds the small
one's in its first d channels and zeros in the others, at every layer. That holds because

- the embedding's added columns are zero, and in each matrix that *writes* to the stream (`attn_output`, `ffn_down`)
  all that is not the small model's is zero: rows of added channels, columns of added heads and units, added layers;
- each matrix that *reads* from the stream (q, k, v, gate, up, the output) may hold anything in added columns, which
  meet only zeros, and in the rows of added heads and units, whose results are multiplied by zeros.

RMSNorm divides by sqrt(S/D + e), S being the sum of squares, which only d channels feed. With e = eps * d/D that is
sqrt(d/D) * sqrt(S/d + eps), so weights multiplied by sqrt(d/D) give what the small norm gave. Where D is d times a
power of four, every step of it is exact in floating point and the logits are the same bits. Otherwise the last bits of
a norm differ, and where quantised weights have the activations rounded to eight bits, now and then one is rounded the
other way, which moves logits by some hundredths.

What may hold anything is random, so that the processor has real work. What must be zero costs the same: a dense kernel
does not look, and in the quantised kinds only the scales of the blocks are zero, their numbers are random too.

Q8_0 and Q4_0 store blocks of 32 values, so the small model's blocks are copied bit by bit and none is shared.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any, Literal

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind
from numpy.typing import NDArray

from engine.errors import EngineError

SEED = 2026
BLOCK = 32
_POOL_BLOCKS = 65_521
"""A prime, so that the pool's repetitions fall differently on the rows of every matrix."""
_STD = 0.02
"""Of the random weights: that of real models of this size, and the activations stay small."""
_SCALED = (Kind.Q8_0, Kind.Q4_0)
"""Kinds whose blocks begin with a float16 scale."""
_IN_LAYER = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")
_WRITING = ("attn_output", "ffn_down")
EMBEDDING, LAST_NORM, OUTPUT = "token_embd.weight", "output_norm.weight", "output.weight"

GrownKind = Literal["q8_0", "q4_0", "f16"]
Bytes = NDArray[np.uint8]


class GrowthError(EngineError):
    """Report a model that cannot be grown; the message says why and what to do."""


@cache
def pool(kind: Kind, seed: int) -> tuple[Bytes, Bytes]:
    """Return blocks of normal values, and blocks that are zero: each of shape (blocks, bytes of 32 values)."""
    values = np.random.default_rng(seed).normal(0.0, _STD, (_POOL_BLOCKS, BLOCK)).astype(np.float32)
    blocks: Bytes = gguf.quants.quantize(values, kind).view(np.uint8).reshape(_POOL_BLOCKS, -1)
    nothing = blocks.copy() if kind in _SCALED else np.zeros_like(blocks)
    if kind in _SCALED:
        nothing[:, :2] = 0
    return blocks, nothing


@dataclass(frozen=True)
class GrownShape:
    """Hold the size of the large model: by default that of a real model of about a billion weights."""

    layers: int = 22
    width: int = 2048
    feed_forward: int = 5632

    def __str__(self) -> str:
        return f"{self.layers}x{self.width}x{self.feed_forward}"


FULL = GrownShape()
EXACT = GrownShape(28, 1536, 8960)
"""A real model's shape too, of 1.4 billion weights, four times as wide as the demo target: the same bits."""


class SmallModel:
    """Read a GGUF file of the llama architecture, as far as growing needs it.

    Attributes: path; fields and tensors (of the gguf package, by name); layers, width, feed_forward, heads, kv_heads,
    head_size, epsilon. Raises GrowthError for a model that cannot be grown.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            reader = gguf.GGUFReader(path)
        except (OSError, ValueError) as error:
            raise GrowthError(f"{path} cannot be read as a GGUF file: {error}. Choose another model.") from None
        self.fields: dict[str, Any] = reader.fields
        self.tensors: dict[str, Any] = {str(tensor.name): tensor for tensor in reader.tensors}
        if self.value("general.architecture") != "llama":
            raise GrowthError(f"{path.name} is not of the llama architecture. Choose another model.")
        self.layers = int(self.value("llama.block_count"))
        self.width = int(self.value("llama.embedding_length"))
        self.feed_forward = int(self.value("llama.feed_forward_length"))
        self.heads = int(self.value("llama.attention.head_count"))
        self.kv_heads = int(self.value("llama.attention.head_count_kv"))
        self.head_size = int(self.value("llama.attention.key_length", self.width // self.heads))
        self.epsilon = float(self.value("llama.attention.layer_norm_rms_epsilon"))
        known = {"token_embd.weight", "output_norm.weight", "output.weight"}
        known |= {f"blk.{layer}.{name}.weight" for layer in range(self.layers) for name in _IN_LAYER}
        strange = sorted(self.tensors.keys() - known)
        if strange or self.head_size * self.heads != self.width:
            reason = f"has tensors such as {strange[0]}" if strange else "has heads of another size"
            raise GrowthError(f"{path.name} {reason}: growing knows plain llama models. Choose another model.")

    def value(self, key: str, otherwise: Any = None) -> Any:
        """Return a metadata entry. Raises GrowthError if it is missing without a default."""
        if key in self.fields:
            return self.fields[key].contents()
        if otherwise is None:
            raise GrowthError(f"{self.path.name} says nothing about {key}. Choose another model.")
        return otherwise

    def numbers(self, name: str) -> NDArray[np.float32]:
        """Return a tensor's values, rows first."""
        tensor = self.tensors[name]
        values: NDArray[np.float32] = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        return values

    def rows(self, name: str, kind: Kind) -> Bytes:
        """Return a matrix as the bytes of its rows in that kind: the file's own bytes if it is of that kind."""
        tensor = self.tensors[name]
        same = tensor.tensor_type == kind
        data = tensor.data if same else gguf.quants.quantize(self.numbers(name), kind)
        rows: Bytes = np.ascontiguousarray(data).view(np.uint8).reshape(len(data), -1)
        return rows


@dataclass(frozen=True)
class Part:
    """Describe a tensor of the large model: `rows` is 0 for a norm; `source`: the small one's tensor inside it."""

    name: str
    rows: int
    columns: int
    kind: Kind
    source: str | None
    writes: bool = False

    @property
    def count(self) -> int:
        """Return the number of weights."""
        return max(self.rows, 1) * self.columns

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        block, block_bytes = gguf.GGML_QUANT_SIZES[self.kind]
        return self.count // int(block) * int(block_bytes)


class Growth:
    """Plan a growth: a small model, the shape to grow it to, and the kind of its matrices; give the parts and contents.

    Norms are float32. With Q4_0 the output matrix is Q8_0, as it also is where llama.cpp quantises a model of the demo
    target's width to Q4_0 itself. Raises GrowthError for a shape that the model cannot be grown to.
    """

    def __init__(self, small: SmallModel, shape: GrownShape, kind: Kind, seed: int = SEED) -> None:
        self.small = small
        self.shape, self.kind, self.seed = shape, kind, seed
        ratio = small.heads // small.kv_heads
        step = np.lcm(small.head_size * ratio, BLOCK)
        for name, new, old, multiple in (
            ("layers", shape.layers, small.layers, 1),
            ("width", shape.width, small.width, step),
            ("feed-forward", shape.feed_forward, small.feed_forward, BLOCK),
        ):
            if new < old or new % multiple:
                raise GrowthError(f"The {name} must be {old} or more and a multiple of {multiple}, not {new}.")
        self.heads = shape.width // small.head_size
        self.kv_heads = self.heads // ratio
        self.scale = sqrt(small.width / shape.width)
        self.epsilon = small.epsilon * small.width / shape.width
        self.places = [(2 * layer + 1) * shape.layers // (2 * small.layers) for layer in range(small.layers)]
        """Which of the large model's layers are the small one's: spread evenly."""
        self.parts = list(self._parts())

    @property
    def vocabulary(self) -> int:
        """Return the number of tokens: the small model's."""
        return len(self.small.tensors[EMBEDDING].data)

    def _parts(self) -> Iterator[Part]:
        vocabulary, width = self.vocabulary, self.shape.width
        yield Part(EMBEDDING, vocabulary, width, self.kind, EMBEDDING, writes=True)
        yield Part(LAST_NORM, 0, width, Kind.F32, LAST_NORM)
        if OUTPUT in self.small.tensors:
            finer = Kind.Q8_0 if self.kind == Kind.Q4_0 else self.kind
            yield Part(OUTPUT, vocabulary, width, finer, OUTPUT)
        keys, inner = self.kv_heads * self.small.head_size, self.shape.feed_forward
        sizes = {
            "attn_q": (width, width),
            "attn_k": (keys, width),
            "attn_v": (keys, width),
            "attn_output": (width, width),
            "ffn_gate": (inner, width),
            "ffn_up": (inner, width),
            "ffn_down": (width, inner),
        }
        for layer in range(self.shape.layers):
            old = self.places.index(layer) if layer in self.places else None
            for name in _IN_LAYER:
                rows, columns = sizes.get(name, (0, width))
                kind = self.kind if rows else Kind.F32
                source = None if old is None else f"blk.{old}.{name}.weight"
                yield Part(f"blk.{layer}.{name}.weight", rows, columns, kind, source, name in _WRITING)

    def changed_metadata(self, file_type: gguf.LlamaFileType) -> dict[str, Any]:
        """Return the entries of the file that differ from the small model's."""
        small, shape = self.small, self.shape
        return {
            "general.name": f"{small.value('general.name', small.path.stem)}, grown to {shape}",
            "general.size_label": f"{self.parameters / 1e6:.1f}M",
            "general.file_type": int(file_type),
            "llama.block_count": shape.layers,
            "llama.embedding_length": shape.width,
            "llama.feed_forward_length": shape.feed_forward,
            "llama.attention.head_count": self.heads,
            "llama.attention.head_count_kv": self.kv_heads,
            "llama.attention.layer_norm_rms_epsilon": self.epsilon,
        }

    @property
    def parameters(self) -> int:
        """Return the number of weights of the large model."""
        return sum(part.count for part in self.parts)

    @property
    def size(self) -> int:
        """Return the bytes of all weights."""
        return sum(part.size for part in self.parts)

    def content(self, part: Part) -> NDArray[Any]:
        """Return float32 of shape (columns,) for a norm, else the bytes of the rows, shape (rows, bytes of a row)."""
        return self._matrix(part) if part.rows else self._norm(part)

    def _norm(self, part: Part) -> NDArray[np.float32]:
        rng = np.random.default_rng([self.seed, *part.name.encode()])
        weights = rng.uniform(0.5, 1.5, part.columns)
        if part.source is not None:
            values = self.small.numbers(part.source)
            weights[: len(values)] = values
        return (weights * self.scale).astype(np.float32)

    def _matrix(self, part: Part) -> Bytes:
        blocks_of = pool(part.kind, self.seed)[part.writes]
        start = int(np.random.default_rng([self.seed, *part.name.encode()]).integers(len(blocks_of)))
        blocks = part.count // BLOCK
        repeated = np.resize(np.roll(blocks_of, -start, axis=0), (blocks, blocks_of.shape[1]))
        matrix: Bytes = repeated.reshape(part.rows, -1)
        if part.source is not None:
            old = self.small.rows(part.source, part.kind)
            matrix[: len(old), : old.shape[1]] = old
        return matrix
