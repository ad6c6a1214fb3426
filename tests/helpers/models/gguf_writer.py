"""Write GGUF files, good ones and ones that are wrong in one place."""

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.formats.gguf import types
from engine.formats.gguf.reader import read_gguf


@dataclass
class Entry:
    """A metadata entry; for a list `kind` is the type of its elements."""

    kind: int
    value: Any

    def to_bytes(self) -> bytes:
        if isinstance(self.value, list):
            body = b"".join(_scalar(self.kind, item) for item in self.value)
            return struct.pack("<IIQ", types.ARRAY, self.kind, len(self.value)) + body
        return struct.pack("<I", self.kind) + _scalar(self.kind, self.value)


@dataclass
class TensorData:
    """A tensor's header entry and its bytes."""

    shape: tuple[int, ...]
    kind: int
    data: bytes
    offset: int | None = None


@dataclass
class GgufDraft:
    """A GGUF file in the making: change what you like, then `write` or `to_bytes`."""

    entries: dict[str, Entry] = field(default_factory=dict)
    tensors: dict[str, TensorData] = field(default_factory=dict)
    version: int = 3
    alignment: int = 32

    @classmethod
    def of_file(cls, path: Path) -> "GgufDraft":
        header = read_gguf(path)
        content = path.read_bytes()
        draft = cls(version=header.version)
        for key, value in header.metadata.items():
            if not value.is_array:
                draft.entries[key] = Entry(value.kind, value.content)
            elif value.kind == types.STRING:
                draft.entries[key] = Entry(value.kind, list(header.strings(key)))
            else:
                numbers = header.numbers(key)
                draft.entries[key] = Entry(value.kind, [] if numbers is None else numbers.tolist())
        for tensor in header.tensors.values():
            start = header.data_start + tensor.offset
            draft.tensors[tensor.name] = TensorData(tensor.shape, tensor.kind, content[start : start + tensor.size])
        return draft

    def header_bytes(self) -> bytes:
        out = [b"GGUF", struct.pack("<IQQ", self.version, len(self.tensors), len(self.entries))]
        for key, entry in self.entries.items():
            out += [_string(key), entry.to_bytes()]
        offset = 0
        for name, tensor in self.tensors.items():
            place = offset if tensor.offset is None else tensor.offset
            out += [
                _string(name),
                struct.pack("<I", len(tensor.shape)),
                struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape),
                struct.pack("<IQ", tensor.kind, place),
            ]
            offset += -(-len(tensor.data) // self.alignment) * self.alignment
        return _pad(b"".join(out), self.alignment)

    def to_bytes(self) -> bytes:
        tensors = (_pad(tensor.data, self.alignment) for tensor in self.tensors.values())
        return self.header_bytes() + b"".join(tensors)

    def write(self, path: Path) -> Path:
        path.write_bytes(self.to_bytes())
        return path


def tiny_draft(*, tokens: int = 16, width: int = 8, layers: int = 1, seed: int = 0) -> GgufDraft:
    """A llama model that is complete but for sense: random weights, one token a letter."""
    made = GgufDraft()
    rng = np.random.default_rng(seed)

    def add(name: str, *shape: int) -> None:
        values = rng.normal(0, 0.1, shape[::-1]).astype("<f4")
        made.tensors[name] = TensorData(shape, 0, values.tobytes())

    inner = 2 * width
    letters = (chr(ord("a") + index) for index in range(tokens - 4))
    texts = ["<unk>", "<s>", "</s>", "\u2581", *letters]
    made.entries = {
        "general.architecture": Entry(types.STRING, "llama"),
        "general.name": Entry(types.STRING, "tiny"),
        "llama.context_length": Entry(types.UINT32, 64),
        "llama.embedding_length": Entry(types.UINT32, width),
        "llama.block_count": Entry(types.UINT32, layers),
        "llama.feed_forward_length": Entry(types.UINT32, inner),
        "llama.attention.head_count": Entry(types.UINT32, 2),
        "llama.attention.head_count_kv": Entry(types.UINT32, 1),
        "llama.rope.dimension_count": Entry(types.UINT32, width // 2),
        "llama.attention.layer_norm_rms_epsilon": Entry(types.FLOAT32, 1e-5),
        "general.file_type": Entry(types.UINT32, 0),
        "tokenizer.ggml.model": Entry(types.STRING, "llama"),
        "tokenizer.ggml.tokens": Entry(types.STRING, texts),
        "tokenizer.ggml.scores": Entry(types.FLOAT32, [0.0] * tokens),
        "tokenizer.ggml.token_type": Entry(types.INT32, [2, 3, 3] + [1] * (tokens - 3)),
        "tokenizer.ggml.bos_token_id": Entry(types.UINT32, 1),
        "tokenizer.ggml.eos_token_id": Entry(types.UINT32, 2),
    }
    add("token_embd.weight", width, tokens)
    add("output_norm.weight", width)
    for layer in range(layers):
        for name, shape in {
            "attn_norm": (width,),
            "attn_q": (width, width),
            "attn_k": (width, width // 2),
            "attn_v": (width, width // 2),
            "attn_output": (width, width),
            "ffn_norm": (width,),
            "ffn_gate": (width, inner),
            "ffn_up": (width, inner),
            "ffn_down": (inner, width),
        }.items():
            add(f"blk.{layer}.{name}.weight", *shape)
    return made


def _scalar(kind: int, value: Any) -> bytes:
    if kind == types.STRING:
        return _string(value)
    return struct.pack(f"<{types.VALUE_FORMATS[kind]}", value)


def _string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data)) + data


def _pad(data: bytes, alignment: int) -> bytes:
    return data + bytes(-len(data) % alignment)
