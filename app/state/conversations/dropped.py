"""Classify files and folders that were dropped onto the window."""

from __future__ import annotations

import stat
import struct
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from app.state.conversations.formats import READERS
from app.state.conversations.other_programs.find import has_chats, is_source, zip_directory
from engine.host import first_part, is_proof

Kind = Literal["model", "folder", "conversation", "file", "missing", "proof"]

_KINDS: tuple[Kind, ...] = get_args(Kind)
_MAGIC = b"GGUF"
_LARGEST_DOCUMENTS = 64 * 2**20
"""Bytes of an archive of documents."""


@dataclass(frozen=True, slots=True)
class Dropped:
    """Hold dropped paths by kind. `files`: other files, which may be text; `missing`: paths that do not exist.

    `proofs`: of replies.
    """

    models: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    conversations: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()
    missing: tuple[Path, ...] = field(default=())
    proofs: tuple[Path, ...] = ()


def sort_out(paths: Iterable[Path]) -> Dropped:
    """Sort paths by kind, each listed once; every file of a split model counts as its first."""
    found: dict[Kind, dict[Path, None]] = {kind: {} for kind in _KINDS}
    for path in paths:
        kind, meant = kind_of(path)
        found[kind][meant] = None
    return Dropped(*(tuple(each) for each in found.values()))


def kind_of(path: Path) -> tuple[Kind, Path]:
    """Return the kind of a path, and the path it stands for: a part of a split model stands for the first part.

    Archives and folders may have chats of other programs. A folder with the weights of a single model (safetensors) is
    a model; so is a file of these weights in it.
    """
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return "missing", path
    if stat.S_ISDIR(mode):
        if _is_model_folder(path):
            return "model", path
        return "conversation" if has_chats(path) else "folder", path
    if not stat.S_ISREG(mode):
        # Opening a pipe or a device would block.
        return "missing", path
    suffix = path.suffix.lower()
    if suffix == ".gguf":
        return "model", first_part(path)
    if suffix == ".safetensors" and _is_model_folder(path.parent):
        return "model", path.parent
    lines = suffix == ".jsonl" and is_source(path) is not False
    if suffix in READERS or lines or (suffix == ".zip" and _may_have_chats(path)):
        return "proof" if suffix == ".json" and is_proof(path) else "conversation", path
    return ("model", path) if not suffix and _begins_as_model(path) else ("file", path)


def _may_have_chats(path: Path) -> bool:
    """Return True if an archive may have chats, which are JSON; one without is a document of several."""
    try:
        if path.stat().st_size > _LARGEST_DOCUMENTS:
            return True
        with path.open("rb") as file:
            return not zipfile.is_zipfile(file) or b".json" in zip_directory(file).lower()
    except (OSError, ValueError, struct.error):
        return True


def _is_model_folder(path: Path) -> bool:
    # Not a look at every file of any folder: the window waits for the answer.
    with suppress(OSError):
        return (path / "config.json").exists() and any(each.suffix.lower() == ".safetensors" for each in path.iterdir())
    return False


def _begins_as_model(path: Path) -> bool:
    """Return True if a file begins as a model does: caches keep models under names without a suffix."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False
