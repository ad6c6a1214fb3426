"""Name models and format their figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from engine import ModelFile, Translatable

_PART = re.compile(r"-\d{5}-of-\d{5}$")
_HASH = re.compile(r"(?:sha\d+[-:])?[0-9a-fA-F]{16,}")
_SHORT = 12


def shown_name(model: ModelFile) -> str:
    """Return the name of a model: its file's, without quantisation and part.

    What a file calls itself is often a hash, a path, or the same for hundreds; it counts where the file's name is a
    hash.
    """
    path = model.path
    name = _PART.sub("", file_label(path))
    if path.parent.name == "snapshots":
        # The cache of Hugging Face: models--owner--name/snapshots/hash.
        name = path.parent.parent.name.rpartition("--")[2]
    if _HASH.fullmatch(name):
        name = path.name[:_SHORT] if _is_no_name(model.name) else model.name
    if model.quantisation:
        name = re.sub(rf"[._-]+{re.escape(model.quantisation)}$", "", name, flags=re.IGNORECASE)
    return name or model.name


def _is_no_name(name: str) -> bool:
    return not name.strip() or _HASH.fullmatch(name) is not None or "/" in name or "\\" in name


def label(model: ModelFile, name: str = "") -> str:
    """Name, size and quantisation in one line, as in `demo-target · 12M Q8_0`."""
    name = name or shown_name(model)
    figures = " ".join(filter(None, (size_of(model), model.quantisation)))
    if isinstance(name, Translatable) and figures:
        return Translatable("{name} · {figures}", name=name, figures=figures)
    return f"{name} · {figures}" if figures else name


def labels(models: Sequence[ModelFile]) -> dict[Path, str]:
    """Name each model by its path. Of equal names the later ones have their folder before them, then their path."""
    names: dict[Path, str] = {}
    taken: set[str] = set()
    for model in models:
        name = label(model)
        if name in taken:
            name = label(model, f"{model.path.parent.name}/{shown_name(model)}")
        if name in taken:
            name = label(model, str(model.path))
        names[model.path] = name
        taken.add(name)
    return names


def hint(model: ModelFile) -> str:
    """Return more about a model: its file with its size, and the name in its header unless that is a hash."""
    size = file_size(model.size_bytes)
    file = Translatable("{file} · {size}", file=model.path.name, size=size) if size else model.path.name
    if _is_no_name(model.name) or model.name.casefold() == shown_name(model).casefold():
        return file
    return Translatable("{file}\nName in the file: {name}", file=file, name=model.name)


def with_recommendation(model: ModelFile) -> str:
    """Return the hint of a target: with its makers' recommended sampling, and a note if chats use it."""
    if not model.recommended:
        return hint(model)
    settings = ", ".join(f"{name} {value:g}" for name, value in model.recommended if name != "penalty_window")
    file = hint(model)
    if model.thinks:
        return Translatable(
            "{file}\nA reasoning model, so its recommended sampling applies unless you choose otherwise: {told}",
            file=file,
            told=settings,
        )
    return Translatable("{file}\nIts makers recommend to sample with {told}", file=file, told=settings)


def file_label(path: Path) -> str:
    """Name a model before it is read. The dot in a folder's name, as in Qwen2.5-0.5B, begins no suffix."""
    return path.stem if path.suffix.lower() in (".gguf", ".safetensors") else path.name


def size_of(model: ModelFile) -> str:
    """Return a model's size as its makers call it, or its number of parameters where they do not say."""
    return model.size_label or parameters(model.parameters)


def parameters(count: int) -> str:
    """Return a number of parameters as people say it: 260K, 12M, 1.1B."""
    for unit, factor in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        value = count / factor
        if round(value, 3) >= 1:
            return f"{value:.1f}".removesuffix(".0") + unit if value < 9.95 else f"{value:.0f}{unit}"
    return str(count) if count else ""


def file_size(size: int) -> str:
    """Return a file's size: 1.2 MB. Empty if it is unknown."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor:
            return Translatable("{size:.1f} {unit}", size=size / factor, unit=unit)
    return Translatable("{count} bytes", count=size) if size else ""


def unread(path: Path) -> ModelFile:
    """Return a model before its file is read."""
    return ModelFile(path, path.name.split(".")[0])


def identity(path: Path) -> str:
    """Return the common part of two names of one file."""
    try:
        return str(path.resolve())
    except (OSError, RuntimeError):  # a link that leads to itself
        return str(path)
