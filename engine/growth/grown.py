"""Make grown models, keep them in the user's cache, and find those that are there already.

The large model writes the text that the small one writes at the same quantisation, at the cost of a real model of its
size (see arithmetic.py for how). With the demo draft, the grown demo target is a pair that behaves like the demo pair
and costs like a real one.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from os import getpid
from pathlib import Path

import gguf
import numpy as np
import psutil

from engine.errors import GrowthError
from engine.growth.arithmetic import FULL, SEED, Growing, GrownKind, GrownShape, Growth, Kind, SmallModel
from engine.growth.transformers_folder import write_folder
from engine.library.names import bundled_pair
from engine.system import cache_files
from engine.translatable import Translatable

_RECIPE = 1
"""Raise it when the contents change, so that older files are not taken for the same."""
KINDS: dict[str, tuple[Kind, gguf.LlamaFileType]] = {
    "q8_0": (Kind.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
    "q4_0": (Kind.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0),
    "f16": (Kind.F16, gguf.LlamaFileType.MOSTLY_F16),
    "transformers": (Kind.F32, gguf.LlamaFileType.ALL_F32),
}
_SPARE = 64 * 2**20
"""Bytes of free space beyond the weights: the tokenizer, and the file system's own needs."""


def cache_folder() -> Path:
    """Return the default folder of grown models."""
    return cache_files.cache_folder() / "benchmarks"


def grown_target(
    kind: GrownKind,
    shape: GrownShape = FULL,
    *,
    folder: Path | None = None,
    target: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Return the grown model of that kind, made if it is missing: a GGUF file, or a folder for transformers.

    `target` is what is grown (the demo target), `folder` where the result is kept (the user's cache). The name holds a
    digest of everything that it was made from. With the target's own shape it is the target itself in that kind.
    Raises GrowthError.
    """
    target = bundled_pair()[0] if target is None else target
    growth = Growth(SmallModel(target), shape, KINDS[kind][0])
    folder = cache_folder() if folder is None else folder
    path = folder / name_of(growth, kind)
    if path.exists():
        return path
    say(f"growing {target.name} to {growth.parameters:,} weights, {growth.size / 1e9:.2f} GB…")
    make_file(growth.size, path, writer_of(growth, kind))
    return path


def name_of(growth: Growth, kind: GrownKind) -> str:
    """Return the file name of a grown model; it holds a digest of all its inputs."""
    return file_name(growth.small.path, growth.shape, kind)


def file_name(small: Path, shape: GrownShape, kind: GrownKind, *more: object, note: str = "") -> str:
    """Return the name of a model grown from a file. `more`: its other inputs; `note`: beside its shape."""
    digest = hashlib.sha256(small.read_bytes())
    digest.update(repr((_RECIPE, SEED, kind, shape)).encode())
    if more:
        digest.update(repr(more).encode())
    ending = "" if kind == "transformers" else ".gguf"
    return f"{small.name.partition('.')[0]}-{shape}{note}-{kind}-{digest.hexdigest()[:12]}{ending}"


def writer_of(growth: Growing, kind: GrownKind) -> Callable[[Path], None]:
    """Return the writer of files, or folders, of that kind."""
    if kind == "transformers" and isinstance(growth, Growth):
        return partial(write_folder, growth)
    return partial(_write_gguf, growth, KINDS[kind][1])


def make_file(size: int, path: Path, write: Callable[[Path], None]) -> None:
    """Write to a temporary name beside `path`, then rename: a file of the final name is whole."""
    part = path.with_name(f"{path.name}.{getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        free = shutil.disk_usage(path.parent).free
        needed = size + _SPARE
        if free < needed:
            raise GrowthError(
                Translatable(
                    "The grown model needs {needed:.2f} GB and there are {free:.2f} GB free in {folder}. Make room.",
                    needed=needed / 1e9,
                    free=free / 1e9,
                    folder=path.parent,
                )
            )
        write(part)
        with suppress(FileExistsError):
            part.rename(path)
    except OSError as error:
        if not path.exists():
            reason = error.strerror or str(error)
            raise GrowthError(Translatable("{path} cannot be written: {reason}.", path=path, reason=reason)) from None
    finally:
        _remove(part)


def _remove_leftovers(path: Path) -> None:
    """Remove half-written files of processes that were killed."""
    for leftover in path.parent.glob(f"{path.name}.*.partial"):
        writer = leftover.suffixes[-2].lstrip(".")
        if not (writer.isdigit() and psutil.pid_exists(int(writer))):
            _remove(leftover)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _write_gguf(growth: Growing, file_type: gguf.LlamaFileType, path: Path) -> None:
    """Write the file with one tensor in memory at a time."""
    writer = gguf.GGUFWriter(path, growth.small.architecture)
    changed = growth.changed_metadata(file_type)
    for key, field in growth.small.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        inner = field.types[-1] if len(field.types) > 1 else None
        writer.add_key_value(key, changed.get(key, field.contents()), field.types[0], inner)
    for part in growth.parts:
        shape = (part.rows, part.columns) if part.rows else (part.columns,)
        # Not the type of the bytes: the package would take the shape for one in bytes.
        writer.add_tensor_info(part.name, shape, np.dtype(np.float32), part.size, raw_dtype=part.kind)
    try:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        for part in growth.parts:
            writer.write_tensor_data(growth.content(part))
    finally:
        writer.close()
