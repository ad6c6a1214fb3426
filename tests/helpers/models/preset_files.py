"""Files that look like the models of the presets, made from what is known of those."""

import json
from pathlib import Path
from typing import Any

from engine.formats.gguf import types
from engine.library.presets import PresetModel
from helpers.models.gguf_writer import Entry, GgufDraft, TensorData
from helpers.paths import ROOT

DATA = ROOT / "resources" / "presets"
FACTS = json.loads((DATA / "facts.json").read_text(encoding="utf-8"))


def facts_of(model: PresetModel) -> dict[str, Any]:
    """What is known of a model, each figure with its source."""
    facts: dict[str, Any] = FACTS["models"][model.name]
    return facts


def header_of(model: PresetModel, name: str, *, texts: list[str] | None = None, rows: int | None = None) -> GgufDraft:
    """A header with as many parameters and tokens as a model has; the tensors' bytes are a hole in the file."""
    facts = facts_of(model)
    rows = rows or facts["rows"]["value"]
    width = 256
    parameters = facts["parameters"]["value"][0]
    padding = rows - len(texts or [])

    def number(value: int) -> Entry:
        return Entry(types.UINT32, value)

    architecture = model.architectures[0]
    draft = GgufDraft(
        {
            "general.architecture": Entry(types.STRING, architecture),
            "general.name": Entry(types.STRING, name),
            f"{architecture}.context_length": number(4096),
            f"{architecture}.embedding_length": number(width),
            f"{architecture}.block_count": number(1),
            f"{architecture}.feed_forward_length": number(width),
            f"{architecture}.attention.head_count": number(4),
            f"{architecture}.attention.layer_norm_rms_epsilon": Entry(types.FLOAT32, 1e-5),
            "tokenizer.ggml.model": Entry(types.STRING, "llama"),
            "tokenizer.ggml.tokens": Entry(
                types.STRING, [*(texts or []), *(f"[PAD{index}]" for index in range(padding))]
            ),
            "tokenizer.ggml.token_type": Entry(types.INT32, [1] * len(texts or []) + [5] * padding),
            "tokenizer.ggml.scores": Entry(types.FLOAT32, [0.0] * rows),
            "tokenizer.ggml.bos_token_id": number(1),
            "tokenizer.ggml.eos_token_id": number(2),
            "tokenizer.chat_template": Entry(types.STRING, "{{ messages }}"),
        }
    )
    embedding = rows * width
    rest = (parameters - embedding) // 256 * 256
    draft.tensors["token_embd.weight"] = TensorData((width, rows), 12, b"", offset=0)
    draft.tensors["blk.0.ffn_up.weight"] = TensorData((256, rest // 256), 12, b"", offset=embedding // 256 * 144)
    return draft


def write(draft: GgufDraft, path: Path) -> Path:
    """Write a header and make the file as long as it says."""
    content = draft.header_bytes()
    elements = 0
    for tensor in draft.tensors.values():
        size = 1
        for length in tensor.shape:
            size *= length
        elements += size
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(content)
        file.truncate(len(content) + elements // 256 * 144)
    return path
