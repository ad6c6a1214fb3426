"""List the files of a model, and detect changes to them."""

from __future__ import annotations

from pathlib import Path

from engine.formats.gguf.parts import split_parts


def list_files(path: Path) -> list[Path]:
    """Return the files that a model is read from: all parts of a GGUF file, or a folder's weights and JSON files.

    Raises OSError if the folder cannot be read, ModelFileBroken where `path` is a later part.
    """
    if not path.is_dir():
        return list(split_parts(path))
    return sorted(part for part in path.iterdir() if part.suffix in (".safetensors", ".json") and part.is_file())


def stamp_files(path: Path) -> list[tuple[str, int, int]]:
    """Return the absolute path, the size in bytes and the time of change in ns of each file. Raises as list_files."""
    stats = [(str(part.absolute()), part.stat()) for part in list_files(path)]
    return [(name, status.st_size, status.st_mtime_ns) for name, status in stats]
