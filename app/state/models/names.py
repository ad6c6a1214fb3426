"""Name models and format their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine import ModelFile, Translatable


def label(model: ModelFile) -> str:
    """Name, size and quantisation in one line, as in `demo-target · 12M Q8_0`."""
    figures = " ".join(filter(None, (parameters(model.parameters), model.quantisation)))
    return f"{model.name} · {figures}" if figures else model.name


def labels(models: Sequence[ModelFile]) -> dict[Path, str]:
    """Name each model by its path. Of equal names the later ones use their file name, then their folder as well."""
    names: dict[Path, str] = {}
    taken: set[str] = set()
    for model in models:
        name = label(model)
        if name in taken:
            name = label(replace(model, name=file_label(model.path)))
        if name in taken:
            name = label(replace(model, name=f"{model.path.parent.name}/{file_label(model.path)}"))
        names[model.path] = name
        taken.add(name)
    return names


def hint(model: ModelFile) -> str:
    """Return more about a model: its file and how large that is."""
    size = file_size(model.size_bytes)
    return Translatable("{file} · {size}", file=model.path.name, size=size) if size else model.path.name


def with_recommendation(model: ModelFile) -> str:
    """Return the hint of a target: with how its makers recommend to sample from it, and whether chats do so."""
    if not model.recommended:
        return hint(model)
    told = ", ".join(f"{name} {value:g}" for name, value in model.recommended if name != "penalty_window")
    file = hint(model)
    if model.thinks:
        return Translatable(
            "{file}\nIt thinks, so it is sampled as it recommends, unless you choose otherwise: {told}",
            file=file,
            told=told,
        )
    return Translatable("{file}\nIts makers recommend to sample with {told}", file=file, told=told)


def file_label(path: Path) -> str:
    """Name a model before it is read. The dot in a folder's name, as in Qwen2.5-0.5B, begins no suffix."""
    return path.stem if path.suffix.lower() in (".gguf", ".safetensors") else path.name


def parameters(count: int) -> str:
    """Return a number of parameters as people say it: 260K, 12M, 1.1B."""
    for unit, factor in (("B", 10**9), ("M", 10**6), ("K", 10**3)):
        value = count / factor
        if round(value, 3) >= 1:
            return f"{value:.1f}".removesuffix(".0") + unit if value < 9.95 else f"{value:.0f}{unit}"
    return str(count) if count else ""


def file_size(size: int) -> str:
    """Return a file's size: 1.2 MB. Empty where it is not known."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor:
            return Translatable("{size:.1f} {unit}", size=size / factor, unit=unit)
    return Translatable("{count} bytes", count=size) if size else ""
