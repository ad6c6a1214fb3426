"""Make a safetensors file of pickled weights, in a limited child process: the parent's side."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.cancel import CancelToken
from engine.errors import InvalidRequest, LoadFailed, ModelFileBroken, ModelNotSupported, NotAvailable
from engine.system.child import ask_child, child_command
from engine.system.hidden_commands import CONVERSION
from engine.system.installation import extra_advice
from engine.translatable import Translatable

_MEMORY = 4 * 2**30
"""Bytes for the library, where the child cannot limit itself."""


def convert_pickled(source: Path, out: Path, cancel: CancelToken) -> int:
    """Write the tensors of a pickled file, `.bin` or `.pt`, to a new safetensors file; return their number.

    Raises InvalidRequest (a wrong name for `out`, or there is one already), ModelNotSupported (code, or no weights),
    ModelFileBroken, LoadFailed, NotAvailable, Cancelled. `out` is written whole or not at all.
    """
    if out.suffix.lower() != ".safetensors":
        raise InvalidRequest("The new file must end in .safetensors, not {name}.", name=out.name)
    if out.exists():
        raise InvalidRequest("{path} is there already. Choose another name.", path=out)
    if not all(map(importlib.util.find_spec, ("torch", "safetensors"))):
        raise NotAvailable(Translatable("Converting pickled weights"), extra_advice())
    if not source.is_file():
        raise LoadFailed(source, Translatable("there is no such file. Check the path."))
    with TemporaryDirectory(dir=out.absolute().parent, prefix=".convert-") as folder:
        written = Path(folder) / out.name
        said = _ask_child(source, written, cancel)
        if "tensors" in said:
            written.replace(out)
            return int(str(said["tensors"]))
    problem = said.get("problem")
    if problem == "unsafe":
        raise ModelNotSupported(source, Translatable("it holds more than weights, and reading it would run its code."))
    if problem == "none":
        raise ModelNotSupported(source, Translatable("it holds no tensors by name."))
    if problem == "memory":
        raise LoadFailed(source, Translatable("converting it takes too much memory."))
    raise ModelFileBroken(source, Translatable("it is damaged, incomplete, or no file of PyTorch."))


def _ask_child(source: Path, written: Path, cancel: CancelToken) -> dict[str, object]:
    """Return the child's answer, empty if it ended before. Raises Cancelled."""
    asked = json.dumps({"path": os.fspath(source.absolute()), "out": os.fspath(written)})
    memory = _MEMORY + 4 * source.stat().st_size
    line = ask_child(child_command(CONVERSION, asked), memory, cancel.check)
    if line is None:
        return {"problem": "memory"}
    try:
        return dict(json.loads(line))
    except (ValueError, TypeError):
        return {}
