"""List the files of a model, and detect changes to them."""

from __future__ import annotations

from pathlib import Path

from engine.formats.gguf.parts import split_parts


def list_files(path: Path) -> list[Path]:
    """Return a model's files: GGUF parts, or weights and JSON of a folder. Raises OSError, ModelFileBroken."""
    if not path.is_dir():
        return list(split_parts(path))
    return sorted(part for part in path.iterdir() if part.suffix in (".safetensors", ".json") and part.is_file())


def stamp_files(path: Path) -> list[tuple[str, int, int]]:
    """Return the absolute path, the size in bytes and the time of change in ns of each file. Raises as list_files."""
    stats = [(str(part.absolute()), part.stat()) for part in list_files(path)]
    return [(name, status.st_size, status.st_mtime_ns) for name, status in stats]
