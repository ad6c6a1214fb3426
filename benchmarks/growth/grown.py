"""Make grown models, keep them in the user's cache, and find those that are there already.

The large model writes the text that the small one writes at the same quantisation, at the cost of a real model of its
size (see arithmetic.py for how). With the demo draft, the grown demo target is a pair that behaves like the demo pair
and costs like a real one.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind

from benchmarks.growth.arithmetic import FULL, SEED, GrownKind, GrownShape, Growth, SmallModel
from engine.library.names import bundled_pair
from engine.system.cache_files import cache_folder

_RECIPE = 1
"""Raise it when the contents change, so that what was made before is not taken for the same."""
_KINDS: dict[str, tuple[Kind, gguf.LlamaFileType]] = {
    "q8_0": (Kind.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
    "q4_0": (Kind.Q4_0, gguf.LlamaFileType.MOSTLY_Q4_0),
    "f16": (Kind.F16, gguf.LlamaFileType.MOSTLY_F16),
}


def grown_target(
    kind: GrownKind,
    shape: GrownShape = FULL,
    *,
    folder: Path | None = None,
    target: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Path:
    """Return the grown model of that kind, a GGUF file, made if it is not there yet.

    `target` is what is grown (the demo target), `folder` where the result is kept (the user's cache). The name holds a
    digest of everything that it was made from. With the target's own shape it is the target itself in that kind.
    Raises GrowthError.
    """
    target = bundled_pair()[0] if target is None else target
    growth = Growth(SmallModel(target), shape, _KINDS[kind][0])
    digest = hashlib.sha256(target.read_bytes())
    digest.update(repr((_RECIPE, SEED, kind, shape)).encode())
    folder = cache_folder() / "benchmarks" if folder is None else folder
    path = folder / f"{target.name.partition('.')[0]}-{shape}-{kind}-{digest.hexdigest()[:12]}.gguf"
    if not path.exists():
        say(f"growing {target.name} to {growth.parameters:,} weights, {growth.size / 1e9:.2f} GB…")
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".partial")
        try:
            _write_gguf(growth, _KINDS[kind][1], part)
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)
    return path


def _write_gguf(growth: Growth, file_type: gguf.LlamaFileType, path: Path) -> None:
    """Write the file with one tensor in memory at a time."""
    writer = gguf.GGUFWriter(path, "llama")
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
