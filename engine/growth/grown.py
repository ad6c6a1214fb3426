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
from engine.growth.head import HeadGrowth
from engine.growth.medusa import MedusaGrowth
from engine.growth.mtp import MtpGrowth
from engine.growth.transformers_folder import write_folder
from engine.library.names import bundled_pair, resolve_source
from engine.system import cache_files
from engine.translatable import Translatable

_RECIPE = 1
"""Raise it when the contents change, so that what was made before is not taken for the same."""
_KINDS: dict[str, tuple[Kind, gguf.LlamaFileType]] = {
    "q8_0": (Kind.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
    "q4_0": (Kind.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0),
    "f16": (Kind.F16, gguf.LlamaFileType.MOSTLY_F16),
    "transformers": (Kind.F32, gguf.LlamaFileType.ALL_F32),
}
_SPARE = 64 * 2**20
"""Bytes of free space beyond the weights: the tokenizer, and the file system's own needs."""


def cache_folder() -> Path:
    """Return the folder where grown models are kept unless told otherwise."""
    return cache_files.cache_folder() / "benchmarks"


def grown_target(
    kind: GrownKind,
    shape: GrownShape = FULL,
    *,
    folder: Path | None = None,
    target: Path | None = None,
    vocabulary: int = 0,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Return the grown model of that kind, made if it is not there yet: a GGUF file, or a folder for transformers.

    `target` is what is grown (the demo target), `folder` where the result is kept (the user's cache). The name holds a
    digest of everything that it was made from. With the target's own shape it is the target itself in that kind.
    `vocabulary`: so many tokens, those that the target lacks unused (0: its own). Raises GrowthError.
    """
    target = bundled_pair()[0] if target is None else target
    growth = Growth(SmallModel(target), shape, _KINDS[kind][0], vocabulary=vocabulary)
    if kind == "transformers" and growth.padding is not None:
        raise GrowthError("The vocabulary of a GGUF file can be padded, not that of a folder. Choose a GGUF kind.")
    folder = cache_folder() if folder is None else folder
    path = folder / name_of(growth, kind)
    if path.exists():
        return path
    say(f"growing {target.name} to {growth.parameters:,} weights, {growth.size / 1e9:.2f} GB…")
    _make(growth.size, path, _writer(growth, kind))
    return path


def grown_head(
    kind: GrownKind,
    shape: GrownShape = FULL,
    *,
    folder: Path | None = None,
    target: Path | None = None,
    head: Path | None = None,
    vocabulary: int = 0,
    spread: bool = False,
) -> Path:
    """Return the EAGLE-3 head for `grown_target(kind, shape)`, made if it is not there yet: a GGUF file.

    `head` is what is grown (the demo target's head) with its `target` (the demo target); `vocabulary`: that of the
    target, `spread`: over all of which the head's own is spread (see head.py). Raises GrowthError.
    """
    target = bundled_pair()[0] if target is None else target
    growth = Growth(SmallModel(target), shape, _KINDS[kind][0], vocabulary=vocabulary)
    larger = HeadGrowth(resolve_source("demo-head") if head is None else head, growth, spread=spread)
    path = (cache_folder() if folder is None else folder) / _named(
        larger.small.path, shape, kind, target=growth, spread=spread
    )
    if not path.exists():
        _make(larger.size, path, _writer(larger, kind))
    return path


def grown_mtp(
    kind: GrownKind, shape: GrownShape = FULL, *, folder: Path | None = None, target: Path | None = None
) -> Path:
    """Return a grown target with a layer for later tokens, made if it is not there yet: a GGUF file.

    `target` is what is grown (the demo target's sibling, `demo-mtp`). Raises GrowthError.
    """
    growth = MtpGrowth(resolve_source("demo-mtp") if target is None else target, shape, _KINDS[kind][0])
    path = (cache_folder() if folder is None else folder) / _named(growth.small.path, shape, kind)
    if not path.exists():
        _make(growth.size, path, _writer(growth, kind))
    return path


def grown_medusa(
    heads: Path | None = None, shape: GrownShape = FULL, *, folder: Path | None = None, target: Path | None = None
) -> Path:
    """Return the Medusa heads for grown targets of that shape, made if they are not there yet: a folder, in float16.

    `heads`: the folder that is grown (the demo target's), with its `target` (the demo target). Raises GrowthError.
    """
    heads = resolve_source("demo-medusa") if heads is None else heads
    growth = Growth(SmallModel(bundled_pair()[0] if target is None else target), shape, Kind.F16)
    larger = MedusaGrowth(heads, growth)
    path = (cache_folder() if folder is None else folder) / _named(larger.small.layout.files[0], shape, "f16", "")
    if not path.exists():
        _make(larger.size, path, larger.write)
    return path


def name_of(growth: Growth, kind: GrownKind) -> str:
    """Return the file name of a grown model; it holds a digest of everything that it is made from."""
    return _named(growth.small.path, growth.shape, kind, target=growth)


def _named(
    small: Path,
    shape: GrownShape,
    kind: GrownKind,
    ending: str = ".gguf",
    *,
    target: Growth | None = None,
    spread: bool = False,
) -> str:
    """`target`: whose padded vocabulary, if it has one, belongs to the name."""
    digest = hashlib.sha256(small.read_bytes())
    digest.update(repr((_RECIPE, SEED, kind, shape)).encode())
    padded = ""
    if target is not None and target.padding is not None:
        digest.update(repr((target.padding, spread)).encode())
        padded = f"x{target.vocabulary}{'-spread' if spread else ''}"
    ending = "" if kind == "transformers" else ending
    return f"{small.name.partition('.')[0]}-{shape}{padded}-{kind}-{digest.hexdigest()[:12]}{ending}"


def _writer(growth: Growing, kind: GrownKind) -> Callable[[Path], None]:
    if kind == "transformers" and isinstance(growth, Growth):
        return partial(write_folder, growth)
    return partial(_write_gguf, growth, _KINDS[kind][1])


def _make(size: int, path: Path, write: Callable[[Path], None]) -> None:
    """Write to a temporary name beside `path`, then rename: what has the name is whole."""
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
    """Remove what a process that was killed left half-written."""
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
