"""Rows of a library that need no files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.state.models.library import LibraryRow
from app.state.models.load_options import LoadChoice

GB = 10**9
FREE = 6 * GB


def library_row(number: int, **more: Any) -> LibraryRow:
    """A model of `number` billion weights, about as large in bytes; what else is wanted in `more`."""
    values: dict[str, Any] = {
        "path": Path(f"/models/m{number}.gguf"),
        "name": f"Model {number}B",
        "folder": Path("/models"),
        "size": number * GB,
        "quantisation": ("Q4_K_M", "Q8_0", "F16")[number % 3],
        "parameters": number * GB,
        "context": 4_096,
        "context_max": 32_768,
        "needed": number * GB + GB // 10,
        "free": FREE,
        "state": "ok" if number * GB + GB // 10 <= FREE else "large",
        "reason": "",
        "role": "model",
        "file_format": "gguf",
        "loaded": "",
        "chosen": "",
        "options": LoadChoice(),
    }
    return LibraryRow(**(values | more))
