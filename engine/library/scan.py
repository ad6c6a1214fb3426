"""Scan a folder: find its models, describe them, and give the reasons why some cannot be used."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from engine.cancel import CancelToken
from engine.errors import LoadFailed
from engine.formats.gguf.model import HeaderReader, inspect_gguf
from engine.formats.gguf.parts import split_parts
from engine.formats.model_file import ModelFile, file_title, is_lasting, printable, problem_of
from engine.formats.safetensors.heads import with_head
from engine.formats.safetensors.model import folder_name, inspect_safetensors, read_safetensors_folder
from engine.formats.safetensors.mtp import with_inner_head
from engine.library.scan_cache import Entry, LibraryCache
from engine.library.walk import FoundModel, find_models, found_file, is_as_found
from engine.system.files import expanded
from engine.system.installation import extra_advice, extra_installed
from engine.translatable import Translatable

__all__ = ["ModelFile", "inspect_model", "scan_folder"]

_REMEMBERED = 8192
_SETTLED_NS = 50_000_000
"""A file that was changed so shortly before it was read may change again without its time showing it."""

_SENSELESS = (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError)
_known: dict[str, Entry] = {}


def scan_folder(folder: str | Path, *, cancel: CancelToken | None = None) -> tuple[ModelFile, ...]:
    """Return every model in a folder and its subfolders, sorted by name; unusable ones have a `problem`.

    Hidden folders are skipped, links are followed, each file is listed once. Unchanged files are not read again (by a
    cache on disk, which may be missing or damaged). Raises FolderUnreadable, Cancelled.
    """
    found = find_models(folder, cancel=cancel)
    scan = _Scan(LibraryCache(expanded(folder)), cancel)
    models = [_titled(scan.model(item), item.title) for item in found]
    scan.remember()
    if any(model.file_format == "safetensors" and model.usable for model in models) and not extra_installed():
        models = [_without_extra(model) for model in models]
    return tuple(sorted(models, key=lambda model: (model.name.casefold(), str(model.path))))


def inspect_model(path: str | Path) -> ModelFile:
    """Describe one model, a GGUF file or a folder of safetensors, its contents checked.

    Raises ModelFileBroken, ModelNotSupported.
    """
    path = Path(path)
    return inspect_safetensors(path) if path.is_dir() else inspect_gguf(path)


def known_model(path: Path) -> ModelFile:
    """Describe one model as `inspect_model` does, without reading a file again that is as it was when it was sound.

    Raises ModelFileBroken, ModelNotSupported.
    """
    if path.is_dir():
        return inspect_model(path)
    now, found = time.time_ns(), found_file(path.absolute(), split_parts(path))
    cache = LibraryCache(Path(found.path))
    known = _known.get(found.path)
    if known is None or known.stamps != found.stamps:
        known = cache.entry(found.path, found.stamps)
    if known is None or not known.model.can_draft:
        known = Entry(found.stamps, inspect_model(path))
        if not known.model.can_draft or not _settled(found, now):
            return replace(known.model, path=path)
        cache.save({found.path: known})
    _remember({found.path: known})
    return replace(known.model, path=path)


def _remember(entries: Mapping[str, Entry]) -> None:
    if len(_known) + len(entries) > _REMEMBERED:
        _known.clear()
    _known.update(list(entries.items())[:_REMEMBERED])


def _titled(model: ModelFile, title: str) -> ModelFile:
    return replace(model, name=printable(title)) if title else model


def _without_extra(model: ModelFile) -> ModelFile:
    if model.file_format == "safetensors" and model.usable:
        return replace(model, problem=extra_advice())
    return model


class _Scan:
    """Run one scan: known models, and those to be read. `seen`: the entries to keep for the next one."""

    def __init__(self, cache: LibraryCache, cancel: CancelToken | None) -> None:
        self._cache = cache
        self._cancel = cancel
        self._reader = HeaderReader()
        self.seen: dict[str, Entry] = {}

    def model(self, found: FoundModel) -> ModelFile:
        """Return a file or folder as the scan lists it: its figures, or its problem. Raises Cancelled."""
        if self._cancel is not None:
            self._cancel.check("The scan")
        path = found.path
        if found.kind == "folder":
            return ModelFile(Path(path), file_title(Path(path).name), role="folder", problem=found.problem)
        known = _known.get(path)
        if known is None or known.stamps != found.stamps:
            known = self._cache.entry(path, found.stamps)
        if known is None:
            now = time.time_ns()
            model, lasting = self._read(found)
            if not lasting or not _settled(found, now):
                return model
            # A disk that is pulled out meanwhile says nothing of the files on it.
            if model.problem is not None and not is_as_found(found):
                return model
            known = Entry(found.stamps, model)
        self.seen[path] = known
        return known.model

    def remember(self) -> None:
        """Keep the found models for the next scan, in memory and on disk."""
        _remember(self.seen)
        self._cache.save(self.seen)

    def _read(self, found: FoundModel) -> tuple[ModelFile, bool]:
        """Return a model, and True if it stays valid as long as its files do not change."""
        path = Path(found.path)
        in_folder = found.kind == "safetensors"
        try:
            if in_folder:
                return with_inner_head(with_head(read_safetensors_folder(path))), True
            missing = next((name for name, stamp in found.stamps[1:] if stamp is None), None)
            if missing is None:
                return self._reader.read(path), True
            model = self._reader.first_part(path)
            return replace(
                model, problem=Translatable("Part of it is missing: {missing}.", missing=printable(missing, 300))
            ), True
        except _SENSELESS as error:
            # Not foreseen; but whatever is wrong with one file, the others are listed.
            name = folder_name(path) if in_folder else file_title(path.stem)
            problem = Translatable("it cannot be read ({reason}).", reason=type(error).__name__).as_sentence()
            return _in_format(ModelFile(path, name, problem=problem), in_folder), False
        except LoadFailed as error:
            size = sum(stamp[0] for _, stamp in found.stamps if stamp is not None)
            name = folder_name(path) if in_folder else file_title(path.stem)
            model = ModelFile(path, name, size_bytes=size, problem=problem_of(error, path))
            return _in_format(model, in_folder), is_lasting(error)


def _in_format(model: ModelFile, in_folder: bool) -> ModelFile:
    return replace(model, file_format="safetensors") if in_folder else model


def _settled(found: FoundModel, now: int) -> bool:
    return all(stamp is not None and now - max(stamp[1], stamp[2]) > _SETTLED_NS for _, stamp in found.stamps)
