"""Run the child's side of a conversion: pickled weights are read by PyTorch's weights-only reader, and written anew.

That reader runs no code of the file, but it unpickles, and what it allocates is up to the file: so it is a process of
its own, within limits of memory and time. One line of JSON on the standard output tells how it went.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from engine.system.child_side import be_harmless, limit_memory, limit_seconds, own_output

_ROOM = 512 * 2**20
"""Bytes beside three times the file's: the tensors read, a copy, and the output."""
_SECONDS = 300
_NESTED = ("state_dict", "model", "module")


def run(settings: str) -> int:
    """Convert the file that `settings` (JSON: path, out) names, report the result, and return the exit code 0."""
    out = own_output()
    be_harmless()
    torch.set_num_threads(1)
    wanted = json.loads(settings)
    path = Path(wanted["path"])
    limit_memory(3 * path.stat().st_size + _ROOM)
    limit_seconds(_SECONDS)
    out.write(json.dumps(_converted(path, Path(wanted["out"]))).encode() + b"\n")
    return 0


def _converted(path: Path, out: Path) -> dict[str, Any]:
    """Return the number of tensors written, or a word for the failure: unsafe, none, memory, broken."""
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)  # noqa: TID251 - its reader of weights, in a child
        tensors = _tensors(found)
        if tensors:
            safetensors.torch.save_file(tensors, out, {"format": "pt"})
    except MemoryError:
        return {"problem": "memory"}
    except Exception as error:  # noqa: BLE001 - what a broken file makes of the reader is open
        said = str(error)
        unsafe = "weights_only" in said and "GLOBAL" in said
        return {"problem": "unsafe" if unsafe else "memory" if "allocate" in said else "broken"}
    return {"tensors": len(tensors)} if tensors else {"problem": "none"}


def _tensors(found: object) -> dict[str, torch.Tensor]:
    """Return the tensors by their names, also where they stand one level deeper."""
    named: Any = found if isinstance(found, Mapping) else {}
    for name in _NESTED:
        if isinstance(named.get(name), Mapping):
            named = named[name]
    return {
        str(name): value.detach().to_dense().clone().contiguous()
        for name, value in named.items()
        if isinstance(value, torch.Tensor)
    }
