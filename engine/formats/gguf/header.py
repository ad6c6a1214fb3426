"""Hold the header of a GGUF file, once it has been read: entries and tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.formats.gguf import types
from engine.formats.text_table import TextTable

Content = int | float | bool | str | None


class Value(NamedTuple):
    """Hold a metadata value. `kind`: its type, for an array that of the elements; `length`: elements, -1 for a scalar.

    `piece`: the number of a long list among the KnownPieces that the header was read with, else 0.
    """

    kind: int
    content: Content
    length: int = -1
    piece: int = 0

    @property
    def is_array(self) -> bool:
        """Return True if this is a list of values."""
        return self.length >= 0


class Elements(NamedTuple):
    """Locate the elements of a list: in `data`, from `start` on; `places`: of texts, counted from `start`."""

    data: bytes
    start: int
    places: NDArray[np.int64] | None


class Tensor(NamedTuple):
    """Describe one tensor of the header. `shape`: the fastest dimension first; `offset`, `size` in bytes."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int
    elements: int
    size: int


class GgufFile:
    """Hold a header that was read whole.

    Attributes: path; size (of the file, in bytes); version; metadata (by key); tensors (by name); data_start (where
    the tensors begin, in bytes).
    """

    def __init__(self, path: Path, size: int, version: int, lists: dict[str, Elements]) -> None:
        self.path = path
        self.size = size
        self.version = version
        self.metadata: dict[str, Value] = {}
        self.tensors: dict[str, Tensor] = {}
        self.data_start = 0
        self._lists = lists

    def value(self, key: str) -> object:
        """Return the single value at `key`, or None."""
        value = self.metadata.get(key)
        return None if value is None else value.content

    def text(self, key: str) -> str | None:
        """Return the string at `key`, or None."""
        value = self.metadata.get(key)
        return value.content if value is not None and isinstance(value.content, str) else None

    def number(self, key: str) -> int | None:
        """Return the whole number at `key`, or None."""
        value = self.metadata.get(key)
        content = None if value is None else value.content
        return content if isinstance(content, int) and not isinstance(content, bool) else None

    def flag(self, key: str) -> bool | None:
        """Return the truth value at `key`, or None."""
        value = self.metadata.get(key)
        return value.content if value is not None and isinstance(value.content, bool) else None

    def numbers(self, key: str) -> NDArray[np.generic] | None:
        """Return the array of numbers at `key`, shape (count,), or None."""
        value = self.metadata.get(key)
        if value is None or not value.is_array or value.kind == types.STRING:
            return None
        kind = np.dtype(f"<{types.VALUE_FORMATS[value.kind]}")
        elements = self._lists[key]
        array: NDArray[np.generic] = np.frombuffer(elements.data, kind, value.length, elements.start)
        return array

    def texts(self, key: str) -> TextTable | None:
        """Return the array of strings at `key`, undecoded, or None."""
        data, start, places = self._lists.get(key, (b"", 0, None))
        if places is None:
            return None
        starts = places + (start + 8)
        lengths = np.diff(starts, append=0) - 8
        if len(starts):
            last = int(starts[-1])
            lengths[-1] = int.from_bytes(data[last - 8 : last], "little")
        return TextTable(data, starts, lengths)

    def strings(self, key: str) -> Iterator[bytes]:
        """Return the array of strings at `key`, one by one, undecoded; nothing if there is none."""
        yield from self.texts(key) or ()

    def raw(self, key: str) -> bytes:
        """Return the bytes of the array of numbers at `key`; none if there is none."""
        array = self.numbers(key)
        return b"" if array is None else array.tobytes()

    def count(self, key: str) -> int | None:
        """Return the number of elements the array at `key` has, or None."""
        value = self.metadata.get(key)
        return value.length if value is not None and value.is_array else None


@dataclass(frozen=True, slots=True)
class Numbers:
    """Read whole numbers at the entries of an architecture: from 0 on, and 0 for missing ones."""

    header: GgufFile
    architecture: str

    def __call__(self, key: str) -> int:
        return max(self.header.number(f"{self.architecture}.{key}") or 0, 0)
