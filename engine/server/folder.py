"""Offer the models of a folder by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from engine.backends.base import Embedder
from engine.cancel import CancelToken
from engine.decoder import SpeculativeDecoder
from engine.formats.gguf.parts import title_stem
from engine.formats.model_file import ModelFile
from engine.library.pairs import judge_models
from engine.library.scan import scan_folder
from engine.server.registry import Offer

Load = Callable[[Path, Path | None, CancelToken], SpeculativeDecoder]
Embed = Callable[[Path, CancelToken], Embedder]


def folder_offers(folder: Path, load: Load, embed: Embed, *, drafts: bool = True) -> list[Offer]:
    """List the offers of a folder's models, and of the folders in it.

    A model is named by its file without its ending, or its folder of safetensors; two of one name by the folders around
    them too. `load` is given a target and, with `drafts`, the best draft of its vocabulary in the folder. A GGUF file
    may be an embedding model whatever its architecture, which loading it tells. Raises FolderUnreadable.
    """
    models = [model for model in scan_folder(folder) if _offered(model)]
    best = judge_models(models).best if drafts else {}
    names = _names(models)
    offers: list[Offer] = []
    for model in models:
        path, pair = model.path, best.get(model.path)
        draft = pair.draft.path if pair is not None and pair.fit.fits and pair.draft.usable else None
        writes = partial(load, path, draft) if model.role == "model" else None
        embeds = partial(embed, path) if model.file_format == "gguf" else None
        offers.append(Offer(names[path], writes, embeds, tuple(_details(model, draft).items())))
    return offers


def _names(models: Sequence[ModelFile]) -> dict[Path, str]:
    """Return a unique name for each model, as short as possible: with as many folders around as that takes."""
    names: dict[Path, str] = {}
    for title, count in Counter(map(_title, models)).items():
        paths = [model.path for model in models if _title(model) == title]
        for folders in range(max(len(path.parts) for path in paths) if count > 1 else 1):
            shown = [_within(path, title, folders) for path in paths]
            if len(set(shown)) == count:
                break
        else:  # Of one folder: a file and a folder beside it, or two kinds of files.
            shown = [_within(path, path.name, folders) for path in paths]
        names |= dict(zip(paths, shown, strict=True))
    return names


def _within(path: Path, name: str, folders: int) -> str:
    """Return a name with that of so many folders around it."""
    return "/".join([*(folder.name for folder in reversed(path.parents[:folders]) if folder.name), name])


def _offered(model: ModelFile) -> bool:
    return (model.usable and model.role == "model") or model.role == "embedding"


def _title(model: ModelFile) -> str:
    return title_stem(model.path) if model.file_format == "gguf" else model.path.name


def _details(model: ModelFile, draft: Path | None) -> dict[str, Any]:
    facts: dict[str, Any] = {"context_length": model.context_length, "size": model.size_bytes}
    return facts | ({} if draft is None else {"draft": draft.stem})
