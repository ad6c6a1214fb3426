"""Small real models whose last tokens are made control tokens, as models that chat have them."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.formats.gguf import types
from helpers.models.gguf_writer import Entry, GgufDraft

_CONTROL = 3


def write_marked_gguf(source: Path, path: Path, markers: Sequence[str], **entries: Entry) -> Path:
    """Write a GGUF model with other last tokens; `entries`: of its tokenizer by name, with "__" for a dot."""
    draft = GgufDraft.of_file(source)
    place = len(draft.entries["tokenizer.ggml.tokens"].value) - len(markers)
    draft.entries["tokenizer.ggml.tokens"].value[place:] = markers
    draft.entries["tokenizer.ggml.token_type"].value[place:] = [_CONTROL] * len(markers)
    draft.entries |= {f"tokenizer.{name.replace('__', '.')}": entry for name, entry in entries.items()}
    return draft.write(path)


def template_entry(text: str) -> Entry:
    return Entry(types.STRING, text)


def write_marked_folder(source: Path, folder: Path, markers: Sequence[str], **settings: Any) -> Path:
    """Write a model folder with other last tokens; `settings`: of tokenizer_config.json."""
    shutil.copytree(source, folder)
    path = folder / "tokenizer.json"
    data = json.loads(path.read_text("utf-8"))
    texts = data["model"]["vocab"]
    for name in sorted(texts, key=texts.__getitem__)[-len(markers) :]:
        marker = markers[texts[name] - len(texts)]
        known = {"id": texts[name], "content": marker, "special": True, "normalized": False}
        data["added_tokens"].append(known | dict.fromkeys(("single_word", "lstrip", "rstrip"), False))
    for text in list(texts):
        if texts[text] >= len(texts) - len(markers):
            data["model"]["vocab"] = {name: token for name, token in data["model"]["vocab"].items() if name != text}
    data["model"]["vocab"] |= {entry["content"]: entry["id"] for entry in data["added_tokens"][-len(markers) :]}
    path.write_text(json.dumps(data), "utf-8")
    config = folder / "tokenizer_config.json"
    config.write_text(json.dumps(json.loads(config.read_text("utf-8")) | settings), "utf-8")
    return folder
