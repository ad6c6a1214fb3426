"""Cache the scan of a folder on disk, so that the next scan reads only changed files.

One file for each folder that was scanned, and one for each vocabulary. It is all a convenience: missing, damaged,
written by another version or not to be written at all, it costs one slower scan.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from engine._version import __version__
from engine.formats.draft_head import DraftHead
from engine.formats.model_file import ModelFile
from engine.formats.vocabulary import Vocabulary
from engine.library.walk import Stamps
from engine.system.cache_files import (
    folder_key,
    forget_oldest,
    library_place,
    read_file,
    read_json,
    write_file,
    write_json,
)
from engine.translatable import packed, unpacked

_FIGURES = tuple(field.name for field in fields(ModelFile) if field.name not in ("path", "vocabulary"))
_FACTS = tuple(field.name for field in fields(Vocabulary) if field.name != "fingerprints")
_VERSION = [6, __version__, [*_FIGURES], [*_FACTS]]
"""Files of any other version are not read."""
_MOST_FOLDERS = 64
_MOST_MODELS = 20_000
_MOST_VOCABULARIES = 4000
_MOST_VOCABULARY_BYTES = 384 * 2**20


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
