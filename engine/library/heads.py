"""Find draft heads, judge their targets, and give the reasons against the others."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.errors import LoadFailed
from engine.formats.draft_head import DraftHead, covers, readable_states, why_not_for
from engine.formats.gguf.assistant import ASSISTANT
from engine.formats.gguf.heads import DFLASH, EAGLE3
from engine.formats.gguf.parts import tells_of_mtp
from engine.formats.model_file import ModelFile
from engine.formats.safetensors.heads import is_head_folder, is_medusa_folder
from engine.formats.safetensors.mtp import brings_mtp
from engine.formats.vocabulary import Vocabulary
from engine.library.scan import known_model
from engine.translatable import Translatable

_MOST_BESIDE = 2000
_HEAD_FILES = tuple(name.encode() for name in (EAGLE3, DFLASH, ASSISTANT))
_KEY = b"general.architecture"


@dataclass(frozen=True, slots=True)
class HeadFit:
    """Judge heads for a target, with the reason in a sentence for a person.

    `source`: the file that holds them, which may be the target's own. `method`: the draft method that they are for.
    """

    source: ModelFile
    method: str
    fits: bool
    reason: str


def judge_heads(target: ModelFile, models: Iterable[ModelFile]) -> list[HeadFit]:
    """Return the verdict on each head among the models, those that fit first, and on the target's own.

    Heads that cannot be used at all are left out: their own problem says why.
    """
    if not target.usable:
        return []
    found: list[HeadFit] = []
    for model in models:
        if model.head is None:
            continue
        if model.path == target.path:
            reason = Translatable("Its own MTP layers.")
            found.append(HeadFit(model, model.head.method, True, reason))
        elif model.role == "draft-head" and _may_run_with(target, model, model.head):
            found.append(_judged(target, model, model.head))
    return sorted(found, key=lambda fit: (not fit.fits, fit.source.name.casefold(), str(fit.source.path)))


def _may_run_with(target: ModelFile, model: ModelFile, head: DraftHead) -> bool:
    """Return True if whatever runs the target runs heads of this format, Medusa's in folders also beside GGUF files."""
    return target.file_format in (model.file_format, "gguf" if head.method == "medusa" else "")


def _judged(target: ModelFile, model: ModelFile, head: DraftHead) -> HeadFit:
    readable = frozenset(range(target.depth + 1))
    if target.file_format == "gguf":
        readable = readable_states(target.architecture, target.depth)
    why = why_not_for(head, readable, target.depth, target.width, target.shared)
    ours, theirs = target.vocabulary, model.vocabulary
    if head.tokens:  # A folder with a head brings no tokenizer.
        in_folder = target.file_format == "safetensors"
        own = target.tokens or (0 if ours is None else ours.size)
        alike = own == head.tokens if in_folder else ours is not None and covers(ours, head.tokens)
    else:
        alike = ours is not None and theirs is not None and same_tokens(ours, theirs)
    if why is None and not alike:
        why = Translatable("it has another vocabulary")
    if why is None:
        return HeadFit(model, head.method, True, Translatable("Same vocabulary and width."))
    return HeadFit(model, head.method, False, Translatable("It is not for this target: {why}.", why=why))


def same_tokens(target: Vocabulary, head: Vocabulary) -> bool:
    """Return True if two vocabularies are one but for padding: a head is made with its target's own."""
    ours, theirs = (np.trim_zeros(vocabulary.fingerprints, "b") for vocabulary in (target, head))
    return bool(np.array_equal(ours, theirs))


def find_heads_of(target: Path) -> list[Path]:
    """List the files that may hold heads for a target: its own, if there are MTP layers in it, then files beside it.

    Of a target in a folder they are the folder itself and the folders with heads beside it and in it; of a GGUF file,
    also those with Medusa heads beside it. Only the beginnings of files are read; what cannot be read is left out.
    """
    try:
        if target.is_dir():
            own = [target] if brings_mtp(target) else []
            siblings = [*_listed(target), *_listed(target.parent)]
            return [*own, *(path for path in siblings if path != target and path.is_dir() and is_head_folder(path))]
        own = [target] if _has_inner_head(target) else []
        siblings = [path for path in _listed(target.parent) if path != target]
        files = [path for path in siblings if path.suffix.lower() == ".gguf" and _is_head_file(path)]
        folders = [path for path in siblings if path.is_dir() and is_medusa_folder(path)]
    except (OSError, LoadFailed):
        return []
    return [*own, *files, *folders]


def _listed(folder: Path) -> list[Path]:
    with os.scandir(folder) as listing:
        names = [entry.name for _, entry in zip(range(_MOST_BESIDE), listing, strict=False)]
    return [folder / name for name in sorted(names) if not name.startswith(".")]


def _has_inner_head(path: Path) -> bool:
    return tells_of_mtp(path) and known_model(path).head is not None


def _is_head_file(path: Path) -> bool:
    """Return True if the beginning of a GGUF file names the architecture of a head, or it holds MTP layers alone."""
    if tells_of_mtp(path):
        with suppress(LoadFailed, OSError):
            if known_model(path).role == "draft-head":
                return True
    _, found, rest = _beginning(path, 4096).partition(_KEY)
    # Behind the key stand a type of 4 bytes and a length of 8.
    return bool(found) and rest[12 : 12 + int.from_bytes(rest[4:12], "little")] in _HEAD_FILES


def _beginning(path: Path, size: int) -> bytes:
    try:
        if not path.is_file():  # A pipe would never answer.
            return b""
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""
