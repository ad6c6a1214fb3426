"""Scan a folder: find its models, describe them, and give the reasons why some cannot be used."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from engine._version import __version__
from engine.cancel import CancelToken
from engine.errors import LoadFailed
from engine.formats.draft_head import DraftHead
from engine.formats.gguf.model import HeaderReader, inspect_gguf
from engine.formats.gguf.parts import split_parts
from engine.formats.model_file import ModelFile, file_title, is_lasting, printable, problem_of
from engine.formats.safetensors.heads import with_head
from engine.formats.safetensors.model import folder_name, inspect_safetensors, read_safetensors_folder
from engine.formats.safetensors.mtp import with_inner_head
from engine.formats.vocabulary import Vocabulary
from engine.library.walk import FoundModel, Stamps, find_models, found_file, is_as_found
from engine.system.cache_files import (
    folder_key,
    forget_oldest,
    library_place,
    read_file,
    read_json,
    write_file,
    write_json,
)
from engine.system.files import expanded
from engine.system.installation import extra_advice, extra_installed
from engine.translatable import Translatable, packed, unpacked

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


_FIGURES = tuple(field.name for field in fields(ModelFile) if field.name not in ("path", "vocabulary"))
_FACTS = tuple(field.name for field in fields(Vocabulary) if field.name != "fingerprints")
_VERSION = [6, __version__, [*_FIGURES], [*_FACTS]]
"""Files of any other version are not read."""
_MOST_FOLDERS = 64
_MOST_MODELS = 20_000
_MOST_VOCABULARIES = 4000
_MOST_VOCABULARY_BYTES = 384 * 2**20


# What a scan found out is kept on disk: one file for each folder that was scanned, and one for each vocabulary. It is
# all a convenience: missing, damaged, written by another version or not to be written at all, it costs one slower scan.


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold a model, and its files as they were when it was read."""

    stamps: Stamps
    model: ModelFile


class LibraryCache:
    """Keep the cache of one folder. It reads the disk at its first use, and never raises for a bad file."""

    def __init__(self, folder: Path) -> None:
        self._place = library_place()
        self._path = self._place / f"{folder_key(folder)}.json"
        self._stored: Mapping[str, Any] | None = None
        self._vocabularies: dict[str, Vocabulary | None] = {}

    def entry(self, path: str, stamps: Stamps) -> Entry | None:
        """Return the entry of a model whose files are unchanged, or None."""
        if self._stored is None:
            self._stored = self._load()
        found = self._stored.get(path)
        try:
            if found is None or _stamps(found["files"]) != stamps:
                return None
            name = found["vocabulary"]
            vocabulary = None if name is None else self._vocabulary(name)
            if name is not None and vocabulary is None:
                return None
            figures = dict(zip(_FIGURES, found["figures"], strict=True))
            figures["recommended"] = tuple((str(name), number) for name, number in figures["recommended"])
            if figures["head"] is not None:
                method, read, width, tokens, shared = figures["head"]
                figures["head"] = DraftHead(method, tuple(read), width, tokens, _pairs(shared))
            figures["shared"] = _pairs(figures["shared"])
            if figures["problem"] is not None:
                figures["problem"] = unpacked(figures["problem"])
            return Entry(stamps, ModelFile(path=Path(path), vocabulary=vocabulary, **figures))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            return None

    def save(self, entries: Mapping[str, Entry]) -> None:
        """Keep these models in place of those before, unless nothing changed. Does nothing if it cannot write."""
        if self._stored is None:
            self._stored = self._load()
        kept = dict(list(entries.items())[:_MOST_MODELS])
        names: dict[int, str] = {}
        for entry in kept.values():
            vocabulary = entry.model.vocabulary
            if vocabulary is not None and id(vocabulary) not in names:
                names[id(vocabulary)] = _name(vocabulary)
        content = {path: _to_json(entry, names) for path, entry in kept.items()}
        if content == self._stored and None not in self._vocabularies.values():
            return
        try:
            self._write_vocabularies(entry.model.vocabulary for entry in kept.values())
            write_json(self._path, {"version": _VERSION, "models": content})
            forget_oldest(self._place, ".json", _MOST_FOLDERS)
            forget_oldest(self._place, ".vocabulary", _MOST_VOCABULARIES, _MOST_VOCABULARY_BYTES)
        except (OSError, ValueError):
            return

    def _load(self) -> Mapping[str, Any]:
        loaded = read_json(self._path)
        if loaded.get("version") != _VERSION:
            return {}
        models = loaded.get("models")
        return models if isinstance(models, dict) else {}

    def _vocabulary(self, name: str) -> Vocabulary | None:
        if name not in self._vocabularies:
            self._vocabularies[name] = _read_vocabulary(self._place / f"{name}.vocabulary", name)
        return self._vocabularies[name]

    def _write_vocabularies(self, vocabularies: Iterable[Vocabulary | None]) -> None:
        for vocabulary in {id(found): found for found in vocabularies}.values():
            if vocabulary is None:
                continue
            name = _name(vocabulary)
            path = self._place / f"{name}.vocabulary"
            if not path.exists() or self._vocabularies.get(name, vocabulary) is None:
                prints = vocabulary.fingerprints.astype("<u4").tobytes()
                facts = {fact: getattr(vocabulary, fact) for fact in _FACTS}
                line = json.dumps({"facts": facts, "check": zlib.crc32(prints)})
                write_file(path, line.encode() + b"\n" + prints)


def _to_json(entry: Entry, names: Mapping[int, str]) -> dict[str, Any]:
    model = entry.model
    return {
        "files": [[name, None if stamp is None else [*stamp]] for name, stamp in entry.stamps],
        "vocabulary": None if model.vocabulary is None else names[id(model.vocabulary)],
        "figures": [_figure(getattr(model, name)) for name in _FIGURES],
    }


def _figure(value: Any) -> Any:
    """Return a figure as JSON reads it again: only then is it seen that nothing changed."""
    if isinstance(value, DraftHead):
        return [value.method, list(value.layers), value.width, value.tokens, [list(pair) for pair in value.shared]]
    if isinstance(value, tuple):
        return [list(pair) for pair in value]
    return packed(value) if isinstance(value, str) else value


def _pairs(stored: Any) -> tuple[tuple[int, int], ...]:
    return tuple((heads, width) for heads, width in stored)


def _stamps(stored: Any) -> Stamps:
    return tuple((name, None if stamp is None else tuple(stamp)) for name, stamp in stored)


def _name(vocabulary: Vocabulary) -> str:
    facts = [getattr(vocabulary, name) for name in _FACTS]
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def _read_vocabulary(path: Path, name: str) -> Vocabulary | None:
    try:
        line, _, prints = read_file(path).partition(b"\n")
        stored = json.loads(line)
        if stored["check"] != zlib.crc32(prints):
            return None
        facts = stored["facts"] | {name: tuple(stored["facts"][name]) for name in ("control", "special")}
        vocabulary = Vocabulary(**facts, fingerprints=np.frombuffer(prints, "<u4").astype(np.uint32, copy=False))
        good = vocabulary.size == len(vocabulary.fingerprints) and _name(vocabulary) == name
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return vocabulary if good else None
