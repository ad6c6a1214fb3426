"""The header of a GGUF file, read strictly: nothing that it claims is believed before it is checked.

Files come from anywhere, so this reads with plain reads (a mapping of a file that shrinks ends the process), never
allocates more than the file holds, and raises nothing but ModelFileBroken and ModelNotSupported. What it accepts,
llama.cpp's own reader accepts too; whether the contents make a model is asked in engine.gguf_checks.

Source of the layout: the format's specification (ggml, docs/gguf.md), versions 2 and 3.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine import gguf_types as types
from engine.errors import ModelFileBroken, ModelNotSupported

MAX_HEADER = 256 * 2**20
_MAX_ENTRIES = 65_536
_MAX_STRINGS = 4 * 2**20
_MAX_NAME = 1024
_MAX_TENSOR_NAME = 63
_MAX_DIMENSIONS = 4
_MAX_ALIGNMENT = 2**20
_DEFAULT_ALIGNMENT = 32
_FIRST_READ = 2**18

_SCALARS = {kind: struct.Struct(f"<{letter}") for kind, letter in types.VALUE_FORMATS.items()}
_CUT_OFF = "it ends in the middle of its header, as if it had been cut off. Download or copy it again."

Content = int | float | bool | str | None


class Value(NamedTuple):
    """A metadata value. `kind`: its type, for an array that of the elements; `length`: elements, or -1 for a scalar."""

    kind: int
    content: Content
    length: int = -1
    start: int = 0

    @property
    def is_array(self) -> bool:
        """Whether this is a list of values."""
        return self.length >= 0


class Tensor(NamedTuple):
    """What the header says of one tensor. `shape`: the fastest dimension first; `offset`, `size` in bytes."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int
    elements: int
    size: int


class GgufFile:
    """A header that was read whole.

    Attributes: path; size (of the file, in bytes); version; metadata (by key); tensors (by name); data_start (where
    the tensors begin, in bytes).
    """

    def __init__(self, path: Path, size: int, version: int, data: bytes) -> None:
        self.path = path
        self.size = size
        self.version = version
        self.metadata: dict[str, Value] = {}
        self.tensors: dict[str, Tensor] = {}
        self.data_start = 0
        self._data = data

    def text(self, key: str) -> str | None:
        """The string at `key`, or None."""
        value = self.metadata.get(key)
        return value.content if value is not None and isinstance(value.content, str) else None

    def number(self, key: str) -> int | None:
        """The whole number at `key`, or None."""
        value = self.metadata.get(key)
        content = None if value is None else value.content
        return content if isinstance(content, int) and not isinstance(content, bool) else None

    def flag(self, key: str) -> bool | None:
        """The truth value at `key`, or None."""
        value = self.metadata.get(key)
        return value.content if value is not None and isinstance(value.content, bool) else None

    def numbers(self, key: str) -> NDArray[np.generic] | None:
        """The array of numbers at `key`, shape (count,), or None."""
        value = self.metadata.get(key)
        if value is None or not value.is_array or value.kind == types.STRING:
            return None
        kind = np.dtype(f"<{types.VALUE_FORMATS[value.kind]}")
        array: NDArray[np.generic] = np.frombuffer(self._data, kind, value.length, value.start)
        return array

    def strings(self, key: str) -> Iterator[bytes]:
        """The array of strings at `key`, one by one, undecoded; nothing if there is none."""
        value = self.metadata.get(key)
        if value is None or not value.is_array or value.kind != types.STRING:
            return
        data, position = self._data, value.start
        for _ in range(value.length):
            end = position + 8 + int.from_bytes(data[position : position + 8], "little")
            yield data[position + 8 : end]
            position = end

    def count(self, key: str) -> int | None:
        """How many elements the array at `key` has, or None."""
        value = self.metadata.get(key)
        return value.length if value is not None and value.is_array else None


def read_gguf(path: str | Path) -> GgufFile:
    """Read a header and check it against the file. Raises ModelFileBroken, ModelNotSupported."""
    path = Path(path)
    try:
        # Asked before opening: to open a pipe is to wait for its other end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelFileBroken(path, "it is not a file.")
        with path.open("rb") as file:
            return _Reader(path, file, os.fstat(file.fileno()).st_size).read()
    except FileNotFoundError:
        raise ModelFileBroken(path, "there is no such file.") from None
    except PermissionError:
        raise ModelFileBroken(path, "this program may not read it. Change its permissions.") from None
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise ModelFileBroken(path, f"it cannot be read ({reason}).") from None


class _Reader:
    """Walks through a header once, reading the file in growing pieces."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self._path = path
        self._file = file
        self._size = size
        self._data = b""
        self._position = 0

    def read(self) -> GgufFile:
        """The whole header."""
        version = self._read_version()
        tensor_count, value_count = self._u64(), self._u64()
        if max(tensor_count, value_count) > _MAX_ENTRIES:
            raise self._broken(f"its header claims {tensor_count} tensors and {value_count} entries.")
        metadata: dict[str, Value] = {}
        for _ in range(value_count):
            key = self._name("an entry")
            if key in metadata:
                raise self._broken(f"the header entry {key!r} occurs twice.")
            metadata[key] = self._value(key)
        tensors = [self._tensor() for _ in range(tensor_count)]
        alignment = self._alignment(metadata)
        header = GgufFile(self._path, self._size, version, self._data[: self._position])
        header.metadata = metadata
        header.data_start = _padded(self._position, alignment)
        header.tensors = self._placed(tensors, alignment, header.data_start)
        return header

    def _read_version(self) -> int:
        if self._size == 0:
            raise self._broken("it is empty. Download or copy it again.")
        if self._size < 4 or self._bytes(4) != b"GGUF":
            raise self._broken("it is not a GGUF file.")
        version = self._u32()
        if version in (2, 3):
            return version
        if version == 1:
            raise ModelNotSupported(self._path, "it has version 1 of the GGUF format. Convert the model again.")
        if version & 0xFFFF == 0 and version >> 24 in (1, 2, 3):
            raise ModelNotSupported(self._path, "it was written for big-endian machines. Convert the model again.")
        raise self._broken(f"its header claims version {version} of the GGUF format, which is unknown here.")

    def _broken(self, reason: str) -> ModelFileBroken:
        return ModelFileBroken(self._path, reason)

    def _take(self, count: int) -> int:
        """Go on by `count` bytes; where they begin."""
        start = self._position
        end = start + count
        if end > len(self._data):
            self._fetch(end)
        self._position = end
        return start

    def _fetch(self, end: int) -> None:
        if end > self._size:
            raise self._broken(_CUT_OFF)
        if end > MAX_HEADER:
            raise self._broken("its header is larger than any model's.")
        wanted = min(self._size, MAX_HEADER, max(end, 2 * len(self._data), _FIRST_READ))
        self._data += self._file.read(wanted - len(self._data))
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
            raise self._broken(f"the name of {what} in its header is damaged.")
        try:
            return self._bytes(length).decode()
        except UnicodeDecodeError:
            raise self._broken(f"the name of {what} in its header is damaged.") from None

    def _value(self, key: str) -> Value:
        kind = self._u32()
        if kind == types.STRING:
            try:
                return Value(kind, self._string().decode())
            except UnicodeDecodeError:
                raise self._broken(f"the header entry {key!r} is not valid text.") from None
        if kind == types.ARRAY:
            return self._array(key)
        number = _SCALARS.get(kind)
        if number is None:
            raise self._broken(f"the header entry {key!r} has the unknown type {kind}.")
        content: int | float = self._unpack(number)[0]
        return Value(kind, content != 0 if kind == types.BOOL else content)

    def _array(self, key: str) -> Value:
        kind = self._u32()
        count = self._u64()
        start = self._position
        if kind == types.STRING:
            if count > _MAX_STRINGS:
                raise self._broken(f"the header entry {key!r} claims {count} texts.")
            self._skip_strings(count)
        elif kind in types.VALUE_SIZES:
            self._take(count * types.VALUE_SIZES[kind])
        else:
            raise self._broken(f"the header entry {key!r} is a list of the unknown type {kind}.")
        return Value(kind, None, count, start)

    def _skip_strings(self, count: int) -> None:
        data, position = self._data, self._position
        filled = len(data)
        for _ in range(count):
            end = position + 8
            if end <= filled:
                end += int.from_bytes(data[position:end], "little")
            if end > filled:
                self._position = position
                self._take(self._length_at(position))
                data, end = self._data, self._position
                filled = len(data)
            position = end
        self._position = position

    def _length_at(self, position: int) -> int:
        """Bytes of the string that begins there, its length included."""
        length = self._u64()
        self._position = position
        return 8 + length

    def _tensor(self) -> Tensor:
        name = self._name("a tensor")
        if len(name.encode()) > _MAX_TENSOR_NAME:
            raise self._broken(f"the name of the tensor {name[:80]!r} is too long.")
        dimensions = self._u32()
        if dimensions > _MAX_DIMENSIONS:
            raise self._broken(f"the tensor {name!r} claims {dimensions} dimensions.")
        shape = tuple(self._u64() for _ in range(dimensions))
        kind, offset = self._u32(), self._u64()
        layout = types.TENSOR_TYPES.get(kind)
        if layout is None:
            raise self._broken(f"the tensor {name!r} has the unknown type {kind}.")
        elements = 1
        for length in shape:
            elements *= length
        if not 0 < elements < 2**62:
            raise self._broken(f"the tensor {name!r} claims the shape {list(shape)}.")
        if (shape and shape[0] % layout.block) or (layout.block > 1 and not shape):
            raise self._broken(f"the rows of the tensor {name!r} are no whole blocks of {layout.name}.")
        return Tensor(name, shape, kind, offset, elements, elements // layout.block * layout.size)

    def _alignment(self, metadata: dict[str, Value]) -> int:
        value = metadata.get("general.alignment")
        if value is None:
            return _DEFAULT_ALIGNMENT
        alignment = value.content
        if value.kind != types.UINT32 or not isinstance(alignment, int):
            raise self._broken("its alignment is not a number.")
        if not 0 < alignment <= _MAX_ALIGNMENT or alignment & (alignment - 1):
            raise self._broken(f"its alignment is {alignment}, which is no power of two.")
        return alignment

    def _placed(self, tensors: list[Tensor], alignment: int, start: int) -> dict[str, Tensor]:
        """The tensors by name, each found in its place: one after the other, padded, within the file."""
        by_name: dict[str, Tensor] = {}
        expected = 0
        for tensor in tensors:
            if tensor.name in by_name:
                raise self._broken(f"the tensor {tensor.name!r} occurs twice.")
            if tensor.offset != expected:
                raise self._broken(f"the tensor {tensor.name!r} is not where it should be.")
            if start + expected + tensor.size > self._size:
                missing = start + expected + tensor.size - self._size
                raise self._broken(
                    f"it is cut off: the tensor {tensor.name!r} reaches {missing} bytes past its end. "
                    "Download or copy it again."
                )
            by_name[tensor.name] = tensor
            expected = _padded(expected + tensor.size, alignment)
        return by_name


def _padded(size: int, alignment: int) -> int:
    return (size + alignment - 1) & -alignment
