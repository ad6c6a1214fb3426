"""Offer the models of a folder by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
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
from engine.server.shelf import Offer

Load = Callable[[Path, Path | None, CancelToken], SpeculativeDecoder]
Embed = Callable[[Path, CancelToken], Embedder]


def folder_offers(folder: Path, load: Load, embed: Embed, *, drafts: bool = True) -> list[Offer]:
    """Return what the models of a folder, and of those in it, offer.

    A model is named by its file without its ending, or its folder of safetensors; two of one name by the folder around
    them too. `load` is given a target and, with `drafts`, the best draft of its vocabulary in the folder. A GGUF file
    may be an embedding model whatever its architecture, which loading it tells. Raises FolderUnreadable.
    """
    models = [model for model in scan_folder(folder) if _offered(model)]
    best = judge_models(models).best if drafts else {}
    titles = Counter(map(_title, models))
    offers: dict[str, Offer] = {}
    for model in models:
        path, pair = model.path, best.get(model.path)
        draft = pair.draft.path if pair is not None and pair.fit.fits and pair.draft.usable else None
        title = _title(model)
        name = title if titles[title] == 1 else f"{path.parent.name}/{title}"
        writes = partial(load, path, draft) if model.role == "model" else None
        embeds = partial(embed, path) if model.file_format == "gguf" else None
        offers.setdefault(name, Offer(name, writes, embeds, tuple(_details(model, draft).items())))
    return list(offers.values())


def _offered(model: ModelFile) -> bool:
    return (model.usable and model.role == "model") or model.role == "embedding"


def _title(model: ModelFile) -> str:
    return title_stem(model.path) if model.file_format == "gguf" else model.path.name


def _details(model: ModelFile, draft: Path | None) -> dict[str, Any]:
    told: dict[str, Any] = {"context_length": model.context_length, "size": model.size_bytes}
    return told | ({} if draft is None else {"draft": draft.stem})
