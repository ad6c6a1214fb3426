"""Read the models folder of Ollama: manifests that name blobs. None of its files is changed.

Source of the layout: Ollama's `docs/faq.md` and `server/internal/manifest`: `manifests/HOST/NAMESPACE/MODEL/TAG` is
JSON with layers, of which the model's is the file `blobs/sha256-DIGEST`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.translatable import Translatable

FOLDERS = frozenset({"manifests", "blobs"})
"""The subfolders of a models folder of Ollama."""
_HOST, _NAMESPACE = "registry.ollama.ai", "library"
_MODEL = "application/vnd.ollama.image.model"
_MOST_MANIFESTS = 5000
_MOST_BYTES = 2**20
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class NamedModel:
    """Hold a model as another program names it. `path` None: it is missing, and `problem` is the reason."""

    name: str
    path: Path | None
    problem: str = ""


def ollama_models(folder: Path) -> Iterator[NamedModel]:
    """Return the models of a folder that has Ollama's layout, sorted by name."""
    found = sorted(_manifests(folder / "manifests"), key=lambda place: place[0].casefold())
    for name, path in found[:_MOST_MANIFESTS]:
        yield _read(name, path, folder / "blobs")


def _manifests(root: Path) -> Iterator[tuple[str, Path]]:
    """Return the manifests, with Ollama's names for them: without the defaults."""
    seen = 0
    for place, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        parts = Path(place).relative_to(root).parts
        seen += len(files)
        if seen > _MOST_MANIFESTS:
            return
        if len(parts) != 3:
            continue
        folders.clear()
        host, namespace, model = parts
        usual = host == _HOST
        names = [] if usual and namespace == _NAMESPACE else [namespace] if usual else [host, namespace]
        for file in files:
            if not file.startswith("."):
                yield "/".join([*names, model]) + f":{file}", Path(place, file)


def _read(name: str, path: Path, blobs: Path) -> NamedModel:
    try:
        layers = small_json(path)["layers"]
        layer = next((each for each in layers if each.get("mediaType") == _MODEL), None)
        match = _DIGEST.fullmatch(layer["digest"]) if layer is not None else None
        size = int(layer.get("size", 0)) if layer is not None else 0
    except (ValueError, OverflowError, KeyError, TypeError, AttributeError):
        return NamedModel(
            name, None, Translatable("Its manifest cannot be read. Get it again: ollama pull {name}", name=name)
        )
    if match is None:
        return NamedModel(
            name, None, Translatable("Its manifest names no GGUF file: it runs elsewhere, or is kept in another form.")
        )
    blob = next((each for sign in "-:" if (each := blobs / f"sha256{sign}{match[1]}").is_file()), None)
    if blob is None:
        return NamedModel(name, None, Translatable("Its file is missing. Get it again: ollama pull {name}", name=name))
    if size and blob.stat().st_size < size:
        return NamedModel(
            name, blob, Translatable("Its file is incomplete. Get it again: ollama pull {name}", name=name)
        )
    return NamedModel(name, blob)


def small_text(path: Path) -> str:
    """Return a small text file of another program; "" if it cannot be read, or is a pipe or a device."""
    try:
        return path.read_text("utf-8-sig") if path.is_file() and path.stat().st_size <= _MOST_BYTES else ""
    except (OSError, ValueError):
        return ""


def small_json(path: Path) -> dict[str, Any]:
    """Return the JSON object of such a file; an empty one if it holds none."""
    try:
        data = json.loads(small_text(path))
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
