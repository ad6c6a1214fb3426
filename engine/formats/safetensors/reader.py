"""Read headers of safetensors files strictly: names, formats, shapes and places of the tensors, no tensor itself.

Files come from anywhere, so nothing that a header claims is believed before it is checked against the file, and
nothing is raised but ModelFileBroken and ModelNotSupported. What this accepts, the safetensors library accepts too.

Source of the layout: the format's description (huggingface/safetensors, README, "Format"): eight bytes with the
length of the header, little-endian; the header, a JSON object; the tensors, without gaps between them.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from engine.errors import ModelFileBroken, ModelNotSupported, incomplete
from engine.translatable import Translatable

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
MAX_HEADER = 100_000_000
"""Bytes: the format's own limit."""
_MAX_INDEX = 64 * 2**20
_MAX_TENSORS = 1_000_000
_MAX_PARTS = 4096
_MAX_DIMENSIONS = 16
_LENGTH_BYTES = 8
PICKLED = (".bin", ".pt", ".pth", ".ckpt")
_PART = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")

FUSION = "fc.weight"
"""The layer that joins a token and the state before it in heads of EAGLE's kind: no model has such a tensor."""
_AT_FIRST_SIGHT = 2**17
"""Bytes: a head of a few layers has some twenty tensors."""

_NAMES_BY_BITS = {
    4: ("F4",),
    6: ("F6_E2M3", "F6_E3M2"),
    8: ("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"),
    16: ("U16", "I16", "F16", "BF16"),
    32: ("U32", "I32", "F32"),
    64: ("U64", "I64", "F64", "C64"),
}
BITS = {name: bits for bits, names in _NAMES_BY_BITS.items() for name in names}
"""Bits of one element, by the name of its number format in a header."""


class StoredTensor(NamedTuple):
    """Describe one tensor of a header. `shape`: rows first; `offset` in the file and `size` in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    size: int

    @property
    def elements(self) -> int:
        """Number of its elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class SafetensorsFile:
    """Hold a header that was read whole. `size`: of the file, in bytes; `metadata`: the texts that came with it."""

    path: Path
    size: int
    tensors: dict[str, StoredTensor] = field(repr=False)
    metadata: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class SafetensorsModel:
    """Hold the tensors of a model in a folder, from the headers of all its files.

    `files`: in the order of their names; `tensors`: by name; `size_bytes`: of all files; `weight_bytes`: of the
    tensors; `parameters`: number of their elements; `dtype`: the number format of most of the bytes.
    """

    folder: Path
    files: tuple[Path, ...]
    tensors: dict[str, StoredTensor] = field(repr=False)
    size_bytes: int

    @property
    def weight_bytes(self) -> int:
        """Return bytes of all tensors."""
        return sum(tensor.size for tensor in self.tensors.values())

    @property
    def parameters(self) -> int:
        """Number of elements of all tensors."""
        return sum(tensor.elements for tensor in self.tensors.values())

    @property
    def dtype(self) -> str:
        """Return the number format of most of the bytes, such as F32 or BF16."""
        sizes: dict[str, int] = {}
        for tensor in self.tensors.values():
            sizes[tensor.dtype] = sizes.get(tensor.dtype, 0) + tensor.size
        return max(sizes, key=lambda dtype: sizes[dtype], default="")


def model_folder(path: str | Path) -> Path | None:
    """Return the folder of the safetensors model that a path means (the folder, or a weights file in it).

    It gives None if there is none.
    """
    path = Path(path)
    folder = path.parent if path.suffix.lower() == ".safetensors" and not path.is_dir() else path
    return folder if (folder / "config.json").is_file() else None


def is_there(path: Path) -> bool:
    """Return True if something is there that may be looked at.

    Never raises; Path.exists does in a folder without rights.
    """
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def read_safetensors_model(folder: str | Path) -> SafetensorsModel:
    """Return the tensors of a model: one file, or the parts that an index names.

    Raises ModelFileBroken (a part is missing or damaged, the index does not fit the parts), ModelNotSupported (weights
    that are pickled, which can run code, or none at all).
    """
    folder = Path(folder)
    weight_map = None
    if is_there(folder / SINGLE):
        names = [SINGLE]
    elif is_there(folder / INDEX):
        weight_map = _weight_map(folder / INDEX)
        names = sorted(set(weight_map.values()))
    else:
        raise ModelNotSupported(folder, _without_weights(folder))
    files = [read_safetensors(folder / name) for name in names]
    tensors: dict[str, StoredTensor] = {}
    for file in files:
        wanted = (name for name in file.tensors if weight_map is None or weight_map.get(name) == file.path.name)
        tensors |= {name: file.tensors[name] for name in wanted}
    for name, part in (weight_map or {}).items():
        if name not in tensors:
            raise ModelFileBroken(
                folder, "its part {part} lacks the tensor {name!r}. Download the model again.", part=part, name=name
            )
    if not tensors:
        raise ModelFileBroken(folder, Translatable("its files have no tensors."))
    return SafetensorsModel(folder, tuple(file.path for file in files), tensors, sum(file.size for file in files))


def read_safetensors(path: str | Path) -> SafetensorsFile:
    """Read a header and check it against the file. Raises ModelFileBroken, ModelNotSupported."""
    path = Path(path)
    try:
        # Asked before opening: to open a pipe is to wait for its other end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ModelFileBroken(path, Translatable("it is not a file."))
        with path.open("rb") as file:
            return _read(path, file, os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        raise ModelFileBroken(path, Translatable("there is no such file. Download the model again.")) from None
    except PermissionError:
        raise ModelFileBroken(
            path, Translatable("Outrider has no permission to read it. Change its permissions.")
        ) from None
    except (OSError, ValueError) as error:
        # An index may name what is no name of a file at all.
        reason = error.strerror if isinstance(error, OSError) else None
        raise ModelFileBroken(path, "it cannot be read ({reason}).", reason=reason or error) from None


def read_json(path: Path, most: int = _MAX_INDEX) -> dict[str, Any]:
    """Return the object in a JSON file of at most `most` bytes. Raises ModelFileBroken."""
    try:
        if not stat.S_ISREG(path.stat().st_mode) or path.stat().st_size > most:
            raise ModelFileBroken(path, Translatable("it is not a JSON file of a model."))
        loaded = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ModelFileBroken(path, Translatable("there is no such file.")) from None
    except OSError as error:
        raise ModelFileBroken(path, "it cannot be read ({reason}).", reason=error.strerror or error) from None
    except (ValueError, RecursionError):
        raise ModelFileBroken(path, Translatable("it is not valid JSON. Download or copy it again.")) from None
    if not isinstance(loaded, dict):
        raise ModelFileBroken(path, Translatable("it is not a JSON object. Download or copy it again."))
    return loaded


def names_at_first_sight(folder: Path) -> frozenset[str]:
    """Return the tensor names at the beginning of a folder's single file of weights, despite other defects.

    If there are pickled files only, which are not unpickled: FUSION, if one contains it. Empty if the header is not
    read, like the long ones of models.
    """
    beginning = _beginning(folder / SINGLE)
    if beginning:
        length = int.from_bytes(beginning[:_LENGTH_BYTES], "little")
        try:
            header = json.loads(beginning[_LENGTH_BYTES : _LENGTH_BYTES + length])
        except (ValueError, RecursionError):
            return frozenset()
        return frozenset(header) if isinstance(header, dict) else frozenset()
    # As protocols 2 and 3 of pickle write a text: X, the length in four bytes, the text.
    written = b"X" + len(FUSION).to_bytes(4, "little") + FUSION.encode()
    try:
        names = (
            [] if is_there(folder / INDEX) else [path for path in folder.iterdir() if path.suffix.lower() in PICKLED]
        )
    except OSError:
        return frozenset()
    return frozenset([FUSION] if any(written in _beginning(path) for path in names) else [])


def _beginning(path: Path) -> bytes:
    """Return the first bytes of a file, none if it cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return b""
        with path.open("rb") as file:
            return file.read(_AT_FIRST_SIGHT)
    except (OSError, ValueError):
        return b""


def _without_weights(folder: Path) -> str:
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError:
        names = []
    pickled = next((name for name in names if name.lower().endswith(PICKLED)), None)
    if pickled is not None:
        return Translatable(
            "its weights are pickled ({pickled}), and reading such files can run code. Convert them to "
            "safetensors, or download a safetensors version.",
            pickled=pickled,
        )
    if "adapter_config.json" in names:
        return Translatable("it is an adapter for a model, not a model of its own.")
    if any(map(_PART.fullmatch, names)):
        return Translatable("its weights are in several files, but {index}, which lists them, is missing.", index=INDEX)
    other = next((name for name in names if name.lower().endswith(".safetensors")), None)
    if other is not None:
        return Translatable(
            "its weights ({other}) do not have the names that transformers expects: {single} or {index}.",
            other=other,
            single=SINGLE,
            index=INDEX,
        )
    return Translatable("it has no weights: there is neither {single} nor {index}.", single=SINGLE, index=INDEX)


def _weight_map(path: Path) -> dict[str, str]:
    """Map each tensor to its file, from an index; only files of the same folder."""
    found = read_json(path).get("weight_map")
    if not isinstance(found, dict) or not found:
        raise ModelFileBroken(path, Translatable("it does not say where the tensors are. Download or copy it again."))
    for name in found.values():
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
            raise ModelFileBroken(
                path, "it names {name!r}, which is not a safetensors file in the folder.", name=str(name)[:80]
            )
    if len(set(found.values())) > _MAX_PARTS or len(found) > _MAX_TENSORS:
        raise ModelFileBroken(path, Translatable("it names more files and tensors than any model has."))
    return found


def _read(path: Path, file: BinaryIO, size: int) -> SafetensorsFile:
    if size == 0:
        raise ModelFileBroken(path, Translatable("it is empty. Download or copy it again."))
    beginning = file.read(_LENGTH_BYTES + 1)
    length = int.from_bytes(beginning[:_LENGTH_BYTES], "little")
    if size <= _LENGTH_BYTES or not 2 <= length <= MAX_HEADER or beginning[_LENGTH_BYTES:] != b"{":
        raise ModelFileBroken(path, Translatable("it is not a safetensors file. Download or copy it again."))
    start = _LENGTH_BYTES + length
    if start > size:
        raise ModelFileBroken(
            path, Translatable("the file is incomplete: it ends within its header. Download or copy it again.")
        )
    try:
        header = json.loads(beginning[_LENGTH_BYTES:] + file.read(length - 1), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        raise ModelFileBroken(path, Translatable("its header is damaged. Download or copy it again.")) from None
    metadata = header.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise ModelFileBroken(path, Translatable("its header is damaged. Download or copy it again."))
    if len(header) > _MAX_TENSORS:
        raise ModelFileBroken(path, "its header claims an impossible number of tensors ({header}).", header=len(header))
    tensors = {name: _tensor(path, name, entry, start) for name, entry in header.items()}
    _check_places(path, tensors, start, size)
    return SafetensorsFile(path, size, tensors, metadata)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _tensor(path: Path, name: str, entry: object, start: int) -> StoredTensor:
    if not isinstance(entry, dict):
        raise ModelFileBroken(
            path, "its header is damaged at the tensor {name!r}. Download or copy it again.", name=name[:80]
        )
    dtype, shape, offsets = entry.get("dtype"), _sizes(entry.get("shape")), _sizes(entry.get("data_offsets"))
    if not isinstance(dtype, str) or shape is None or offsets is None or len(offsets) != 2:
        raise ModelFileBroken(
            path, "its header is damaged at the tensor {name!r}. Download or copy it again.", name=name[:80]
        )
    if dtype not in BITS:
        raise ModelNotSupported(
            path, "its tensor {name!r} has the unknown number format {dtype!r}.", name=name[:80], dtype=dtype[:20]
        )
    begin, end = offsets
    bits = math.prod(shape) * BITS[dtype]
    if end < begin or bits != 8 * (end - begin):
        raise ModelFileBroken(
            path,
            "the tensor {name!r} has {count} bytes, which does not match its shape {shape}. Download or copy it again.",
            name=name[:80],
            count=end - begin,
            shape=list(shape),
        )
    return StoredTensor(name, dtype, shape, start + begin, end - begin)


def _sizes(value: object) -> tuple[int, ...] | None:
    """Return a list of whole numbers from 0 on, as lengths and places are; None if it is not that."""
    if not isinstance(value, list) or len(value) > _MAX_DIMENSIONS:
        return None
    good = all(isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**62 for number in value)
    return tuple(value) if good else None


def _check_places(path: Path, tensors: dict[str, StoredTensor], start: int, size: int) -> None:
    """Check that the tensors lie one behind the other and end with the file."""
    expected = start
    for tensor in sorted(tensors.values(), key=lambda tensor: (tensor.offset, tensor.size)):
        if tensor.offset != expected:
            raise ModelFileBroken(
                path, "the tensor {name!r} has the wrong offset. Download or copy it again.", name=tensor.name[:80]
            )
        expected += tensor.size
    if expected > size:
        raise ModelFileBroken(path, incomplete(expected - size))
    if expected < size:
        raise ModelFileBroken(
            path, "it has {count} extra bytes after its tensors. Download or copy it again.", count=size - expected
        )
