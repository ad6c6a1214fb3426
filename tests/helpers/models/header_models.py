"""Models of which there is only the header: as large as they claim, and empty behind it (sparse files)."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from engine.formats.gguf import types
from helpers.models.gguf_writer import Entry, GgufDraft, TensorData

_WIDTH = 1024
_BYTE_PAIRS = "gpt2"
KINDS = {"F32": (0, 0), "F16": (1, 1), "Q4_0": (2, 2), "Q8_0": (8, 7), "Q2_K": (10, 10), "Q4_K_M": (12, 15)}
"""Tensor type and the number of the file type, by the name of the quantisation."""


@dataclass(frozen=True)
class Tokens:
    """A vocabulary. `kind`: the tokenizer as files name it; `begin`: the token that texts begin with, None for none."""

    kind: str = "llama"
    texts: tuple[str, ...] = ()
    begin: int | None = 1
    unused: int = 0

    def entries(self) -> dict[str, Entry]:
        texts = [*self.texts, *(f"[PAD{number}]" for number in range(self.unused))]
        kinds = [1] * len(self.texts) + [5] * self.unused
        made = {
            "tokenizer.ggml.model": Entry(types.STRING, self.kind),
            "tokenizer.ggml.tokens": Entry(types.STRING, texts),
            "tokenizer.ggml.token_type": Entry(types.INT32, kinds),
            "tokenizer.ggml.add_bos_token": Entry(types.BOOL, self.begin is not None),
            "tokenizer.ggml.bos_token_id": Entry(types.UINT32, self.begin or 0),
            "tokenizer.ggml.eos_token_id": Entry(types.UINT32, 2),
        }
        if self.kind == _BYTE_PAIRS:
            made["tokenizer.ggml.merges"] = Entry(types.STRING, ["a b", "b c"])
        return made

    @property
    def count(self) -> int:
        """How many tokens there are, with the padding."""
        return len(self.texts) + self.unused


SPECIAL = ("<unk>", "<s>", "</s>", "<a>", "<b>")
PLAIN = Tokens(texts=(*SPECIAL, *(f"piece{number}" for number in range(400))))


@dataclass(frozen=True)
class HeaderModel:
    """A model to be written. `weights`: about how many; `more`: entries that are set besides, None takes one out."""

    name: str
    weights: int = 1_000_000_000
    quantisation: str = "Q8_0"
    tokens: Tokens = PLAIN
    architecture: str = "llama"
    chat: bool = True
    context: int = 4096
    more: dict[str, Entry | None] = field(default_factory=dict)

    def draft(self) -> GgufDraft:
        kind, number = KINDS[self.quantisation]
        block = types.TENSOR_TYPES[kind].block
        rows = max(self.weights // _WIDTH - self.tokens.count, block)
        made = GgufDraft()
        arch = self.architecture
        made.entries = {
            "general.architecture": Entry(types.STRING, arch),
            "general.name": Entry(types.STRING, self.name),
            "general.file_type": Entry(types.UINT32, number),
            f"{arch}.context_length": Entry(types.UINT32, self.context),
            f"{arch}.embedding_length": Entry(types.UINT32, _WIDTH),
            f"{arch}.block_count": Entry(types.UINT32, 16),
            f"{arch}.feed_forward_length": Entry(types.UINT32, 2 * _WIDTH),
            f"{arch}.attention.head_count": Entry(types.UINT32, 16),
            f"{arch}.attention.head_count_kv": Entry(types.UINT32, 8),
            f"{arch}.rope.dimension_count": Entry(types.UINT32, 64),
            f"{arch}.attention.layer_norm_rms_epsilon": Entry(types.FLOAT32, 1e-5),
            **self.tokens.entries(),
        }
        if self.chat:
            made.entries["tokenizer.chat_template"] = Entry(types.STRING, "{{ messages }}")
        for key, entry in self.more.items():
            if entry is None:
                made.entries.pop(key, None)
            else:
                made.entries[key] = entry
        made.tensors = {
            "token_embd.weight": TensorData((_WIDTH, self.tokens.count), kind, b"", 0),
            "blk.0.ffn_up.weight": TensorData((_WIDTH, rows), kind, b"", 0),
        }
        place = 0
        for tensor in made.tensors.values():
            tensor.offset = place
            place += _padded(_bytes(tensor))
        return made

    def write(self, path: Path) -> Path:
        """Write it; the file has the size of the whole model and takes hardly any room."""
        draft = self.draft()
        header = draft.header_bytes()
        path.write_bytes(header)
        last = list(draft.tensors.values())[-1]
        os.truncate(path, len(header) + (last.offset or 0) + _padded(_bytes(last)))
        return path


def _bytes(tensor: TensorData) -> int:
    kind = types.TENSOR_TYPES[tensor.kind]
    elements = 1
    for length in tensor.shape:
        elements *= length
    return elements // kind.block * kind.size


def _padded(size: int) -> int:
    return -(-size // 32) * 32
