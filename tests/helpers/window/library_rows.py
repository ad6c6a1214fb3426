"""Rows of a library that need no files."""

from pathlib import Path
from typing import Any

from app.state.models.library import LibraryRow
from app.state.models.load_options import LoadChoice
from engine import ModelFile

GB = 10**9
FREE = 6 * GB


def library_row(number: int, **more: Any) -> LibraryRow:
    """A model of `number` billion weights, about as large in bytes; what else is wanted in `more`."""
    of_model: dict[str, Any] = {
        "path": Path(f"/models/Model {number}B.gguf"),
        "name": f"Model {number}B",
        "size_bytes": number * GB,
        "quantisation": ("Q4_K_M", "Q8_0", "F16")[number % 3],
        "architecture": "llama",
        "parameters": number * GB,
        "context_length": 32_768,
        "problem": None,
        "role": "model",
        "has_chat_template": False,
    }
    values: dict[str, Any] = {
        "folder": Path("/models"),
        "context": 4_096,
        "needed": number * GB + GB // 10,
        "free": FREE,
        "state": "ok" if number * GB + GB // 10 <= FREE else "large",
        "loaded": "",
        "chosen": "",
        "options": LoadChoice(),
    }
    model = ModelFile(**{name: more.pop(name, value) for name, value in of_model.items()})
    return LibraryRow(model, **(values | more))
