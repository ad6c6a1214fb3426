"""Scan a folder: which models are in it, what they are, and what is wrong with those that cannot be used."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from engine.cancel import CancelToken
from engine.errors import FolderUnreadable, LoadFailed, ModelFileBroken
from engine.gguf_checks import check_model
from engine.gguf_file import GgufFile, read_gguf
from engine.model_file import ModelFile, describe

__all__ = ["ModelFile", "inspect_model", "scan_folder", "split_parts"]

MAX_DEPTH = 12
MAX_ENTRIES = 200_000
_MAX_CONFIG = 2**20
_REMEMBERED = 4096
_PART = re.compile(r"(?P<stem>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})\.gguf", re.IGNORECASE)
_LATER = "It needs the transformers backend, which comes in a later release. Use a GGUF file."

_Key = tuple[str, int, int, int]
_known: dict[_Key, ModelFile] = {}


def scan_folder(folder: str | Path, *, cancel: CancelToken | None = None) -> tuple[ModelFile, ...]:
    """Every model in a folder and the folders in it, sorted by name; what cannot be used says why.

    Hidden folders are left out, links are followed, each file is listed once.
    Raises FolderUnreadable, Cancelled.
    """
    root = Path(folder).expanduser()
    _check_folder(root)
    walk = _Walk(cancel)
    models: list[ModelFile] = []
    for found in walk.folder(root, 0):
        if cancel is not None:
            cancel.check("The scan")
        models.append(found if isinstance(found, ModelFile) else _listed(found))
    return tuple(sorted(models, key=lambda model: (model.name.casefold(), str(model.path))))


def inspect_model(path: str | Path) -> ModelFile:
    """What one model file is, its contents checked. Raises ModelFileBroken, ModelNotSupported."""
    header = read_gguf(path)
    others = [read_gguf(part) for part in split_parts(header.path)[1:]]
    model = describe(header, others)
    if model.usable:
        check_model(header, others)
    return model


def split_parts(path: Path) -> list[Path]:
    """All files of a model that is split into several, the first first; of any other only itself.

    Raises ModelFileBroken where `path` is not the first part.
    """
    match = _PART.fullmatch(path.name)
    if match is None:
        return [path]
    part, parts = int(match["part"]), int(match["parts"])
    if part != 1 or parts == 0:
        raise ModelFileBroken(path, f"it is part {part} of {parts}. Choose the first part.")
    stem, suffix = match["stem"], path.name[-5:]
    return [path.with_name(f"{stem}-{n:05}-of-{parts:05}{suffix}") for n in range(1, parts + 1)]


def _check_folder(root: Path) -> None:
    if not root.exists():
        raise FolderUnreadable(root, "there is no such folder")
    if not root.is_dir():
        raise FolderUnreadable(root, "it is not a folder")
    try:
        with os.scandir(root):
            pass
    except PermissionError:
        raise FolderUnreadable(root, "this program may not read it") from None
    except OSError as error:
        raise FolderUnreadable(root, error.strerror or str(error)) from None


def _listed(path: Path) -> ModelFile:
    """A file as the scan lists it: its figures, or what is wrong with it."""
    key = _key(path)
    known = _known.get(key) if key is not None else None
    if known is not None:
        return replace(known, path=path)
    try:
        model = _inspected(path)
    except LoadFailed as error:
        size = key[1] if key is not None else 0
        return ModelFile(path, path.stem, size_bytes=size, problem=_sentence(error.reason))
    if key is not None and _PART.fullmatch(path.name) is None:
        if len(_known) >= _REMEMBERED:
            _known.clear()
        _known[key] = model
    return model


def _inspected(path: Path) -> ModelFile:
    header = read_gguf(path)
    missing = next((part for part in split_parts(path) if not part.exists()), None)
    others: list[GgufFile] = []
    if missing is None:
        others = [read_gguf(part) for part in split_parts(path)[1:]]
    model = describe(header, others)
    if missing is not None:
        return replace(model, problem=f"A part of it is missing: {missing.name}.")
    if model.usable:
        try:
            check_model(header, others)
        except LoadFailed as error:
            return replace(model, problem=_sentence(error.reason))
    return model


def _key(path: Path) -> _Key | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return (str(path), status.st_size, status.st_mtime_ns, status.st_ino)


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:]


@dataclass
class _Walk:
    """One walk through a folder; remembers where it has been, so that links in a circle end."""

    cancel: CancelToken | None
    entries: int = 0

    def __post_init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()

    def folder(self, folder: Path, depth: int) -> Iterator[Path | ModelFile]:
        """The model files below `folder`, and what could not be read as a ModelFile with a problem."""
        try:
            if not self._first_visit(folder.stat()):
                return
            with os.scandir(folder) as listing:
                entries = sorted(self._visible(listing), key=lambda entry: entry.name)
        except OSError as error:
            reason = error.strerror or str(error)
            yield _folder(folder, f"This folder cannot be read: {reason}.")
            return
        if self._is_safetensors(entries):
            yield _safetensors(folder, entries)
        for entry in entries:
            yield from self._entry(entry, depth)

    def _entry(self, entry: os.DirEntry[str], depth: int) -> Iterator[Path | ModelFile]:
        path = Path(entry.path)
        if _is_folder(entry):
            if depth < MAX_DEPTH:
                yield from self.folder(path, depth + 1)
            else:
                yield _folder(path, "This folder is nested too deep to be searched.")
        elif entry.name.lower().endswith(".gguf") and self._is_first(entry):
            yield path

    def _visible(self, listing: Iterator[os.DirEntry[str]]) -> Iterator[os.DirEntry[str]]:
        for entry in listing:
            if self.cancel is not None:
                self.cancel.check("The scan")
            self.entries += 1
            if self.entries > MAX_ENTRIES:
                return
            if not entry.name.startswith("."):
                yield entry

    def _is_first(self, entry: os.DirEntry[str]) -> bool:
        """Whether a file is listed: not a later part of a split model, and not listed already under another name."""
        match = _PART.fullmatch(entry.name)
        if match is not None and int(match["part"]) != 1:
            first = f"{match['stem']}-00001-of-{match['parts']}{entry.name[-5:]}"
            if Path(entry.path).with_name(first).exists():
                return False
        try:
            return self._first_visit(entry.stat())
        except OSError:
            return True

    def _first_visit(self, status: os.stat_result) -> bool:
        key = (status.st_dev, status.st_ino)
        if status.st_ino and key in self._seen:
            return False
        self._seen.add(key)
        return True

    @staticmethod
    def _is_safetensors(entries: list[os.DirEntry[str]]) -> bool:
        names = {entry.name for entry in entries}
        return "config.json" in names and any(name.endswith(".safetensors") for name in names)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _folder(path: Path, problem: str) -> ModelFile:
    return ModelFile(path, path.name, role="folder", problem=problem)


def _safetensors(folder: Path, entries: list[os.DirEntry[str]]) -> ModelFile:
    size = 0
    for entry in entries:
        if entry.name.endswith(".safetensors"):
            try:
                size += entry.stat().st_size
            except OSError:
                continue
    config = _small_json(folder / "config.json")
    architecture, context = config.get("model_type"), config.get("max_position_embeddings")
    return ModelFile(
        folder,
        folder.name,
        architecture=architecture if isinstance(architecture, str) else "",
        quantisation="safetensors",
        context_length=context if isinstance(context, int) and context > 0 else 0,
        size_bytes=size,
        problem=_LATER,
    )


def _small_json(path: Path) -> dict[str, object]:
    """The object in a small file, or an empty one: it only decorates a list."""
    try:
        if path.stat().st_size > _MAX_CONFIG:
            return {}
        loaded = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return loaded if isinstance(loaded, dict) else {}
