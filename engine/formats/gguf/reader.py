"""Read the header of a GGUF file strictly: every claim is checked before it is believed.

Files come from anywhere, so this reads with plain reads (a mapping of a file that shrinks ends the process), never
allocates more than the file holds, and raises nothing but ModelFileBroken and ModelNotSupported. What it accepts,
llama.cpp's own reader accepts too; whether the contents make a model is asked in engine.formats.gguf.checks.

Source of the layout: the format's specification (ggml, docs/gguf.md), versions 2 and 3.
"""

from __future__ import annotations

import contextlib
import math
import os
import stat
import struct
import sys
from collections.abc import Hashable
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelFileBroken, ModelNotSupported, incomplete
from engine.formats.gguf import types
from engine.formats.gguf.header import Elements, GgufFile, Tensor, Value
from engine.formats.gguf.pieces import LEAST_BYTES, PREFIX, HeaderPiece, KnownPieces, text_places
from engine.translatable import Translatable

__all__ = ["GgufFile", "Tensor", "Value", "read_gguf"]

MAX_HEADER = 256 * 2**20
_MAX_ENTRIES = 65_536
_MAX_STRINGS = 4 * 2**20
_MAX_NAME = 1024
_MAX_TENSOR_NAME = 63
_SHOWN_NAME = 60
_MAX_DIMENSIONS = 4
_MAX_ALIGNMENT = 2**20
_DEFAULT_ALIGNMENT = 32
_LEAST_READ = 2**15

_TENSORS = [struct.Struct(f"<{dimensions}QIQ") for dimensions in range(_MAX_DIMENSIONS + 1)]
"""Shape, type and place of a tensor, by the number of its dimensions."""
_SCALARS = {kind: struct.Struct(f"<{letter}") for kind, letter in types.VALUE_FORMATS.items()}
_CUT_OFF = Translatable("the file is incomplete: it ends within its header. Download or copy it again.")


def read_gguf(path: str | Path, known: KnownPieces | None = None) -> GgufFile:
    """Read a header and check it against the file. Raises ModelFileBroken, ModelNotSupported.

    `known`: what was read before, where many files are read.
    """
    path = Path(path)
    try:
        # Asked before opening: to open a device may do something.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelFileBroken(path, Translatable("it is not a file."))
        with FileIO(path, opener=_open) as file:
            return _Reader(path, file, os.fstat(file.fileno()).st_size, known).read()
    except FileNotFoundError:
        raise ModelFileBroken(path, Translatable("there is no such file.")) from None
    except PermissionError:
        raise ModelFileBroken(
            path, Translatable("Outrider has no permission to read it. Change its permissions.")
        ) from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ModelFileBroken(path, "it cannot be read ({reason}).", reason=reason) from None


def _open(path: str, flags: int) -> int:
    """Open without waiting, should a pipe have taken the file's place, and without the system reading ahead.

    Behind the header are the weights: megabytes of them would be read for nothing, of every file in a folder.
    """
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    return descriptor


class _Placed(NamedTuple):
    """Hold tensors, each in its place; `end`: where the last one ends, in bytes from where the first begins."""

    by_name: dict[str, Tensor]
    end: int


class _Table(NamedTuple):
    """Hold the tensors in a header; `placed`: by the alignment with which they were found to be in their places."""

    tensors: list[Tensor]
    placed: dict[int, _Placed]


class _Reader:
    """Walk through a header once. The part in memory is a window that grows, until a known piece is passed."""

    def __init__(self, path: Path, file: FileIO, size: int, known: KnownPieces | None) -> None:
        self._path = path
        self._file = file
        self._size = size
        self._known = known
        self._windows: list[bytes] = []
        self._lists: dict[str, tuple[HeaderPiece | None, int, int, NDArray[np.int64] | None]] = {}
        self._texts = 0
        self._base = 0
        self._data = b""
        self._position = 0

    def read(self) -> GgufFile:
        """Return the whole header."""
        version = self._read_version()
        tensor_count, value_count = self._u64(), self._u64()
        if max(tensor_count, value_count) > _MAX_ENTRIES:
            raise self._broken(
                "its header claims an impossible number of tensors ({tensor_count}) or entries ({value_count}).",
                tensor_count=tensor_count,
                value_count=value_count,
            )
        metadata: dict[str, Value] = {}
        for _ in range(value_count):
            key = self._name("an entry")
            if key in metadata:
                raise self._broken("the header entry {key!r} occurs twice.", key=_shown(key))
            metadata[key] = self._value(key)
        table = self._tensors(tensor_count)
        alignment = self._alignment(metadata)
        header = GgufFile(self._path, self._size, version, self._elements())
        header.metadata = metadata
        header.data_start = _padded(self._base + self._position, alignment)
        placed = table.placed.get(alignment)
        if placed is None or header.data_start + placed.end > self._size:
            placed = self._placed(table.tensors, alignment, header.data_start)
            table.placed[alignment] = placed
        header.tensors = placed.by_name
        return header

    def _read_version(self) -> int:
        if self._size == 0:
            raise self._broken(Translatable("it is empty. Download or copy it again."))
        if self._size < 4 or self._bytes(4) != b"GGUF":
            raise self._broken(Translatable("it is not a GGUF file."))
        version = self._u32()
        if version in (2, 3):
            return version
        if version == 1:
            raise ModelNotSupported(
                self._path, Translatable("it has version 1 of the GGUF format. Convert the model again.")
            )
        if version & 0xFFFF == 0 and version >> 24 in (1, 2, 3):
            raise ModelNotSupported(
                self._path, Translatable("it was written for big-endian machines. Convert the model again.")
            )
        raise self._broken(
            "its header claims version {version} of the GGUF format, which this version of Outrider does not know.",
            version=version,
        )

    def _broken(self, reason: str, /, **fields: object) -> ModelFileBroken:
        return ModelFileBroken(self._path, reason, **fields)

    def _take(self, count: int) -> int:
        """Advance by `count` bytes; return the place where they begin."""
        start = self._position
        end = start + count
        self._fill(end)
        self._position = end
        return start

    def _fill(self, end: int) -> None:
        """Read the window up to `end` into memory."""
        if end <= len(self._data):
            return
        if self._base + end > self._size:
            raise self._broken(_CUT_OFF)
        if self._base + end > MAX_HEADER:
            raise self._broken(Translatable("its header is larger than that of any model."))
        most = min(self._size, MAX_HEADER) - self._base
        missing = min(max(end, 2 * len(self._data), _LEAST_READ), most) - len(self._data)
        parts = [self._data]
        while missing > 0 and (part := self._file.read(missing)):
            parts.append(part)
            missing -= len(part)
        self._data = b"".join(parts)
        if end > len(self._data):
            raise self._broken(_CUT_OFF)

    def _bytes(self, count: int) -> bytes:
        start = self._take(count)
        return self._data[start : start + count]

    def _unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        start = self._take(form.size)
        return form.unpack_from(self._data, start)

    def _u32(self) -> int:
        start = self._take(4)
        return int.from_bytes(self._data[start : start + 4], "little")

    def _u64(self) -> int:
        start = self._take(8)
        return int.from_bytes(self._data[start : start + 8], "little")

    def _string(self) -> bytes:
        return self._bytes(self._u64())

    def _name(self, what: str) -> str:
        length = self._u64()
        if not 0 < length <= _MAX_NAME:
            raise self._broken("the name of {what} in its header is damaged.", what=what)
        try:
            return self._bytes(length).decode()
        except UnicodeDecodeError:
            raise self._broken("the name of {what} in its header is damaged.", what=what) from None

    def _value(self, key: str) -> Value:
        kind = self._u32()
        if kind == types.STRING:
            try:
                return Value(kind, self._string().decode())
            except UnicodeDecodeError:
                raise self._broken("the header entry {key!r} is not valid text.", key=_shown(key)) from None
        if kind == types.ARRAY:
            return self._array(key)
        number = _SCALARS.get(kind)
        if number is None:
            raise self._broken("the header entry {key!r} has the unknown type {kind}.", key=_shown(key), kind=kind)
        content: int | float = self._unpack(number)[0]
        return Value(kind, content != 0 if kind == types.BOOL else content)

    def _array(self, key: str) -> Value:
        kind = self._u32()
        count = self._u64()
        window, start = len(self._windows), self._position
        piece, places = self._known_piece((kind, count)), None
        if piece is None and kind == types.STRING:
            self._texts += count
            if self._texts > _MAX_STRINGS:
                raise self._broken(
                    "the header entry {key!r} claims an impossible number of strings ({count}).",
                    key=_shown(key),
                    count=count,
                )
            places = self._skip_texts(count) - start
            piece = self._remember((kind, count), start, places)
        elif piece is None:
            if kind not in types.VALUE_SIZES:
                raise self._broken(
                    "the header entry {key!r} is a list of the unknown type {kind}.", key=_shown(key), kind=kind
                )
            self._take(count * types.VALUE_SIZES[kind])
            piece = self._remember((kind, count), start, None)
        self._lists[key] = (piece, window, start, places)
        return Value(kind, None, count, 0 if piece is None else piece.number)

    def _elements(self) -> dict[str, Elements]:
        windows = [*self._windows, self._data]
        return {
            key: Elements(windows[window], start, places) if piece is None else Elements(piece.body, 0, piece.content)
            for key, (piece, window, start, places) in self._lists.items()
        }

    def _known_piece(self, kind: Hashable) -> HeaderPiece | None:
        """Return a piece that was read before and stands here again, and pass it; None if there is none."""
        if self._known is None or not self._known.has(kind):
            return None
        start = self._position
        left = min(self._size, MAX_HEADER) - self._base - start
        self._fill(start + min(PREFIX, left))
        for piece in self._known.alike(kind, self._data, start):
            if len(piece.body) <= left and self._stands_here(piece, self._known.buffer):
                return piece
        return None

    def _stands_here(self, piece: HeaderPiece, buffer: memoryview) -> bool:
        """Advance past a piece if it comes next. Bytes outside the window are compared as they are read, not kept."""
        body, start = piece.body, self._position
        here = self._data[start : start + len(body)]
        if not body.startswith(here):
            return False
        done = len(here)
        if done == len(body):
            self._position += done
            return True
        while done < len(body):
            count = self._file.readinto(buffer[: len(body) - done])
            if not count or not body.startswith(buffer[:count], done):
                self._file.seek(self._base + len(self._data))
                return False
            done += count
        self._windows.append(self._data)
        self._base += start + done
        self._data, self._position = b"", 0
        return True

    def _remember(self, kind: Hashable, start: int, content: object) -> HeaderPiece | None:
        if self._known is None or self._position - start < LEAST_BYTES:
            return None
        return self._known.add(kind, self._data[start : self._position], content)

    def _skip_texts(self, count: int) -> NDArray[np.int64]:
        """Advance past so many texts; return the places where they begin."""
        found: list[NDArray[np.int64]] = []
        while count:
            places, self._position = text_places(self._data, self._position, count)
            if not len(places):
                # The next text is not in memory yet.
                places = np.array([self._position], np.int64)
                self._take(self._u64())
            found.append(places)
            count -= len(places)
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    def _tensors(self, count: int) -> _Table:
        start = self._position
        piece = self._known_piece(("tensors", count))
        if piece is not None:
            known: _Table = piece.content
            return known
        table = _Table([self._tensor() for _ in range(count)], {})
        self._remember(("tensors", count), start, table)
        return table

    def _tensor(self) -> Tensor:
        name = self._name("a tensor")
        if len(name) > _MAX_TENSOR_NAME or len(name.encode()) > _MAX_TENSOR_NAME:
            raise self._broken("the name of the tensor {name!r} is too long.", name=name[:80])
        dimensions = self._u32()
        if dimensions > _MAX_DIMENSIONS:
            raise self._broken(
                "the tensor {name!r} claims an impossible number of dimensions ({dimensions}).",
                name=name,
                dimensions=dimensions,
            )
        *shape, kind, offset = self._unpack(_TENSORS[dimensions])
        layout = types.TENSOR_TYPES.get(kind)
        if layout is None:
            raise self._broken("the tensor {name!r} has the unknown type {kind}.", name=name, kind=kind)
        elements = math.prod(shape)
        if not 0 < elements < 2**62:
            raise self._broken("the tensor {name!r} claims the impossible shape {shape}.", name=name, shape=shape)
        if (shape and shape[0] % layout.block) or (layout.block > 1 and not shape):
            raise self._broken(
                "the rows of the tensor {name!r} do not divide into whole {layout} blocks.",
                name=name,
                layout=layout.name,
            )
        return Tensor(name, tuple(shape), kind, offset, elements, elements // layout.block * layout.size)

    def _alignment(self, metadata: dict[str, Value]) -> int:
        value = metadata.get("general.alignment")
        if value is None:
            return _DEFAULT_ALIGNMENT
        alignment = value.content
        if value.kind != types.UINT32 or not isinstance(alignment, int):
            raise self._broken(Translatable("its alignment is not a number."))
        if not 0 < alignment <= _MAX_ALIGNMENT or alignment & (alignment - 1):
            raise self._broken("its alignment is {alignment}, which is not a power of two.", alignment=alignment)
        return alignment

    def _placed(self, tensors: list[Tensor], alignment: int, start: int) -> _Placed:
        """Return the tensors by name, each found in its place: one after the other, padded, within the file."""
        by_name: dict[str, Tensor] = {}
        expected = end = 0
        for tensor in tensors:
            if tensor.name in by_name:
                raise self._broken("the tensor {name!r} occurs twice.", name=tensor.name)
            if tensor.offset != expected:
                raise self._broken("the tensor {name!r} has the wrong offset.", name=tensor.name)
            end = expected + tensor.size
            if start + end > self._size:
                whole = sum(_padded(each.size, alignment) for each in tensors[:-1]) + tensors[-1].size
                raise self._broken(incomplete(start + whole - self._size))
            by_name[tensor.name] = tensor
            expected = _padded(end, alignment)
        return _Placed(by_name, end)


def _padded(size: int, alignment: int) -> int:
    return (size + alignment - 1) & -alignment


def _shown(key: str) -> str:
    """Shorten a key for a sentence: damaged ones run on for a thousand bytes."""
    return key if len(key) <= _SHOWN_NAME else f"{key[:_SHOWN_NAME]}…"
