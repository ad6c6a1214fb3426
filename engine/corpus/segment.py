"""Some documents as tokens, and an index of them: every four tokens in a row, sorted, with the place behind them.

A file holds a line of JSON (the documents: key, version, first token, length), spaces up to a multiple of 8 bytes, then
three arrays of little-endian uint32: tokens, sorted keys, places. It is written once, whole, and never changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.system.files import write_whole

Tokens = NDArray[np.uint32]
ORDER = 4
"""Tokens that a search goes by."""
END = 0xFFFFFFFF
"""Stands behind each document; no token."""
_FORMAT = 1
_MOST_HEADER = 2**26
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F], dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class IndexedText:
    """Locate a document: its version, its first token and their number."""

    version: str
    first: int
    length: int


@dataclass(frozen=True, slots=True)
class Segment:
    """Hold tokens and their index. `documents`: by key; `path`: its file, None in memory alone."""

    documents: Mapping[str, IndexedText]
    tokens: Tokens
    keys: Tokens
    places: Tokens
    path: Path | None = None

    @property
    def size(self) -> int:
        """Return the bytes of the arrays."""
        return 4 * (len(self.tokens) + len(self.keys) + len(self.places))

    def of(self, document: IndexedText) -> Tokens:
        """Return the tokens of a document."""
        return self.tokens[document.first : document.first + document.length]

    def find(self, key: np.uint32, most: int) -> list[int]:
        """Return places behind the tokens that have this key, at most so many, the latest first."""
        first = int(self.keys.searchsorted(key))
        if first == len(self.keys) or self.keys[first] != key:
            return []
        last = int(self.keys.searchsorted(key, "right"))
        places: list[int] = self.places[max(first, last - most) : last][::-1].tolist()
        return places


def make_segment(documents: Iterable[tuple[str, str, Sequence[int] | Tokens]]) -> Segment:
    """Index documents, each as key, version and tokens."""
    parts: list[Tokens] = []
    found: dict[str, IndexedText] = {}
    first = 0
    for key, version, given in documents:
        parts.append(np.append(np.asarray(given, dtype=np.uint32), np.uint32(END)))
        found[key] = IndexedText(version, first, len(parts[-1]) - 1)
        first += len(parts[-1])
    tokens = np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint32)
    keys = _keys(tokens.astype(np.uint64))[:-1] if len(tokens) > ORDER else np.zeros(0, dtype=np.uint32)
    order = np.argsort(keys, kind="stable").astype(np.uint32)
    return Segment(found, tokens, keys[order], order + np.uint32(ORDER))


def key_of(end: Sequence[int]) -> np.uint32:
    """Return the key of the last ORDER tokens of a text."""
    return np.uint32(_keys(np.array(end[-ORDER:], dtype=np.uint64))[0])


def _keys(tokens: NDArray[np.uint64]) -> Tokens:
    """Return a key of each ORDER tokens in a row."""
    count = len(tokens) - ORDER + 1
    mixed = np.zeros(count, dtype=np.uint64)
    for i, factor in enumerate(_FACTORS):
        mixed = (mixed ^ ((tokens[i : i + count] + np.uint64(1)) * factor)) * np.uint64(0x9E3779B97F4A7C15)
    keys: Tokens = (mixed >> np.uint64(32)).astype(np.uint32)
    return keys


def write_segment(segment: Segment, path: Path) -> Segment:
    """Write a segment whole, or not at all; return it with its path. Raises OSError."""
    facts = {
        "format": _FORMAT,
        "tokens": len(segment.tokens),
        "keys": len(segment.keys),
        "documents": [[key, each.version, each.first, each.length] for key, each in segment.documents.items()],
    }
    header = json.dumps(facts).encode() + b"\n"
    arrays = (segment.tokens, segment.keys, segment.places)
    write_whole(path, header + b" " * (-len(header) % 8) + b"".join(each.astype("<u4").tobytes() for each in arrays))
    return Segment(segment.documents, *arrays, path)


def read_segment(path: Path) -> Segment | None:
    """Return the segment of a file, its arrays mapped from it; None if it is damaged or of another version."""
    try:
        with path.open("rb") as file:
            header = file.readline(_MOST_HEADER)
        facts = json.loads(header)
        if facts["format"] != _FORMAT:
            return None
        sizes = [facts["tokens"], facts["keys"], facts["keys"]]
        begin = len(header) + -len(header) % 8
        if min(sizes) < 0 or path.stat().st_size != begin + 4 * sum(sizes):
            return None
        arrays = list(_mapped(path, begin, sizes))
        documents = {str(key): IndexedText(str(version), int(a), int(n)) for key, version, a, n in facts["documents"]}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    tokens, keys, places = arrays
    inside = all(each.first >= 0 and 0 <= each.length <= len(tokens) - each.first for each in documents.values())
    if not inside or (len(places) and int(places.max()) >= len(tokens)) or bool((keys[1:] < keys[:-1]).any()):
        return None
    return Segment(documents, tokens, keys, places, path)


def _mapped(path: Path, begin: int, sizes: Sequence[int]) -> Iterator[Tokens]:
    for size in sizes:
        if size:
            # As a plain array: what numpy has for mapped ones beside is slow.
            yield np.asarray(np.memmap(path, dtype="<u4", mode="r", offset=begin, shape=(size,))).view(np.ndarray)
        else:
            yield np.zeros(0, dtype=np.uint32)
        begin += 4 * size
